"""A server, and a proxy, that lets those in who authenticate with NTLM version 2 (MS-NLMP).

ntlm.py PORT

The user is `user`, of the domain `GARDEN`, with the password `secret`. A request for a path is answered as by an
origin server, one for an absolute URL as by a proxy, which connects to nobody and answers for the server. As NTLM has
it, a connection is authenticated once, and for good. The body tells who was let in, the body of the request, and the
values of Authorization and Proxy-Authorization in the latest request, of which only the scheme is shown. /open asks
nothing.
"""

import base64
import hmac
import os
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USER, DOMAIN, PASSWORD = "user", "GARDEN", "secret"


def md4(data):
    """RFC 1320, which OpenSSL 3 does not offer any more."""

    def rotated(value, count):
        value &= 0xFFFFFFFF
        return (value << count | value >> (32 - count)) & 0xFFFFFFFF

    rounds = (
        (lambda x, y, z: x & y | ~x & z, 0, list(range(16)), (3, 7, 11, 19)),
        (lambda x, y, z: x & y | x & z | y & z, 0x5A827999, [i % 4 * 4 + i // 4 for i in range(16)], (3, 5, 9, 13)),
        (
            lambda x, y, z: x ^ y ^ z,
            0x6ED9EBA1,
            [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
            (3, 9, 11, 15),
        ),
    )
    padded = data + b"\x80" + bytes((55 - len(data)) % 64) + struct.pack("<Q", len(data) * 8)
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    for start in range(0, len(padded), 64):
        words = struct.unpack("<16I", padded[start : start + 64])
        a, b, c, d = state
        for mix, constant, order, shifts in rounds:
            for step, index in enumerate(order):
                a, b, c, d = d, rotated(a + mix(b, c, d) + words[index] + constant, shifts[step % 4]), b, c
        state = [(old + new) & 0xFFFFFFFF for old, new in zip(state, (a, b, c, d))]
    return struct.pack("<4I", *state)


def key(user, domain, password):
    """NTOWFv2 (MS-NLMP 3.3.2)."""
    return hmac.digest(md4(password.encode("utf-16le")), (user.upper() + domain).encode("utf-16le"), "md5")


def check_own_arithmetic():
    """The vectors of RFC 1320 A.5 and MS-NLMP 4.2.4.1.1."""
    assert md4(b"message digest").hex() == "d9130a8164549fe818874806e1c7014b"
    assert key("User", "Domain", "Password").hex() == "0c868a403bfd7a93a3001ef22ef02e3f"


def field(message, offset):
    length, _, start = struct.unpack_from("<HHI", message, offset)
    return message[start : start + length]


def challenge_message(challenge):
    """A type 2 message: Unicode, NTLM, extended session security, target information (MS-NLMP 2.2.1.2)."""
    name = DOMAIN.encode("utf-16le")
    information = struct.pack("<HH", 2, len(name)) + name + struct.pack("<HH", 1, len(name)) + name + bytes(4)
    flags = 0x1 | 0x4 | 0x200 | 0x10000 | 0x80000 | 0x800000
    head = b"NTLMSSP\0" + struct.pack("<IHHII", 2, len(name), len(name), 48, flags) + challenge + bytes(8)
    head += struct.pack("<HHI", len(information), len(information), 48 + len(name))
    return head + name + information


def user_of(message, challenge):
    """The user whom a type 3 message proves to be there, or None (MS-NLMP 2.2.1.3, 3.3.2)."""
    response, domain, user = (field(message, offset) for offset in (20, 28, 36))
    unicode = struct.unpack_from("<I", message, 60)[0] & 1
    domain, user = (text.decode("utf-16le" if unicode else "latin-1") for text in (domain, user))
    if (user.lower(), domain.upper()) != (USER, DOMAIN) or len(response) <= 24:
        return None
    expected = hmac.digest(key(user, domain, PASSWORD), challenge + response[16:], "md5")
    return f"{domain}\\{user}" if hmac.compare_digest(expected, response[:16]) else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    user = challenge = None
    timeout = 30

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_proxy = not self.path.startswith("/")
        if self.path == "/open" or self.user:
            return self.let_in(body)
        scheme, _, token = self.headers.get("Proxy-Authorization" if is_proxy else "Authorization", "").partition(" ")
        message = base64.b64decode(token) if scheme == "NTLM" else b""
        kind = struct.unpack_from("<I", message, 8)[0] if message.startswith(b"NTLMSSP\0") else 0
        if kind == 3 and self.challenge:
            self.user = user_of(message, self.challenge)
            if self.user:
                return self.let_in(body)
        offer = "NTLM"
        if kind == 1:
            self.challenge = os.urandom(8)
            offer += " " + base64.b64encode(challenge_message(self.challenge)).decode()
        self.respond(407 if is_proxy else 401, b"out", ("Proxy-Authenticate" if is_proxy else "WWW-Authenticate", offer))

    def let_in(self, body):
        schemes = [self.headers.get(name, "-").split()[0] for name in ("Authorization", "Proxy-Authorization")]
        self.respond(200, " ".join([self.user or "nobody", body.decode() or "-", *schemes]).encode())

    def respond(self, status, body, *fields):
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = answer

    def do_CONNECT(self):
        self.answer()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    check_own_arithmetic()
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
