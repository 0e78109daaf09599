"""Servers that end TLS with an alert after they have received a request.

Each receives a record that cannot be decrypted, so OpenSSL sends "bad record mac". `/within` has half of a response.

    alert.py CERTIFICATE KEY    prints the ports for TLS 1.2 and TLS 1.3
"""

import socket
import ssl
import sys
import threading

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 50
BROKEN_RECORD = b"\x17\x03\x03\x00\x20" + bytes(32)


def serve(connection, context):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)

    def step(function, *arguments):
        while True:
            try:
                result = function(*arguments)
                connection.sendall(outgoing.read())
                return result
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                data = connection.recv(65536)
                if not data:
                    raise EOFError from None
                incoming.write(data)

    try:
        step(tls.do_handshake)
        request = step(tls.read, 65536)
        if b"/within" in request:
            step(tls.write, RESPONSE)
        incoming.write(BROKEN_RECORD)
        step(tls.read, 1)
    except (EOFError, OSError):
        try:
            connection.sendall(outgoing.read())
            # The client closes first, so that the alert is not lost to a reset.
            connection.settimeout(5)
            while connection.recv(65536):
                pass
        except OSError:
            pass
    connection.close()


def listen(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.minimum_version = context.maximum_version = version
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, context), daemon=True).start()

    threading.Thread(target=accept).start()


listen(ssl.TLSVersion.TLSv1_2)
listen(ssl.TLSVersion.TLSv1_3)
