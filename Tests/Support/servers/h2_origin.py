"""An HTTP/2 server over TLS that does, right or wrong, what the path says.

h2_origin.py CERTIFICATE KEY PORT ONE_STREAM_PORT

The second port does the same with SETTINGS_MAX_CONCURRENT_STREAMS 1. No connection lives longer than a minute. A body
is 100 bytes where nothing else is said, "mid-body" is after half of a body of 200. The last column is the exit code of
curl 7.88's command line with `-m 2`.

    path                   what the server does                                                curl
    ----                   --------------------                                                ----
    /ok                    answers with JSON: the numbers of the connection and of the stream  0
    /upload                reads the body, answers with its length                             0
    /echo                  sends the body back while it comes                                  0
    /endless               a body that never ends                                              28
    /counts?key=K          JSON: the bytes of bodies, "sent" and "received", of requests that  0
                           have the same key in their query, and how many "requests", so far
    /priority              JSON: the "weight" of the stream, and its field priority as "field" 0
    /trailers              a field x-checksum after the body                                   0
    /early-hints           two responses 103 before the response                               0
    /many-frames?count=N   N DATA frames of one byte (10,000)                                  0
    /empty-frames          100 padded DATA frames without data, then the body                  0
    /pings                 PING, SETTINGS and a frame of an unknown type before every byte     0
    /continuation          a head in three frames                                              0
    /goaway-after          GOAWAY once the response is complete, then the end                  0
    /goaway-during         GOAWAY (this stream is the last) in mid-body, then the rest         0
    /early-response?code=E the response, then RST_STREAM (E, 0), while the client uploads    28 (a)
    /too-large?after=N     413, then RST_STREAM NO_ERROR, when N bytes (65,536) have come       0
    /too-large?reset=no    the same without RST_STREAM; what still comes is dropped            0
    /goaway-before?code=E  GOAWAY (last stream 0, error E, 0) instead of a response            16
    /goaway-once?key=K     the same the first time for each K, then like /ok                   16
    /fate?key=K&at=A&by=B  ends the first request for each K, and with then=B the second: see `fate`. /counts also has how       -
                           many were "processed", and the "sums" (CRC-32) of their bodies
    /misdirected?key=K     421 the first time for each K and connection 1, then like /fate       0
    /goaway-in-body        GOAWAY (INTERNAL_ERROR) in mid-body, then the end                   18 (b)
    /http1-required        RST_STREAM HTTP_1_1_REQUIRED; by HTTP/1.1, a head whose first field   -
                           line begins with a tab
    /injected              by HTTP/1.1 alone: in mid-upload, an answer in the clear, and a reset 55
    /refused               RST_STREAM REFUSED_STREAM                                           56 (c)
    /refused-once?key=K    the same the first time for each K, then like /ok                   0
    /reset?code=E          RST_STREAM with error E (2, INTERNAL_ERROR) instead of a response   92
    /reset-in-body?code=E  the same in mid-body                                                92 (d)
    /short                 the end of the stream at half of content-length                     92
    /long                  twice as much as content-length                                     92
    /no-content            204 with a content-length other than 0 (RFC 9110 8.6)               92
    /no-status             a head without :status                                              92
    /bad-status            :status abc                                                         92
    /uppercase             a field name with uppercase letters                                 92
    /connection-field      a field Connection                                                  92
    /line-break            a field value with CR and LF                                        92
    /large-head?bytes=N    a head of N bytes (1,000,000)                                       56 (e)
    /data-first            DATA without a head                                                 52
    /garbage               HTTP/1.1 in the middle of HTTP/2                                    52
    /closed                closes the connection (TLS close_notify) in mid-body                18 (b)
    /closed-before         closes the connection instead of a response                         18 (b)
    /aborted               resets the TCP connection in mid-body                               56 (f)
    /stall                 nothing                                                             28
    /stall-after-head      nothing after the head                                              28
    /stall-in-body         nothing after half of the body                                      28
    /no-window             never lets the client send more than the first 65,535 bytes         28 (g)
    /flood?kind=K          frames without an end that tell of nothing, instead of a response:  28 (h)
                           data (empty, after a head), priority, altsvc, ping or window
    /begun?key=K           answers once a flood with the same key in its query has begun       0
    /flood-once?kind=K&key=K the same the first time for each key, then like /ok                28 (h)
    /then?frames=F&key=K   answers like /ok; then the frames F (ping, settings, goaway), one   0
                           by one, and the end of the connection
    /ping-later?key=K      answers like /ok, then sends three PINGs, one by one                0
    /last?key=K            answers like /ok, then, after /go, the end of the connection        0
    /ended?key=K           answers once /then is done, or, for K-ended, /last                  0
    /reset-without-end     a head without a length, half of a body, RST_STREAM NO_ERROR        0
    /numbered?key=K        300,000 bytes in lines that count, when /aside sends them           0
    /aside?key=K           after /go: most of the body of /numbered with the same key, 10      0 (i)
                           bytes of its own, the rest, all at once
    /go?key=K              100 bytes, and lets /aside with the same key go on                  0
    /held?key=K            2 MiB of a body without an end                                      28
    /fill?key=K            sends as much of the body of /held as its window takes, in frames   0
                           of 1,000 bytes, all at once, then answers like /ok

(a) With 300 KB to upload: the transfer does not end before its time is up. With 3 KB: 0.
(b) "HTTP/2 stream 1 was not closed cleanly before end of the underlying stream"
(c) "Connection died, tried 5 times before giving up": it tries again by itself, each time on a new connection.
(d) 18, "transfer closed with 100 bytes remaining to read", where E is 0 (NO_ERROR).
(e) "nghttp2_session_mem_recv() returned -902:The user callback function failed". 0 for 60,000 bytes.
(f) "Recv failure: Connection reset by peer"
(g) With 300 KB to upload.
(h) After 20 s rather than 2.
(i) After an upload of unknown length, /numbered may lack some bytes.

The texts of 92 are "HTTP/2 stream 1 was not closed cleanly: PROTOCOL_ERROR (err 1)" and the like.
"""

