"""An origin with HTTP/3, on aioquic: h3_origin.py CERTIFICATE KEY PORT.

It accepts TCP connections on the same port, too, and closes them: Tests/run sees by that that the server has started.

/bytes/N            N bytes
/echo               the request's body
/fields             the request's method and fields, as JSON
/status/N           an empty response with this status code
/redirect/N         N redirects in a row, then /fields
/set-cookie         sets the cookie a=b, and redirects to /fields
/gzip               a body with a content coding
/drip               a byte every 100 ms, 200 times
/reset              resets the stream after the head
/close              closes the connection with an error after the head
/certificate        the subject of the client's certificate
/fate?key=K&at=A&by=B   ends the first request for each K: see `Fate`; answers further ones with the sum of their bodies
/goaway             answers, and says that this is the last request; the connection stays open
/counts?key=K       JSON: how many "requests" with the same K have come, how many were "processed", and the "sums"
                    (CRC-32) of the bodies that came whole
/mutated/SEED       frames with a body of 1,004 bytes, changed at random by SEED; nothing is changed with 0
"""

import asyncio
import gzip
import json
import os
import random
import sys
import zlib
from collections import Counter, defaultdict
from urllib.parse import parse_qsl, urlsplit

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3_ALPN, ErrorCode, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic import connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StreamReset
from aioquic.tls import Context

PATTERN = bytes(range(251))

request_counts = Counter()
processed_counts = Counter()
sums = defaultdict(list)


# DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID, those of HTTP/2, and reserved ones (RFC 9114
# section 7.2).
FRAME_TYPES = [0, 1, 3, 4, 5, 7, 0xD, 2, 6, 8, 9, 0x21, 0x40 * 0x1F + 0x21]


class Mutation:
    """The bytes of a response's stream, as frames that were changed at random."""

    def __init__(self, seed, fields):
        self.random = random.Random(seed)
        self.frames = [encode_frame(1, fields), encode_frame(0, PATTERN * 2), encode_frame(0, PATTERN * 2)]
        self.end = "fin"
        self.control = b""
        for _ in range(self.random.randint(1, 3) if seed else 0):
            self.random.choice([
                self.flip, self.cut, self.add_frame, self.repeat, self.drop, self.lie_about_length, self.break_end,
                self.break_control, self.noise])()

    def flip(self):
        at = self.random.randrange(len(self.frames))
        frame = bytearray(self.frames[at])
        for _ in range(self.random.randint(1, 4) if frame else 0):
            frame[self.random.randrange(min(len(frame), 64))] ^= 1 << self.random.randrange(8)
        self.frames[at] = bytes(frame)

    def cut(self):
        at = self.random.randrange(len(self.frames))
        self.frames[at] = self.frames[at][: self.random.randrange(len(self.frames[at]) + 1)]

    def add_frame(self):
        payload = self.random.randbytes(self.random.choice([0, 1, 8, 300]))
        frame = encode_frame(self.random.choice(FRAME_TYPES), payload)
        self.frames.insert(self.random.randint(0, len(self.frames)), frame)

    def repeat(self):
        frame = self.random.choice(self.frames)
        self.frames[self.random.randint(0, len(self.frames)) :] += [frame] * self.random.choice([1, 2, 200])

    def drop(self):
        self.frames[self.random.randrange(len(self.frames))] = b""

    def lie_about_length(self):
        length = self.random.choice([0, 1, 2**14, 2**30 - 1, 2**62 - 1])
        frame = encode_uint_var(self.random.choice(FRAME_TYPES)) + encode_uint_var(length) + b"abc"
        self.frames.insert(self.random.randint(0, len(self.frames)), frame)

    def break_end(self):
        self.end = self.random.choice(["fin", "reset", "close", "reset before"])

    def break_control(self):
        self.control = encode_frame(self.random.choice(FRAME_TYPES), self.random.randbytes(self.random.choice([0, 8, 99])))

    def noise(self):
        self.frames.append(self.random.randbytes(self.random.randint(1, 99)))


