"""Prints as many free loopback ports as asked for: free_ports.py COUNT.

They lie below the ports that the kernel gives to clients and to servers that bind port 0, so that nothing takes one
between this program's end and the server's start.
"""

import random
import socket
import sys


def is_free(port):
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def main(count):
    ports = random.SystemRandom().sample(range(10_000, 32_000), 22_000)
    free = (port for port in ports if is_free(port))
    print(*(next(free) for _ in range(count)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
