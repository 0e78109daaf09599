"""A SOCKS server that connects to nobody: it answers each request itself, and tells how it was asked.

socks_echo.py PORT

Speaks SOCKS 4, 4a and 5 without authentication. The body of its HTTP response is a line: the version, `name` or
`address`, the host, the port, and the user of SOCKS 4. It refuses port 1.
"""

import asyncio
import ipaddress
import struct
import sys


async def read_socks4(reader, writer):
    command, port, address = struct.unpack("!BH4s", await reader.readexactly(7))
    user = (await reader.readuntil(b"\0"))[:-1].decode()
    version, kind, host = "4", "address", str(ipaddress.IPv4Address(address))
    if address[:3] == b"\0\0\0" and address[3] != 0:
        version, kind = "4a", "name"
        host = (await reader.readuntil(b"\0"))[:-1].decode()
    is_granted = command == 1 and port != 1
    writer.write(struct.pack("!BBH4s", 0, 0x5A if is_granted else 0x5B, port, address))
    return (version, kind, host, port, user) if is_granted else None


async def read_socks5(reader, writer):
    methods = await reader.readexactly((await reader.readexactly(1))[0])
    writer.write(b"\x05\x00" if 0 in methods else b"\x05\xff")
    _, command, _, form = await reader.readexactly(4)
    if form == 3:
        kind, host = "name", (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        kind, host = "address", str(ipaddress.ip_address(await reader.readexactly(4 if form == 1 else 16)))
    (port,) = struct.unpack("!H", await reader.readexactly(2))
    is_granted = command == 1 and port != 1
    writer.write(bytes([5, 0 if is_granted else 2, 0, 1, 0, 0, 0, 0, 0, 0]))
    return ("5", kind, host, port, "") if is_granted else None


async def serve(reader, writer):
    try:
        async with asyncio.timeout(30):
            version = (await reader.readexactly(1))[0]
            asked = await {4: read_socks4, 5: read_socks5}[version](reader, writer)
            await writer.drain()
            while asked:
                await reader.readuntil(b"\r\n\r\n")
                body = " ".join(str(part) for part in asked).strip().encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, KeyError, TimeoutError):
        pass
    finally:
        writer.close()


async def main(port):
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