import asyncio
import json
import os
import socket
import ssl
import struct
import sys
import time
import zlib
from collections import Counter, defaultdict, deque
from urllib.parse import parse_qsl, urlsplit

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import (
    AltSvcFrame,
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    WindowUpdateFrame,
)

LIFETIME = 60  # seconds
BODY = b"0123456789" * 10

handlers = {}
sent_bytes = Counter()
received_bytes = Counter()
request_counts = Counter()
refused_keys = set()
processed_counts = Counter()
sums = defaultdict(list)
ends = defaultdict(asyncio.Event)
floods = defaultdict(asyncio.Event)
numbered_streams = defaultdict(asyncio.Future)
held_streams = defaultdict(asyncio.Future)


def path(name):
    """Registers a function as what happens for a path."""

    def register(function):
        handlers[name] = function
        return function

    return register


class Stream:
    """A request, and the means to answer it well or badly."""

    def __init__(self, connection, number, fields):
        self.connection = connection
        self.number = number
        self.fields = dict(fields)
        self.weight = None
        self.target = urlsplit(dict(fields)[":path"])
        self.query = dict(parse_qsl(self.target.query))
        self.grants_window = self.target.path not in ("/no-window", "/echo")
        self.received = 0
        self.sum = 0
        self.chunks = deque()
        self.data_came = asyncio.Event()
        self.ended = asyncio.Event()
        self.window_grew = asyncio.Event()

    def head(self, *fields, status="200", end=False):
        self.connection.h2.send_headers(self.number, [(":status", status), *fields], end_stream=end)

    def raw_head(self, fields, end=False):
        self.connection.h2.send_headers(self.number, fields, end_stream=end)

    async def body(self, data, end=True, piece=16_384):
        """Sends DATA frames of at most `piece` bytes, as fast as the client's windows allow."""
        for start in range(0, len(data), piece):
            await self._send(data[start : start + piece])
        if end:
            self.connection.h2.end_stream(self.number)
        await self.connection.flush()

    async def _send(self, data):
        while data:
            self.window_grew.clear()
            room = self.connection.h2.local_flow_control_window(self.number)
            if room == 0:
                await self.connection.flush()
                await self.window_grew.wait()
                continue
            self.connection.h2.send_data(self.number, data[:room])
            sent_bytes[self.query.get("key")] += len(data[:room])
            data = data[room:]

    def accept(self, event):
        """Takes a DATA frame in."""
        self.received += len(event.data)
        self.sum = zlib.crc32(event.data, self.sum)
        received_bytes[self.query.get("key")] += len(event.data)
        if self.grants_window:
            self.grant_window(event.flow_controlled_length)
        elif self.target.path == "/echo":
            self.chunks.append(event)
        self.data_came.set()

    def grant_window(self, length):
        self.connection.h2.acknowledge_received_data(length, self.number)

    async def wait_for_data(self):
        """Waits for more of the body, or its end."""
        self.data_came.clear()
        if not self.ended.is_set():
            await self.data_came.wait()

    async def answer(self, data=BODY, *fields, status="200"):
        self.head(("content-length", str(len(data))), *fields, status=status)
        await self.body(data)

    async def reset(self, code):
        self.connection.h2.reset_stream(self.number, error_code=code)
        await self.connection.flush()

    async def part_of_body(self):
        self.head(("content-length", str(2 * len(BODY))))
        await self.body(BODY, end=False)