class Fate:
    """How the first request of a key ends, `by` something `at` a moment: opened, part (of the body), all (of it),
    interim (after a 103), head.

    Later requests of the key are answered once they are whole.
    """

    # Those that say that the request was not processed (RFC 9114 sections 5.2 and 8.1).
    REFUSALS = ("goaway-below", "refused", "http1")
    RESETS = {
        "refused": ErrorCode.H3_REQUEST_REJECTED,
        "http1": ErrorCode.H3_VERSION_FALLBACK,
        "reset": ErrorCode.H3_INTERNAL_ERROR,
        "cancelled": ErrorCode.H3_REQUEST_CANCELLED,
    }

    def __init__(self, query):
        self.key, self.at, self.by = (query.get(name) for name in ("key", "at", "by"))
        request_counts[self.key] += 1
        self.is_first = request_counts[self.key] == 1 and self.by != "none"
        self.is_over = False

    def is_due(self, length, is_whole):
        if is_whole or not self.is_first:
            return is_whole
        return self.at == "opened" or self.at == "part" and length >= 20_000

    def end(self, origin, stream, body):
        self.is_over = True
        if not self.is_first:
            processed_counts[self.key] += 1
            sums[self.key].append(zlib.crc32(body))
            return origin.whole(stream, "", str(zlib.crc32(body)).encode())
        processed_counts[self.key] += self.by not in self.REFUSALS
        if self.at == "interim":
            origin.head(stream, 103, [(b"link", b"</style.css>; rel=preload")])
        elif self.at == "head":
            origin.head(stream, 200, [(b"content-length", b"10")])
        quic = origin._quic
        if self.by in self.RESETS:
            quic.reset_stream(stream, self.RESETS[self.by])
            quic.stop_stream(stream, self.RESETS[self.by])
        elif self.by == "stateless-reset":
            return origin.forget()
        elif self.by.startswith("goaway"):
            last = encode_uint_var(stream if self.by == "goaway-below" else stream + 4)
            quic.send_stream_data(origin.http._local_control_stream_id, encode_frame(7, last))
            origin.transmit()
            quic.close(error_code=ErrorCode.H3_NO_ERROR)
        else:
            quic.close(error_code=ErrorCode.H3_INTERNAL_ERROR if self.by == "close-error" else ErrorCode.H3_NO_ERROR)
        origin.transmit()


