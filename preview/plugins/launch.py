"""Starts a plugin for the engine: `python launch.py PLUGIN ARGUMENTS`.

PLUGIN is a module with `main`, or a folder with a `__main__.py`. It runs as a fork of the fork server
(fork_server.py) if there is one, else in a separate interpreter. This script stays for as long as the
fork runs: it passes on signals, and exits as the fork does. It is quick because it imports next to nothing.
"""

import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

VARIABLE = "MUSTER_FORK_SERVER"
"""Environment variable of the engine: the path of the fork server's socket."""

CHECKOUT = Path(__file__).parents[2]
WATCH_SECONDS = 1.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def launch(plugin: str, arguments: list[str]) -> int:
    """Runs the plugin to its end; returns its exit code, or 1 if the fork server has ended."""
    if VARIABLE not in os.environ:
        _become(plugin, arguments)
    engine = os.getppid()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(os.environ[VARIABLE])

        def pass_on(number: int, _: FrameType | None) -> None:
            server.sendall(bytes([number]))

        for number in SIGNALS:
            signal.signal(number, pass_on)
        environment = [f"{name}={value}" for name, value in os.environ.items()]
        strings = [os.getcwd(), plugin, str(len(arguments)), *arguments, *environment]
        request = os.fsencode("\0".join(strings))
        socket.send_fds(server, [len(request).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(request)
        server.settimeout(WATCH_SECONDS)
        while os.getppid() == engine:  # a killed engine cannot stop its plugins
            try:
                code = server.recv(1)
            except TimeoutError:
                continue
            return code[0] if code else 1
    return 1


def _become(plugin: str, arguments: list[str]) -> None:
    """Replaces this process by the plugin, so that it keeps the pid that the engine knows."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored: the engine stops plugins with it
    if Path(plugin).is_dir():
        os.execv(sys.executable, [sys.executable, "-u", plugin, *arguments])
    # The engine starts it in the program's folder. -P keeps that folder off the import path: it may be an
    # older checkout, with older stand-ins.
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    os.execve(sys.executable, [sys.executable, "-P", "-m", plugin, *arguments], environment)


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1], sys.argv[2:]))