class UnknownFrame(Frame):
    """A frame of a type that no RFC defines, which a client must ignore."""

    type = 0xBB
    stream_association = "either"

    def serialize_body(self):
        return b"unknown"


class Connection:
    """A client's connection: reads frames, starts the handler of each request."""

    count = 0

    def __init__(self, reader, writer, settings):
        Connection.count += 1
        self.number = Connection.count
        self.reader = reader
        self.writer = writer
        self.streams = {}
        self.tasks = {}
        self.last_processed = 0
        self.last_stream = 2**31 - 1
        # h2 checks what it sends unless told otherwise, and here the wrong things are the point.
        self.h2 = H2Connection(
            H2Configuration(
                client_side=False,
                header_encoding="utf-8",
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.h2.local_settings = Settings(client=False, initial_values=settings)
        self.h2.initiate_connection()
        # An upload that is held back shall not hold back others on the connection.
        self.h2.increment_flow_control_window(2**24)

    async def flush(self):
        self.writer.write(self.h2.data_to_send())
        await self.writer.drain()

    async def send_frame(self, frame):
        """Sends a frame that h2 knows nothing of."""
        self.writer.write(self.h2.data_to_send() + frame.serialize())
        await self.writer.drain()

    async def go_away(self, last_stream, code=ErrorCodes.NO_ERROR, close=True):
        # What was processed stays so, and what is named here is not processed later (RFC 9113 section 6.8).
        last_stream = self.last_stream = min(max(last_stream, self.last_processed), self.last_stream)
        # By hand, since for h2 a GOAWAY is the end of all streams.
        await self.send_frame(GoAwayFrame(0, last_stream_id=last_stream, error_code=code))
        if close:
            self.writer.close()

    def abort(self):
        """Ends the connection with a TCP reset, without a word of TLS."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

    async def run(self):
        try:
            async with asyncio.timeout(LIFETIME):
                await self.flush()
                while data := await self.reader.read(65_536):
                    for event in self.h2.receive_data(data):
                        self.handle(event)
                    await self.flush()
        except (TimeoutError, OSError, ProtocolError):
            pass
        finally:
            for task in self.tasks.values():
                task.cancel()
            self.writer.transport.abort()

    def handle(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        match event:
            case RequestReceived():
                stream = Stream(self, event.stream_id, event.headers)
                stream.weight = event.priority_updated and event.priority_updated.weight
                self.start(stream)
            case DataReceived() if stream:
                stream.accept(event)
            case StreamEnded() if stream:
                stream.ended.set()
                stream.data_came.set()
            case StreamReset() if stream:
                self.tasks[event.stream_id].cancel()
            case WindowUpdated():
                for waiting in [stream] if stream else self.streams.values():
                    waiting.window_grew.set()
            case ConnectionTerminated():
                self.writer.close()

    def start(self, stream):
        if stream.target.path != "/counts":
            request_counts[stream.query.get("key")] += 1
        self.streams[stream.number] = stream
        task = asyncio.create_task(self.respond(stream))
        self.tasks[stream.number] = task
        task.add_done_callback(lambda _: (self.streams.pop(stream.number), self.tasks.pop(stream.number)))

    async def respond(self, stream):
        try:
            await handlers.get(stream.target.path, not_found)(stream)
            await self.flush()
        except (OSError, ProtocolError):
            self.writer.transport.abort()


# What goes well.


async def not_found(stream):
    await stream.answer(b"no such path\n", status="404")


@path("/ok")
async def ok(stream):
    answer = {"connection": stream.connection.number, "stream": stream.number}
    await stream.answer(json.dumps(answer).encode(), ("content-type", "application/json"))


@path("/priority")
async def priority(stream):
    answer = {"weight": stream.weight, "field": stream.fields.get("priority")}
    await stream.answer(json.dumps(answer).encode(), ("content-type", "application/json"))


@path("/upload")
async def upload(stream):
    await stream.ended.wait()
    await stream.answer(str(stream.received).encode())


@path("/echo")
async def echo(stream):
    stream.head()
    await stream.connection.flush()
    while True:
        while stream.chunks:
            chunk = stream.chunks.popleft()
            await stream.body(chunk.data, end=False)
            stream.grant_window(chunk.flow_controlled_length)
            await stream.connection.flush()
        if stream.ended.is_set():
            break
        await stream.wait_for_data()
    await stream.body(b"")


@path("/endless")
async def endless(stream):
    stream.head()
    while True:
        await stream.body(b"x" * 65_536, end=False)
        await asyncio.sleep(0)  # the end of the connection has to be noticed


@path("/counts")
async def counts(stream):
    key = stream.query.get("key")
    answer = {"sent": sent_bytes[key], "received": received_bytes[key], "requests": request_counts[key],
              "processed": processed_counts[key], "sums": sums[key]}
    # The question itself does not count.
    stream.query = {}
    await stream.answer(json.dumps(answer).encode(), ("content-type", "application/json"))


@path("/trailers")
async def trailers(stream):
    stream.head(("trailer", "x-checksum"))
    await stream.body(BODY, end=False)
    stream.connection.h2.send_headers(stream.number, [("x-checksum", "abc")], end_stream=True)


@path("/early-hints")
async def early_hints(stream):
    for _ in range(2):
        stream.head(("link", "</style.css>; rel=preload"), status="103")
        await stream.connection.flush()
    await stream.answer()


@path("/many-frames")
async def many_frames(stream):
    count = int(stream.query.get("count", "10000"))
    stream.head(("content-length", str(count)))
    await stream.body(b"x" * count, piece=1)


@path("/empty-frames")
async def empty_frames(stream):
    stream.head(("content-length", str(len(BODY))))
    for _ in range(100):
        stream.connection.h2.send_data(stream.number, b"", pad_length=10)
    await stream.body(BODY)


@path("/pings")
async def pings(stream):
    connection = stream.connection
    stream.head(("content-length", str(len(BODY))))
    for index in range(len(BODY)):
        connection.h2.ping(index.to_bytes(8, "big"))
        connection.h2.update_settings({SettingCodes.MAX_FRAME_SIZE: 16_384 + index})
        await connection.send_frame(UnknownFrame(stream.number))
        await stream.body(BODY[index : index + 1], end=False)
    await stream.body(b"")


@path("/continuation")
async def continuation(stream):
    connection = stream.connection
    fields = [(":status", "200"), ("content-length", str(len(BODY))), ("x-long", "y" * 1000)]
    block = connection.h2.encoder.encode(fields)
    await connection.send_frame(HeadersFrame(stream.number, block[:10]))
    await connection.send_frame(ContinuationFrame(stream.number, block[10:20]))
    await connection.send_frame(ContinuationFrame(stream.number, block[20:], flags=["END_HEADERS"]))
    await connection.send_frame(DataFrame(stream.number, BODY, flags=["END_STREAM"]))


@path("/goaway-after")
async def goaway_after(stream):
    await stream.answer()
    await stream.connection.go_away(stream.number)


@path("/goaway-during")
async def goaway_during(stream):
    await stream.part_of_body()
    await stream.connection.go_away(stream.number, close=False)
    await stream.body(BODY)


@path("/early-response")
async def early_response(stream):
    await stream.answer()
    await stream.reset(int(stream.query.get("code", "0")))


@path("/too-large")
async def too_large(stream):
    limit = int(stream.query.get("after", "65536"))
    while stream.received < limit and not stream.ended.is_set():
        await stream.wait_for_data()
    await stream.answer(b"too large\n", ("content-type", "text/plain"), status="413")
    if stream.query.get("reset") == "no":
        await stream.ended.wait()
    else:
        await stream.reset(ErrorCodes.NO_ERROR)


# What goes wrong.


@path("/goaway-before")
async def goaway_before(stream):
    await stream.connection.go_away(0, code=int(stream.query.get("code", "0")))


@path("/goaway-once")
async def goaway_once(stream):
    key = stream.query.get("key")
    if request_counts[key] > 1:
        await ok(stream)
    else:
        await stream.connection.go_away(0)


# How a request can end: by a frame, or by the end of its connection. The server has not processed the first five.
REFUSALS = ("goaway-below", "goaway-error", "goaway-http1", "refused", "http1")


async def end(stream, by):
    connection = stream.connection
    if by == "goaway-below":
        await connection.go_away(max(0, stream.number - 2))
    elif by == "goaway-error":
        await connection.go_away(max(0, stream.number - 2), ErrorCodes.ENHANCE_YOUR_CALM)
    elif by == "goaway-http1":
        await connection.go_away(max(0, stream.number - 2), ErrorCodes.HTTP_1_1_REQUIRED)
    elif by == "refused":
        await stream.reset(ErrorCodes.REFUSED_STREAM)
    elif by == "http1":
        await stream.reset(ErrorCodes.HTTP_1_1_REQUIRED)
    elif by == "reset":
        await stream.reset(ErrorCodes.INTERNAL_ERROR)
    elif by == "goaway-above":
        await connection.go_away(stream.number)
    elif by == "close-notify":
        connection.writer.close()
    elif by == "fin":
        connection.writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
    elif by == "rst":
        connection.abort()


def may_process(stream):
    """Counts a request as one that may have been processed, unless the server has already said that it is not."""
    connection = stream.connection
    if stream.number > connection.last_stream:
        return False
    connection.last_processed = max(connection.last_processed, stream.number)
    processed_counts[stream.query.get("key")] += 1
    return True


async def process(stream):
    await stream.ended.wait()
    key = stream.query.get("key")
    if not may_process(stream):
        return
    sums[key].append(stream.sum)
    await stream.answer(str(stream.sum).encode())


@path("/fate")
async def fate(stream):
    """Ends the first request `by` something, `at` a moment: opened, part (of the body), all (of it), interim (after a
    103) or head."""
    key, at, by, then = (stream.query.get(name) for name in ("key", "at", "by", "then"))
    if request_counts[key] == 2 and then:
        await stream.ended.wait()
        return await end(stream, then) if may_process(stream) else None
    if request_counts[key] > 1:
        return await process(stream)
    if at == "part":
        while stream.received < 20_000 and not stream.ended.is_set():
            await stream.wait_for_data()
    elif at != "opened":
        await stream.ended.wait()
    if by not in REFUSALS and not may_process(stream):
        return
    if at == "interim":
        stream.head(("link", "</style.css>; rel=preload"), status="103")
        await stream.connection.flush()
    elif at == "head":
        await stream.part_of_body()
    await end(stream, by)


@path("/misdirected")
async def misdirected(stream):
    await stream.ended.wait()
    if request_counts[stream.query.get("key")] > int(stream.query.get("times", "1")):
        return await process(stream)
    await stream.answer(b"misdirected", status="421")


@path("/goaway-in-body")
async def goaway_in_body(stream):
    await stream.part_of_body()
    await stream.connection.go_away(stream.number, code=ErrorCodes.INTERNAL_ERROR)


@path("/http1-required")
async def http1_required(stream):
    await stream.reset(ErrorCodes.HTTP_1_1_REQUIRED)


@path("/refused")
async def refused(stream):
    # Once all of it is here: what libcurl does depends on how much of the body it has sent.
    await stream.ended.wait()
    await stream.reset(ErrorCodes.REFUSED_STREAM)


@path("/refused-once")
async def refused_once(stream):
    key = stream.query.get("key")
    if key in refused_keys:
        await ok(stream)
    else:
        refused_keys.add(key)
        await refused(stream)


@path("/reset")
async def reset(stream):
    await stream.reset(int(stream.query.get("code", "2")))


@path("/reset-in-body")
async def reset_in_body(stream):
    await stream.part_of_body()
    await stream.reset(int(stream.query.get("code", "2")))


@path("/short")
async def short(stream):
    await stream.part_of_body()
    await stream.body(b"")


@path("/long")
async def long(stream):
    stream.head(("content-length", str(len(BODY) // 2)))
    await stream.body(BODY)


@path("/no-content")
async def no_content(stream):
    stream.raw_head([(":status", "204"), ("content-length", "5")], end=True)


@path("/no-status")
async def no_status(stream):
    stream.raw_head([("content-length", "0")], end=True)


@path("/bad-status")
async def bad_status(stream):
    stream.raw_head([(":status", "abc"), ("content-length", "0")], end=True)


@path("/uppercase")
async def uppercase(stream):
    stream.head(("X-Name", "value"), end=True)


@path("/connection-field")
async def connection_field(stream):
    stream.head(("connection", "close"), end=True)


@path("/line-break")
async def line_break(stream):
    stream.head(("x-name", "one\r\ntwo: three"), end=True)


@path("/large-head")
async def large_head(stream):
    size = int(stream.query.get("bytes", "1000000"))
    fields = [(f"x-{index}", "y" * 1000) for index in range(size // 1000)]
    stream.head(*fields, end=True)


@path("/data-first")
async def data_first(stream):
    await stream.connection.send_frame(DataFrame(stream.number, BODY, flags=["END_STREAM"]))


@path("/garbage")
async def garbage(stream):
    stream.connection.writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


@path("/closed")
async def closed(stream):
    await stream.part_of_body()
    stream.connection.writer.close()


@path("/closed-before")
async def closed_before(stream):
    stream.connection.writer.close()


@path("/aborted")
async def aborted(stream):
    await stream.part_of_body()
    stream.connection.abort()


@path("/stall")
async def stall(stream):
    await asyncio.sleep(LIFETIME)


@path("/stall-after-head")
async def stall_after_head(stream):
    stream.head(("content-length", str(len(BODY))))
    await stream.connection.flush()
    await asyncio.sleep(LIFETIME)


@path("/stall-in-body")
async def stall_in_body(stream):
    await stream.part_of_body()
    await asyncio.sleep(LIFETIME)


@path("/no-window")
async def no_window(stream):
    await stream.ended.wait()
    await stream.answer()


def frames_of(kind, stream):
    """What tells a client nothing, as bytes."""
    return {
        "data": DataFrame(stream.number, b""),
        "priority": PriorityFrame(stream.number, depends_on=0, stream_weight=7),
        "altsvc": AltSvcFrame(stream.number, field=b'h2=":1"'),
        "ping": PingFrame(0, opaque_data=b"12345678"),
        "window": WindowUpdateFrame(0, window_increment=1),
    }[kind].serialize()


@path("/flood")
async def flood(stream):
    kind = stream.query.get("kind", "data")
    if kind == "data":
        stream.head()
        await stream.connection.flush()
    frames = frames_of(kind, stream) * 4096
    start = time.monotonic()
    floods[stream.query.get("key")].set()
    while time.monotonic() - start < 20 and not stream.connection.writer.is_closing():
        stream.connection.writer.write(frames)
        await stream.connection.writer.drain()
        await asyncio.sleep(0)  # others are served, too


@path("/begun")
async def begun(stream):
    await floods[stream.query.get("key")].wait()
    await ok(stream)


@path("/flood-once")
async def flood_once(stream):
    key = stream.query.get("key")
    if key in refused_keys:
        await ok(stream)
    else:
        refused_keys.add(key)
        await flood(stream)


@path("/then")
async def then(stream):
    await ok(stream)
    await stream.connection.flush()
    connection = stream.connection
    for kind in stream.query.get("frames", "").split(","):
        await asyncio.sleep(0.02)
        if kind == "ping":
            connection.h2.ping(b"12345678")
            await connection.flush()
        elif kind == "settings":
            connection.h2.update_settings({SettingCodes.MAX_FRAME_SIZE: 20_000})
            await connection.flush()
        elif kind == "goaway":
            await connection.go_away(stream.number, close=False)
    await asyncio.sleep(0.02)
    # This task ends with the connection.
    asyncio.get_running_loop().call_later(0.02, ends[stream.query.get("key")].set)
    connection.writer.close()
    # Its end alone, or the client's ACK of a frame would be answered by a reset, after which libcurl sends anew by itself.
    connection.writer.get_extra_info("socket").shutdown(socket.SHUT_WR)


@path("/ping-later")
async def ping_later(stream):
    await ok(stream)
    await stream.connection.flush()
    for _ in range(3):
        await asyncio.sleep(0.02)
        stream.connection.h2.ping(b"12345678")
        await stream.connection.flush()
    ends[stream.query.get("key")].set()


@path("/last")
async def last(stream):
    key = stream.query.get("key")
    await stream.answer()
    await ends[key].wait()
    await end(stream, "fin")
    ends[key + "-ended"].set()


@path("/ended")
async def ended(stream):
    await ends[stream.query.get("key")].wait()
    await stream.answer()


@path("/reset-without-end")
async def reset_without_end(stream):
    stream.head()
    await stream.body(BODY, end=False)
    await stream.reset(ErrorCodes.NO_ERROR)


@path("/numbered")
async def numbered(stream):
    numbered_streams[stream.query.get("key")].set_result(stream)
    await asyncio.sleep(LIFETIME)  # /aside ends it


@path("/aside")
async def aside(stream):
    key = stream.query.get("key")
    other = await numbered_streams[key]
    await ends[key].wait()
    lines = b"".join(b"%09d\n" % number for number in range(30_000))
    pieces = [lines[start : start + 16_384] for start in range(0, len(lines), 16_384)]
    other.head()
    if stream.connection.h2.local_flow_control_window(other.number) < len(lines):  # from libcurl 8.1 on
        await stream.ended.wait()
        await stream.answer(BODY[:10])
        return await other.body(lines)
    for number, piece in enumerate(pieces):
        if number == 16:
            stream.head(("content-length", "10"))
            stream.connection.h2.send_data(stream.number, BODY[:10], end_stream=True)
        stream.connection.h2.send_data(other.number, piece, end_stream=piece is pieces[-1])


@path("/go")
async def go(stream):
    ends[stream.query.get("key")].set()
    await stream.answer()


@path("/held")
async def held(stream):
    stream.head()
    await stream.body(bytes(2 << 20), end=False)
    held_streams[stream.query.get("key")].set_result(stream)
    await asyncio.sleep(LIFETIME)


@path("/fill")
async def fill(stream):
    other = await held_streams[stream.query.get("key")]
    h2 = stream.connection.h2
    while (window := h2.local_flow_control_window(other.number)) > 0:
        h2.send_data(other.number, bytes(min(window, 1000)))
    await stream.connection.flush()
    await ok(stream)


async def process_http1(reader, writer, head):
    """Answers a request with HTTP/1.1 as /fate does."""
    line, *fields = head.decode().split("\r\n")
    values = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    body = await reader.readexactly(int(values.get("content-length", "0")))
    while values.get("transfer-encoding") and (size := int(await reader.readline(), 16)):
        body += (await reader.readexactly(size + 2))[:size]
    key = dict(parse_qsl(urlsplit(line.split()[1]).query)).get("key")
    request_counts[key] += 1
    processed_counts[key] += 1
    sums[key].append(zlib.crc32(body))
    text = str(zlib.crc32(body)).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(text), text))
    await writer.drain()
    writer.close()


async def inject(reader, writer):
    """What somebody can do who is on the way and has no key: OpenSSL reads the first bytes, and they are no record."""
    await reader.readexactly(300_000)
    connection = writer.get_extra_info("socket")
    os.write(connection.fileno(), b"JJJJJHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def listen(port, tls, settings):
    async def connected(reader, writer):
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1":
            head = await reader.readuntil(b"\r\n\r\n")
            if b" /injected " in head:
                return await inject(reader, writer)
            if b" /fate?" in head:
                return await process_http1(reader, writer, head)
            writer.write(b"HTTP/1.1 200 OK\r\n\tX: y\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
            return writer.close()
        await Connection(reader, writer, settings).run()

    server = await asyncio.start_server(connected, "127.0.0.1", port, ssl=tls, backlog=4096)
    await server.serve_forever()


async def main(certificate, key, port, one_stream_port):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.set_alpn_protocols(["h2", "http/1.1"])
    await asyncio.gather(
        listen(port, tls, {SettingCodes.MAX_CONCURRENT_STREAMS: 2000}),
        listen(one_stream_port, tls, {SettingCodes.MAX_CONCURRENT_STREAMS: 1}),
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
