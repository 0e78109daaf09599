"""An echo server for WebSockets: websocket_peer.py websockets|aiohttp SETTINGS; prints its port, or "ready".

SETTINGS is a JSON object: "tls" is a list of a certificate, its key and maybe the authority of the clients that are
accepted; "unix" is the path of a socket; "deflate" is an object with parameters of permessage-deflate (only for
websockets; without it, each package has its own).

Some texts are orders: "close" closes with code 3001, "abort" cuts the connection, "many" sends 500 small messages,
"ping" sends a ping and "ponged" when it is answered.
"""

import asyncio
import json
import socket
import ssl
import sys

import aiohttp
import aiohttp.web
import websockets
from websockets.asyncio.server import serve, unix_serve
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory

settings = json.loads(sys.argv[2])


def tls_context():
    files = settings.get("tls")
    if not files:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[0], files[1])
    if len(files) > 2:
        context.load_verify_locations(files[2])
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def answer_websockets(connection):
    try:
        async for message in connection:
            if message == "close":
                await connection.close(3001, "bye")
            elif message == "abort":
                connection.transport.abort()
            elif message == "many":
                for number in range(500):
                    await connection.send(str(number))
            elif message == "ping":
                await (await connection.ping(b"payload"))
                await connection.send("ponged")
            else:
                await connection.send(message)
    except websockets.ConnectionClosed:
        pass


async def start_websockets():
    options = {
        "ssl": tls_context(),
        "subprotocols": ["chat"],
        "select_subprotocol": lambda connection, offered: "chat" if "chat" in offered else None,
        "max_size": None,
        "ping_interval": None,
    }
    if "deflate" in settings:
        options["extensions"] = [ServerPerMessageDeflateFactory(**settings["deflate"])]
    if "unix" in settings:
        await unix_serve(answer_websockets, settings["unix"], **options)
        return "ready"
    server = await serve(answer_websockets, "127.0.0.1", 0, **options)
    return server.sockets[0].getsockname()[1]


async def answer_aiohttp(request):
    response = aiohttp.web.WebSocketResponse(protocols=["chat"], max_msg_size=0, autoping=False)
    await response.prepare(request)
    async for message in response:
        if message.type == aiohttp.WSMsgType.PING:
            await response.pong(message.data)
        elif message.type == aiohttp.WSMsgType.PONG:
            await response.send_str("ponged" if message.data == b"payload" else "wrong pong")
        elif message.data == "close":
            await response.close(code=3001, message=b"bye")
        elif message.data == "abort":
            request.transport.abort()
        elif message.data == "many":
            for number in range(500):
                await response.send_str(str(number))
        elif message.data == "ping":
            await response.ping(b"payload")
        elif message.type == aiohttp.WSMsgType.TEXT:
            await response.send_str(message.data)
        elif message.type == aiohttp.WSMsgType.BINARY:
            await response.send_bytes(message.data)
    return response


async def start_aiohttp():
    application = aiohttp.web.Application()
    application.router.add_get("/", answer_aiohttp)
    runner = aiohttp.web.AppRunner(application)
    await runner.setup()
    if "unix" in settings:
        await aiohttp.web.UnixSite(runner, settings["unix"]).start()
        return "ready"
    listener = socket.create_server(("127.0.0.1", 0))
    await aiohttp.web.SockSite(runner, listener, ssl_context=tls_context()).start()
    return listener.getsockname()[1]


async def main():
    start = {"websockets": start_websockets, "aiohttp": start_aiohttp}[sys.argv[1]]
    print(await start(), flush=True)
    await asyncio.Future()


asyncio.run(main())
