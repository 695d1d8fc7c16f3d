"""Forks plugins from one process that has imported the SDKs: importing them takes longer than a preview.

`start` starts it, once for a process, and it ends with that process. Each connection to its socket asks for
one plugin (launch.py); the plugin's exit code is the answer, and the bytes received are signals to it.
"""

import atexit
import functools
import gc
import importlib
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from preview.plugins import sdk_modules
from preview.plugins.launch import CHECKOUT

PRELOADED = (
    "preview.plugins.language_host",
    "preview.plugins.kubernetes_provider",
    "preview.plugins.gcp_provider",
    "preview.plugins.docker_build_provider",
    "policies.pack",
    "policies.rules",
    "policies.server",
    "settings.load",
    "components.platform",
    "package.provider",
)
PROGRAM = ("components", "muster", "package", "policies", "settings")
"""The packages that programs and policies of this repository import."""

STREAMS = 3


@functools.cache
def start(python: str = sys.executable, modules: tuple[str, ...] = PRELOADED) -> Path:
    """Starts the server; returns the path of its socket. Connections wait for the imports."""
    folder = Path(tempfile.mkdtemp(prefix="muster-plugins-"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        server = subprocess.Popen(
            [python, "-P", "-m", "preview.plugins.fork_server", str(listener.fileno()), *modules],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.PIPE,  # closed when this process ends, however it does
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )

    atexit.register(server.communicate)  # closes stdin and waits
    return folder / "socket"


def forget_other_checkout(folder: Path) -> None:
    """Lets a program or policies of another checkout import their own modules, not the preloaded ones."""
    if CHECKOUT in (folder, folder.parent):
        return
    for name in list(sys.modules):
        if name.partition(".")[0] in PROGRAM:
            del sys.modules[name]


@dataclass(frozen=True)
class _Request:
    """A plugin, as launch.py asks for it."""

    streams: list[int]
    folder: str
    plugin: str
    arguments: list[str]
    environment: dict[str, str]


def _receive(connection: socket.socket) -> _Request:
    size, streams, _, _ = socket.recv_fds(connection, 4, STREAMS)
    with connection.makefile("rb") as file:
        strings = os.fsdecode(file.read(int.from_bytes(size, "big"))).split("\0")
    folder, plugin, count, *remaining = strings
    environment = dict(pair.split("=", 1) for pair in remaining[int(count) :])
    return _Request(streams, folder, plugin, remaining[: int(count)], environment)


class _Server:
    """The loop of the server: one thread, so that it can fork."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._events = selectors.DefaultSelector()
        self._plugins: set[int] = set()

    def serve(self) -> NoReturn:
        self._events.register(self._listener, selectors.EVENT_READ, self._accept)
        self._events.register(sys.stdin, selectors.EVENT_READ, self._end)
        while True:
            for key, _ in self._events.select():
                # the events before may have removed it
                if key.fd in self._events.get_map():
                    key.data()

    def _end(self) -> None:
        """Ends all plugins and the server, as the process that started it has ended."""
        for pid in self._plugins:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(Path(self._listener.getsockname()).parent)
        os._exit(0)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        try:
            request = _receive(connection)
        except (OSError, ValueError):  # killed before it had sent all
            connection.close()
            return
        ended, alive = os.pipe()
        if (pid := os.fork()) == 0:
            _run(request, alive)
        for descriptor in (alive, *request.streams):
            os.close(descriptor)
        self._plugins.add(pid)
        self._events.register(connection, selectors.EVENT_READ, self._signals(connection, pid))
        self._events.register(ended, selectors.EVENT_READ, self._exit(connection, pid, ended))

    def _signals(self, connection: socket.socket, pid: int) -> Callable[[], None]:
        """Returns the handler for signals from launch.py, and for its end: a killed one sends none."""

        def send() -> None:
            numbers = b""
            with suppress(ConnectionError):
                numbers = connection.recv(64)
            for number in numbers or [signal.SIGKILL]:
                os.kill(pid, number)
            if not numbers:
                self._events.unregister(connection)

        return send

    def _exit(self, connection: socket.socket, pid: int, ended: int) -> Callable[[], None]:
        """Returns what to do when the plugin has ended, which closes its end of a pipe."""

        def answer() -> None:
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._plugins.remove(pid)
            self._events.unregister(ended)
            os.close(ended)
            if connection in self._events.get_map():
                self._events.unregister(connection)
            with suppress(ConnectionError), connection:
                connection.sendall(bytes([code if code >= 0 else 128 - code]))

        return answer


def _run(request: _Request, alive: int) -> NoReturn:
    """Makes this fork the plugin. `alive` stays open until it ends."""
    code = 1
    try:
        # the engine stops plugins with it; in the background of a shell's script it would be ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for stream, descriptor in enumerate(request.streams):
            os.dup2(descriptor, stream)
        os.closerange(STREAMS, alive)
        os.closerange(alive + 1, os.sysconf("SC_OPEN_MAX"))
        gc.freeze()
        gc.enable()
        os.environ.clear()
        os.environ.update(request.environment)
        os.chdir(request.folder)
        sys.argv[:] = [request.plugin, *request.arguments]
        if Path(request.plugin).is_dir():
            forget_other_checkout(Path(request.plugin))
            runpy.run_path(request.plugin, run_name="__main__")
        else:
            importlib.import_module(request.plugin).main()
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    gc.disable()
    sdk_modules.install()
    for name in sys.argv[2:]:
        importlib.import_module(name)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a text stream
    _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
