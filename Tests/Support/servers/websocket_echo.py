"""An echo server for WebSockets, by the package "websockets"; prints its port.

Arguments: "plain", or a certificate and its key; then "--port" and a port, if it is not any. Some texts are orders: "close" closes with code 3001, "abort" cuts the
connection, "flood" sends without an end.
"""

import asyncio
import ssl
import sys

import websockets
from websockets.asyncio.server import serve


async def echo(socket):
    try:
        async for message in socket:
            if message == "close":
                await socket.close(3001, "bye")
            elif message == "abort":
                socket.transport.abort()
            elif message == "flood":
                while True:
                    await socket.send(b"x" * 65536)
            else:
                await socket.send(message)
    except websockets.ConnectionClosed:
        pass


async def main():
    port = 0
    if "--port" in sys.argv:
        port = int(sys.argv[sys.argv.index("--port") + 1])
    context = None
    if sys.argv[1] != "plain":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])

    def choose(connection, offered):
        return "chat" if "chat" in offered else None

    server = await serve(
        echo, "127.0.0.1", port, ssl=context, select_subprotocol=choose, max_size=None, ping_interval=None
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Future()


asyncio.run(main())
