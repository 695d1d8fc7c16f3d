"""A TCP proxy on loopback that can stop forwarding while its connections stay open."""

import contextlib
import socket
import threading

from sandbox.cluster.ports import free_port

CHUNK = 65536


class Proxy:
    """Forwards 127.0.0.1:`port` to another port of loopback. In a black hole bytes wait on either side, as
    when packets are dropped: there are no errors, and new connections are accepted but stay silent."""

    def __init__(self, target_port: int) -> None:
        self.port = free_port()
        self._target_port = target_port
        self._open = threading.Event()
        self._open.set()
        self._server = socket.create_server(("127.0.0.1", self.port))

    def start(self) -> "Proxy":
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()
        return self

    def black_hole(self, on: bool) -> None:
        if on:
            self._open.clear()
        else:
            self._open.set()

    def close(self) -> None:
        self._server.close()
        self._open.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._open.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self._target_port))
        except OSError:  # the API server is down
            client.close()
            return
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while chunk := source.recv(CHUNK):
                self._open.wait()
                sink.sendall(chunk)
        except OSError:
            pass
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
