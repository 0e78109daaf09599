"""Servers with TLS that record what they have decrypted: recorder.py PORT CERTIFICATES.

PORT is for a plain server that is told what to do, and answers with JSON:

    /start?chain=NAME&alpn=PROTOCOLS   starts a server on a free port with the chain CERTIFICATES/NAME.chain.pem, and the key
                                       CERTIFICATES/NAME.key; PROTOCOLS are `h2,http/1.1` or one of them. {"port": N}
    /change?port=N&chain=NAME          has that server show another chain, and closes its connections
    /counts?port=N                     {"connections", "handshakes", "resumed", "bytes", "requests": [heads' first lines]}
    /stop?port=N                       stops that server

The servers answer every request with 200 and the number of the connection, when they have all of it. `bytes` are those
that were decrypted, whatever they were: the preface of HTTP/2 is among them.
"""

import http.server
import json
import socket
import ssl
import sys
import threading
import urllib.parse
import warnings

import h2.config
import h2.connection
import h2.events

warnings.simplefilter("ignore", DeprecationWarning)  # old versions of TLS are what some tests are about


class Recorder:
    """One server, and what it has seen."""

    def __init__(self, folder, chain, protocols):
        self.folder = folder
        self.protocols = protocols
        self.lock = threading.Lock()
        self.connections = self.handshakes = self.resumed = self.bytes = 0
        self.requests = []
        self.open = set()
        self.context = self.make_context(chain)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def make_context(self, chain):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        if chain == "old-tls":
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        if chain == "early-tls":
            context.maximum_version = ssl.TLSVersion.TLSv1
        context.load_cert_chain(f"{self.folder}/{chain}.chain.pem", f"{self.folder}/{chain}.key")
        context.set_alpn_protocols(self.protocols)
        return context

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.add(connection)
                context = self.context
            threading.Thread(target=self.serve, args=(connection, context, number), daemon=True).start()

    def serve(self, plain, context, number):
        try:
            plain.settimeout(30)
            with context.wrap_socket(plain, server_side=True) as connection:
                with self.lock:
                    self.handshakes += 1
                    self.resumed += connection.session_reused
                    self.open.add(connection)
                answer = f"{number}\n".encode()
                if connection.selected_alpn_protocol() == "h2":
                    self.serve_http2(connection, answer)
                else:
                    self.serve_http1(connection, answer)
                self.open.discard(connection)
        except (OSError, ValueError, h2.exceptions.ProtocolError):
            pass
        finally:
            self.open.discard(plain)
            plain.close()

    def receive(self, connection):
        data = connection.recv(65536)
        with self.lock:
            self.bytes += len(data)
        return data

    def note(self, line):
        with self.lock:
            self.requests.append(line)

    def serve_http1(self, connection, answer):
        buffer = b""
        while True:
            while b"\r\n\r\n" not in buffer:
                data = self.receive(connection)
                if not data:
                    return
                buffer += data
            head, buffer = buffer.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            self.note(lines[0])
            fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
            if fields.get("expect", "").lower() == "100-continue":
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            length = int(fields.get("content-length", 0))
            while len(buffer) < length:
                data = self.receive(connection)
                if not data:
                    return
                buffer += data
            buffer = buffer[length:]
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
            if fields.get("connection", "").lower() == "close":
                return

    def serve_http2(self, connection, answer):
        state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        state.initiate_connection()
        connection.sendall(state.data_to_send())
        while data := self.receive(connection):
            for event in state.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    fields = dict(event.headers)
                    self.note(f"{fields[b':method'].decode()} {fields[b':path'].decode()} HTTP/2")
                elif isinstance(event, h2.events.DataReceived):
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    state.send_headers(event.stream_id, [(":status", "200"), ("content-length", str(len(answer)))])
                    state.send_data(event.stream_id, answer, end_stream=True)
            connection.sendall(state.data_to_send())

    def close_connections(self):
        with self.lock:
            connections = list(self.open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def change(self, chain):
        context = self.make_context(chain)
        with self.lock:
            self.context = context
        self.close_connections()

    def stop(self):
        # To close it alone would not wake the thread that waits in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.close_connections()

    def counts(self):
        with self.lock:
            return {
                "connections": self.connections,
                "handshakes": self.handshakes,
                "resumed": self.resumed,
                "bytes": self.bytes,
                "requests": list(self.requests),
            }


class Control(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorders = {}
    folder = ""

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = json.dumps(self.act(url.path, query)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def act(self, path, query):
        if path == "/start":
            recorder = Recorder(self.folder, query["chain"], query["alpn"].split(","))
            self.recorders[recorder.port] = recorder
            return {"port": recorder.port}
        recorder = self.recorders[int(query["port"])]
        if path == "/change":
            recorder.change(query["chain"])
        elif path == "/stop":
            recorder.stop()
            del self.recorders[recorder.port]
        return recorder.counts()

    def log_message(self, *arguments):
        pass


def main(port, folder):
    Control.folder = folder
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Control).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
