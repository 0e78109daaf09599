"""nginx before a server that counts numbered requests: order_server.py DIRECTORY CERTIFICATE KEY [NAME=VALUE ...]

nginx is as Debian ships it, with HTTP/2 over TLS. The names are `requests` (`keepalive_requests`, 1,000), `delay` (the
milliseconds before an answer, 0), `program` (the command of nginx), and `http3` (`yes` for HTTP/3 on the same port, which
Debian 12's nginx lacks). Prints the port of nginx and the port of the server behind it.

/order/N                 answers with N
/events/N                an event with the data N, then the end
/cut/N                   a chunked body whose connection ends in its middle
/counts                  the requests so far, as JSON: {"counts": {N: requests}, "wrong": [N with a wrong body]}
/forget                  forgets them
/stop-worker             (on the port behind nginx) ends nginx's workers, as a crash would

A body must be the number, a comma, and so on, up to the length that `content-length` says; the file's number is 0.
"""

import asyncio
import collections
import os
import pathlib
import signal
import socket
import sys

from aiohttp import web

counts = collections.Counter()
wrong = []
nginx = None


def is_right(body, number):
    if not body:
        return True
    word = f"{number},".encode()
    file = b"0,"
    return any(body == (text * (len(body) // len(text) + 1))[: len(body)] for text in (word, file))


def make_application(delay):
    routes = web.RouteTableDef()

    async def accept(request):
        number = int(request.match_info["number"])
        counts[number] += 1
        body = await request.read()
        length = request.headers.get("x-length")
        if not is_right(body, number) or (length and int(length) != len(body)):
            wrong.append(number)
        if delay:
            await asyncio.sleep(delay)
        return number

    @routes.route("*", "/order/{number}")
    async def order(request):
        return web.Response(text=str(await accept(request)))

    @routes.route("*", "/events/{number}")
    async def events(request):
        number = await accept(request)
        return web.Response(text=f"data: {number}\n\n", content_type="text/event-stream")

    @routes.route("*", "/cut/{number}")
    async def cut(request):
        number = await accept(request)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(f"{number},".encode() * 2000)
        await asyncio.sleep(0.01)
        request.transport.abort()
        return response

    @routes.get("/counts")
    async def tell(request):
        return web.json_response({"counts": counts, "wrong": wrong})

    @routes.get("/forget")
    async def forget(request):
        counts.clear()
        wrong.clear()
        return web.Response()

    @routes.get("/stop-worker")
    async def stop_worker(request):
        path = f"/proc/{nginx.pid}/task/{nginx.pid}/children"
        for process in pathlib.Path(path).read_text().split():
            os.kill(int(process), signal.SIGKILL)
        return web.Response()

    application = web.Application(client_max_size=2**30)
    application.add_routes(routes)
    return application


def configuration(port, upstream, certificate, key, requests, http3):
    user = "user root;" if os.geteuid() == 0 else ""
    quic = f"listen 127.0.0.1:{port} quic; http3 on;" if http3 else ""
    limit = f"keepalive_requests {requests};" if requests else ""
    return f"""
daemon off;
worker_processes 1;
{user}
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream orders {{ server 127.0.0.1:{upstream}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port} ssl http2 backlog=4096;
        {quic}
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        {limit}
        location / {{
            proxy_pass http://orders;
            proxy_http_version 1.1;
            proxy_next_upstream off;
            proxy_set_header Connection "";
            proxy_set_header X-Length $http_content_length;
        }}
    }}
}}
"""


async def main(directory, certificate, key, *options):
    global nginx
    values = dict(option.split("=", 1) for option in options)
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    port = listener.getsockname()[1]
    listeners = [listener]
    if values.get("http3"):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", port))
        listeners.append(datagrams)
    runner = web.AppRunner(make_application(int(values.get("delay", "0")) / 1000), access_log=None)
    await runner.setup()
    inner = socket.create_server(("127.0.0.1", 0), backlog=4096)
    upstream = inner.getsockname()[1]
    await web.SockSite(runner, inner).start()
    pathlib.Path(directory, "nginx.conf").write_text(
        configuration(port, upstream, certificate, key, values.get("requests"), values.get("http3")))
    numbers = [listener.fileno() for listener in listeners]
    nginx = await asyncio.create_subprocess_exec(
        *values.get("program", "nginx").split(), "-e", "stderr", "-p", directory + "/", "-c", "nginx.conf",
        env={**os.environ, "NGINX": "".join(f"{number};" for number in numbers)}, pass_fds=numbers)
    print(port, upstream, sep="\n", flush=True)
    # A test's process may have blocked them.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGINT])
    loop = asyncio.get_running_loop()
    ended = loop.create_task(nginx.wait())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, nginx.terminate)
    await ended


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
