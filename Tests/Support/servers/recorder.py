"""Servers with TLS that record what they have decrypted: recorder.py PORT DIRECTORY.

PORT is for a plain server that is told what to do, and answers with JSON:

    /start?chain=NAME&alpn=PROTOCOLS   starts a server on a free port with the chain DIRECTORY/NAME.chain.pem, and the key
                                       DIRECTORY/NAME.key; if there is DIRECTORY/NAME.staple, it is the OCSP response that is
                                       stapled. PROTOCOLS are `h2,http/1.1` or one of them. {"port": N}
    /change?port=N&chain=NAME          has that server show another chain, and closes its connections
    /counts?port=N                     {"connections", "handshakes", "bytes", "requests": [heads' first lines]}
    /final?port=N                      the same when all of its connections have ended, so that nothing is still to come
    /stop?port=N                       stops that server

The servers answer every request with 200 and the number of the connection, when they have all of it. `bytes` are those
that were decrypted, whatever they were: the preface of HTTP/2 is among them.
"""

import http.server
import json
import os.path
import socket
import struct
import sys
import threading
import urllib.parse

import h2.config
import h2.connection
import h2.events
from OpenSSL import SSL  # Python's own module cannot staple

# Nobody takes that long; in seconds.
PATIENCE = 30


class Recorder:
    """One server, and what it has seen."""

    def __init__(self, folder, chain, protocols):
        self.folder = folder
        self.protocols = [protocol.encode() for protocol in protocols]
        self.lock = threading.Lock()
        self.ended = threading.Condition(self.lock)
        self.connections = self.handshakes = self.bytes = 0
        self.requests = []
        self.open = set()
        self.context = self.make_context(chain)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def make_context(self, chain):
        path = os.path.join(self.folder, chain)
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_cipher_list(b"ALL:@SECLEVEL=0")
        context.set_min_proto_version(SSL.TLS1_VERSION)
        oldest = {"old-tls": SSL.TLS1_1_VERSION, "early-tls": SSL.TLS1_VERSION}
        context.set_max_proto_version(oldest.get(os.path.basename(chain), 0))
        context.use_certificate_chain_file(f"{path}.chain.pem")
        context.use_privatekey_file(f"{path}.key")
        context.set_alpn_select_callback(self.choose_protocol)
        if os.path.exists(f"{path}.staple"):
            with open(f"{path}.staple", "rb") as file:
                staple = file.read()
            context.set_ocsp_server_callback(lambda connection, data: staple)
        return context

    def choose_protocol(self, connection, offered):
        common = [protocol for protocol in self.protocols if protocol in offered]
        return common[0] if common else SSL.NO_OVERLAPPING_PROTOCOLS

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
            # Python's timeouts would make it one that does not block, to OpenSSL.
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                plain.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", PATIENCE, 0))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = SSL.Connection(context, plain)
            connection.set_accept_state()
            connection.do_handshake()
            with self.lock:
                self.handshakes += 1
            answer = f"{number}\n".encode()
            if connection.get_alpn_proto_negotiated() == b"h2":
                self.serve_http2(connection, answer)
            else:
                self.serve_http1(connection, answer)
        except (OSError, ValueError, SSL.Error, h2.exceptions.ProtocolError):
            pass
        finally:
            plain.close()
            with self.lock:
                self.open.discard(plain)
                self.ended.notify_all()

    def receive(self, connection):
        try:
            data = connection.recv(65536)
        except SSL.ZeroReturnError:  # the client has said that it is done
            return b""
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

    def counts(self, are_final=False):
        with self.lock:
            if are_final and not self.ended.wait_for(lambda: not self.open, PATIENCE):
                raise TimeoutError("there are connections that do not end")
            return {
                "connections": self.connections,
                "handshakes": self.handshakes,
                "bytes": self.bytes,
                "requests": list(self.requests),
            }


class Control(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets
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
        return recorder.counts(are_final=path == "/final")

    def log_message(self, *arguments):
        pass


def main(port, folder):
    Control.folder = folder
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Control).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
