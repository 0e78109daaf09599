"""Serves httpbin over TLS with HTTP/2: httpbin_h2.py PORT CERTIFICATE KEY.

hypercorn's command line would do but for three things: asyncio gives blocking applications only a handful of threads,
so that ten requests for /delay/1 would wait for each other; hypercorn sends no head for a response without a body; and
it does not tell the application that there is a body when the request does not say how long it is.
"""

import asyncio
import functools
import sys
from concurrent.futures import ThreadPoolExecutor

import priority
from httpbin import app
from hypercorn.asyncio import serve
from hypercorn.config import Config

# hypercorn never answers again on a connection that has more streams at once than the tree takes, 1,000 by default.
priority.PriorityTree = functools.partial(priority.PriorityTree, maximum_streams=4000)


def httpbin(environ, start_response):
    """Runs httpbin; yields an empty chunk first, so that there is always one for hypercorn to send the head with."""
    tell_length(environ)
    body = app(environ, start_response)
    try:
        yield b""
        yield from body
    finally:
        if hasattr(body, "close"):
            body.close()


def tell_length(environ):
    """Adds the length of a body that came without; hypercorn has read all of it already."""
    length = len(environ["wsgi.input"].getbuffer())
    if length and "CONTENT_LENGTH" not in environ:
        environ["CONTENT_LENGTH"] = str(length)
        environ.pop("HTTP_TRANSFER_ENCODING", None)


def configuration(port, certificate, key):
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.certfile = certificate
    config.keyfile = key
    config.backlog = 4096
    config.keep_alive_timeout = 300
    config.keep_alive_max_requests = 1_000_000_000
    config.h2_max_concurrent_streams = 2000
    config.h11_max_incomplete_size = 256 * 1024
    config.wsgi_max_body_size = 256 * 1024 * 1024
    return config


async def main(port, certificate, key):
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(128))
    await serve(httpbin, configuration(port, certificate, key), mode="wsgi")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