class AskingContext(Context):
    """Asks clients for their certificates."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._request_client_certificate = True


connection.tls.Context = AskingContext


class Origin(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = None
        self.requests = {}
        self.tasks = {}
        self.fates = {}
        self.is_forgotten = False

    def datagram_received(self, data, address):
        if not self.is_forgotten:
            super().datagram_received(data, address)

    def transmit(self):
        if not self.is_forgotten:
            super().transmit()

    def forget(self):
        """Ends the connection as a server does that has lost it: with a stateless reset (RFC 9000 section 10.3)."""
        self.is_forgotten = True
        # The first byte is that of a packet with a short header.
        packet = b"\x40" + os.urandom(40) + self._quic._host_cids[0].stateless_reset_token
        self._transport.sendto(packet, self._quic._network_paths[0].addr)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        elif isinstance(event, StreamReset):
            self.cancel(event.stream_id)
        elif isinstance(event, ConnectionTerminated):
            for stream in list(self.tasks):
                self.cancel(stream)
        if self.http is None:
            return
        for received in self.http.handle_event(event):
            if isinstance(received, HeadersReceived):
                self.requests.setdefault(received.stream_id, (received.headers, bytearray()))
                self.begin_fate(received.stream_id, received.headers)
            elif isinstance(received, DataReceived):
                self.requests[received.stream_id][1].extend(received.data)
            if received.stream_id in self.fates:
                self.meet_fate(received.stream_id, received.stream_ended)
            elif received.stream_ended and received.stream_id in self.requests:
                fields, body = self.requests.pop(received.stream_id)
                answer = self.answer(received.stream_id, fields, bytes(body))
                self.tasks[received.stream_id] = asyncio.get_running_loop().create_task(answer)

    def begin_fate(self, stream, fields):
        url = urlsplit(dict(fields).get(b":path", b"").decode())
        if url.path == "/fate":
            self.fates[stream] = Fate(dict(parse_qsl(url.query)))

    def meet_fate(self, stream, is_whole):
        fate, body = self.fates[stream], bytes(self.requests[stream][1])
        if fate.is_due(len(body), is_whole) and not fate.is_over:
            fate.end(self, stream, body)

    def cancel(self, stream):
        self.requests.pop(stream, None)
        task = self.tasks.pop(stream, None)
        if task is not None:
            task.cancel()

    def head(self, stream, status, fields=(), ends=False):
        self.http.send_headers(stream, [(b":status", str(status).encode()), *fields], end_stream=ends)
        self.transmit()

    def data(self, stream, body, ends=True):
        self.http.send_data(stream, body, end_stream=ends)
        self.transmit()

    async def answer(self, stream, fields, body):
        names = dict(fields)
        method, path = names[b":method"].decode(), names[b":path"].decode()
        _, first, *rest = path.split("?")[0].split("/")
        if first == "bytes":
            size = int(rest[0])
            self.whole(stream, method, (PATTERN * (size // 251 + 1))[:size])
        elif first == "echo":
            self.whole(stream, method, body)
        elif first == "status":
            self.head(stream, int(rest[0]), ends=True)
        elif first == "redirect":
            left = int(rest[0]) - 1
            target = f"/redirect/{left}" if left else "/fields"
            self.head(stream, 302, [(b"location", target.encode())], ends=True)
        elif first == "set-cookie":
            self.head(stream, 302, [(b"location", b"/fields"), (b"set-cookie", b"a=b; Path=/")], ends=True)
        elif first == "gzip":
            self.whole(stream, method, gzip.compress(b"coded"), [(b"content-encoding", b"gzip")])
        elif first == "drip":
            self.head(stream, 200)
            for _ in range(200):
                self.data(stream, b".", ends=False)
                await asyncio.sleep(0.1)
            self.data(stream, b"")
        elif first == "reset":
            self.head(stream, 200, [(b"content-length", b"10")])
            self._quic.reset_stream(stream, ErrorCode.H3_INTERNAL_ERROR)
            self.transmit()
        elif first == "goaway":
            frame = encode_frame(7, encode_uint_var(stream + 4))
            self._quic.send_stream_data(self.http._local_control_stream_id, frame)
            self.whole(stream, method, b"last")
        elif first == "counts":
            key = dict(parse_qsl(urlsplit(path).query)).get("key")
            counts = {"requests": request_counts[key], "processed": processed_counts[key], "sums": sums[key]}
            self.whole(stream, method, json.dumps(counts).encode(), [(b"content-type", b"application/json")])
        elif first == "certificate":
            certificate = self._quic.tls._peer_certificate
            self.whole(stream, method, (certificate.subject.rfc4514_string() if certificate else "none").encode())
        elif first == "mutated":
            self.mutated(stream, Mutation(int(rest[0]), self.http._encode_headers(stream, [(b":status", b"200")])))
        elif first == "close":
            self.head(stream, 200, [(b"content-length", b"10")])
            self._quic.close(error_code=ErrorCode.H3_INTERNAL_ERROR)
            self.transmit()
        else:
            text = json.dumps({name.decode(): value.decode() for name, value in fields})
            self.whole(stream, method, text.encode())
        self.tasks.pop(stream, None)

    def mutated(self, stream, mutation):
        quic = self._quic
        if mutation.control:
            quic.send_stream_data(self.http._local_control_stream_id, mutation.control)
        for frame in mutation.frames:
            quic.send_stream_data(stream, frame)
            if mutation.random.randrange(2):
                self.transmit()
        if mutation.end == "fin":
            quic.send_stream_data(stream, b"", end_stream=True)
        elif mutation.end == "close":
            quic.close(error_code=mutation.random.choice([ErrorCode.H3_NO_ERROR, ErrorCode.H3_GENERAL_PROTOCOL_ERROR]))
        else:
            if mutation.end == "reset":
                self.transmit()
            quic.reset_stream(stream, mutation.random.choice([ErrorCode.H3_NO_ERROR, ErrorCode.H3_REQUEST_REJECTED]))
        self.transmit()

    def whole(self, stream, method, body, fields=()):
        ends = method == "HEAD"
        self.head(stream, 200, [(b"content-length", str(len(body)).encode()), *fields], ends=ends)
        if not ends:
            self.data(stream, body)


async def main(certificate, key, port):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN, max_data=2**26, max_stream_data=2**24)
    configuration.load_cert_chain(certificate, key)
    await serve("127.0.0.1", int(port), configuration=configuration, create_protocol=Origin)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", int(port))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
