"""Becomes an nginx that passes everything on: websocket_nginx.py DIRECTORY PORT CERTIFICATE KEY.

PORT is that of the server behind it. Prints the port without TLS, and the port with TLS. The sockets listen already
when nginx inherits them.
"""

import os
import pathlib
import socket
import sys

directory, upstream, certificate, key = sys.argv[1:]
listeners = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(2)]
plain, secure = (listener.getsockname()[1] for listener in listeners)
user = "user root;" if os.geteuid() == 0 else ""
pathlib.Path(directory, "nginx.conf").write_text(f"""
daemon off;
worker_processes 1;
{user}
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{secure} ssl http2;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        location / {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
        }}
    }}
}}
""")
for listener in listeners:
    listener.set_inheritable(True)
os.environ["NGINX"] = "".join(f"{listener.fileno()};" for listener in listeners)
print(plain, secure, sep="\n", flush=True)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.execvp("nginx", ["nginx", "-e", "stderr", "-p", directory + "/", "-c", "nginx.conf"])
