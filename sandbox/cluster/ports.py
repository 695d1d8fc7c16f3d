"""TCP ports for the processes of sandboxes and tests, several of which may start at the same time."""

import os
import random
import socket
from contextlib import suppress
from pathlib import Path

import psutil

from tools.toolchain.paths import cache_directory

LOWEST_PORT = 10_000  # of ports that are chosen here; services have lower ones
EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_RANDOM = random.SystemRandom()  # not affected by seeds of tests


def free_port() -> int:
    """Returns a TCP port on loopback that is free now, and claims it until this process ends.

    It is below the kernel's ephemeral range: from that, the kernel may give it to an outgoing connection of
    any program before it is used."""
    low = int(EPHEMERAL_PORTS.read_text().split()[0])
    while True:
        port = _RANDOM.randrange(LOWEST_PORT, low) if low > 2 * LOWEST_PORT else 0  # 0: the kernel chooses
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            port = int(probe.getsockname()[1])
        if _claim(port):
            return port


def _claim(port: int) -> bool:
    """Returns whether the port is now claimed by this process, and was not by another one that runs."""
    path = cache_directory() / "ports" / str(port)
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError, ValueError):
        if psutil.pid_exists(int(path.read_text())):
            return False
        path.unlink()
    try:
        with path.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:  # another process was faster
        return False
    return True
