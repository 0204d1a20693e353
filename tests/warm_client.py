"""Stand for a fork of the process that has loaded the libraries: its streams, its signals, its status.

Usage: ``python -I -S warm_client.py ADDRESS CODE ARGUMENTS``. What kills this process kills the fork, a moment later.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Ask for the fork, pass signals on, and end as it ends."""
    address, *words = sys.argv[1:]
    told = json.dumps({"words": words, "cwd": str(os.getcwd()), "env": dict(os.environ)}).encode()  # noqa: PTH109 - quick
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [len(told).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(told)
        answers = server.makefile()
        child = int(answers.readline())
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda one, _: os.kill(child, one))
        # From now on signals reach the fork, which waits for this.
        server.sendall(b"!")
        status = int(answers.readline())
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
