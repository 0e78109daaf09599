"""Answers DNS queries over HTTPS (RFC 8484): doh.py PORT CERTIFICATE KEY.

Names of doh.test have the address 127.0.0.1, but for those that begin with one of the words below; no other name exists.
"""

import asyncio
import sys

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
from hypercorn.asyncio import serve
from hypercorn.config import Config


async def answer(query):
    """Returns the response's bytes."""
    response = dns.message.make_response(query)
    response.flags |= dns.flags.RA
    question = query.question[0]
    name = question.name.to_text().lower()
    if name.startswith("garbage."):
        return bytes(range(256))
    if name.startswith("slow."):
        await asyncio.sleep(30)
    if name.startswith("failure."):
        response.set_rcode(dns.rcode.SERVFAIL)
    elif not name.endswith(".doh.test."):
        response.set_rcode(dns.rcode.NXDOMAIN)
    elif question.rdtype == dns.rdatatype.A:
        response.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", "127.0.0.1"))
    return response.to_wire()


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    body, is_whole = b"", False
    while not is_whole:
        event = await receive()
        body += event.get("body", b"")
        is_whole = not event.get("more_body", False)
    status, content = 200, b""
    if scope["path"] != "/dns-query" or scope["method"] != "POST":
        status = 404
    else:
        content = await answer(dns.message.from_wire(body))
    headers = [(b"content-type", b"application/dns-message"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def configuration(port, certificate, key):
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.certfile = certificate
    config.keyfile = key
    config.keep_alive_timeout = 300
    return config


if __name__ == "__main__":
    asyncio.run(serve(application, configuration(*sys.argv[1:])))
