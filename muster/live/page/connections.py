"""Limits of the page's connections: how many, how long, and one request each.

aiohttp has no deadline for a request's head and no limit of connections. Closing each connection after one
answer leaves no idle keep-alive and nothing to pipeline; browsers open a new one without a prompt.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from aiohttp import web

HEAD_END = b"\r\n\r\n"
TOO_SLOW = b"408 Request Timeout", b"the request's headers did not arrive in time\n"
TOO_LARGE = b"431 Request Header Fields Too Large", b"the request's headers are too large\n"
TOO_MANY = b"503 Service Unavailable", b"too many connections; close other pages, or try again later\n"


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of connections; a gateway in front of the page counts as one address."""

    total: int = 256
    per_address: int = 128
    head_s: float = 10.0  # from the connection to the end of the request's headers
    head_bytes: int = 16_384
    answer_s: float = 60.0  # from the headers to the last byte of the answer, unless it is a stream
    stalled_s: float = 20.0  # how long a client may read too slowly for what is sent
    send_buffer_bytes: int = 262_144  # of the kernel, which grows to megabytes by itself


class Connections:
    """A protocol factory for `create_server`: hands complete heads of requests to `server`.

    A connection beyond a limit replaces the oldest one without a complete request, as half-sent requests must
    not lock out readers. If there is none, it is refused.
    """

    def __init__(self, server: Callable[[], web.RequestHandler], limits: ConnectionLimits) -> None:
        self.server, self.limits = server, limits
        self._all: dict[ClientConnection, None] = {}  # in the order of their arrival
        self._by_address: Counter[str] = Counter()

    def __call__(self) -> "ClientConnection":
        return ClientConnection(self)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, new: "ClientConnection") -> bool:
        """Returns False if there are too many."""
        for full, address in (
            (self._by_address[new.address] >= self.limits.per_address, new.address),
            (len(self._all) >= self.limits.total, None),
        ):
            if full and not self._replaced(address):
                return False
        self._all[new] = None
        self._by_address[new.address] += 1
        return True

    def _replaced(self, address: str | None) -> bool:
        """Ends the oldest connection (of the address) without a complete request, if there is any."""
        for connection in self._all:
            if connection.incomplete and address in (None, connection.address):
                connection.abort()
                return True
        return False

    def remove(self, connection: "ClientConnection") -> None:
        """Removes a connection that has ended."""
        if connection in self._all:
            del self._all[connection]
            self._by_address[connection.address] -= 1
            self._by_address += Counter()  # drops addresses without connections

    def close(self) -> None:
        """Ends all connections."""
        for connection in list(self._all):
            connection.abort()


class ClientConnection(asyncio.Protocol):
    """One connection: its request's head, then the answer. What follows the head is not read."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._limits = connections, connections.limits
        self._head = bytearray()
        self._handler: web.RequestHandler | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self.address = ""

    @property
    def incomplete(self) -> bool:
        """Returns whether the request's head has not arrived yet."""
        return self._handler is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the deadline of the headers; refuses the connection if there are too many."""
        self._transport = cast("asyncio.Transport", transport)
        self._loop = asyncio.get_running_loop()
        self.address = (transport.get_extra_info("peername") or ("",))[0]
        if not self._connections.add(self):
            self._refuse(*TOO_MANY)
            return
        accepted = transport.get_extra_info("socket")
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._limits.send_buffer_bytes)
        self._deadline = self._loop.call_later(self._limits.head_s, self._head_is_late)

    def data_received(self, data: bytes) -> None:
        """Collects the headers of the only request, then passes it to the handler."""
        if self._handler is not None or self._transport.is_closing():
            return
        searched = max(0, len(self._head) - len(HEAD_END) + 1)
        self._head += data
        end = self._head.find(HEAD_END, searched, self._limits.head_bytes)
        if end >= 0:
            self._begin(bytes(self._head[: end + len(HEAD_END)]))
        elif len(self._head) >= self._limits.head_bytes:
            self._refuse(*TOO_LARGE)

    def _begin(self, head: bytes) -> None:
        self._head.clear()
        self.expect_end()
        self._handler = self._connections.server()
        self._handler.connection_made(self._transport)
        self._handler.data_received(head)

    def expect_end(self) -> None:
        """Ends the connection unless the answer is complete in time."""
        self._expect(self._limits.answer_s)

    def expect_stream(self) -> None:
        """Removes the deadline of the response: it lasts as long as the client reads it."""
        self._expect(None)

    def _expect(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self._loop.call_later(seconds, self.abort)

    def pause_writing(self) -> None:
        """Aborts the connection if its client does not continue to read in time."""
        self._stalled = self._loop.call_later(self._limits.stalled_s, self.abort)
        if self._handler is not None:
            self._handler.pause_writing()

    def resume_writing(self) -> None:
        """Cancels the deadline of a client that reads again."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        if self._handler is not None:
            self._handler.resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Cancels all deadlines and releases the connection."""
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()
        self._connections.remove(self)
        if self._handler is not None:
            self._handler.connection_lost(exc)

    def abort(self) -> None:
        """Ends the connection, which frees its slot."""
        self._connections.remove(self)
        self._transport.abort()

    def _head_is_late(self) -> None:
        if self._head:
            self._refuse(*TOO_SLOW)
        else:
            self.abort()

    def _refuse(self, status: bytes, text: bytes) -> None:
        """Answers without a request; the text fits the kernel's buffer, so nothing waits for the client."""
        head = b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        self._transport.write(head % (status, len(text)) + text)
        self._connections.remove(self)
        self._transport.close()


def connection_of(request: web.BaseRequest) -> ClientConnection:
    """Returns the connection of a request. Raises: ConnectionResetError if its client has left."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client has left")
    return cast("ClientConnection", transport.get_protocol())
