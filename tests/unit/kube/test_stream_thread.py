"""Streams that a thread reads while this one computes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from muster.kube.access import Access
from muster.kube.connection import Connection, Request
from muster.kube.credentials import Credentials
from muster.kube.errors import NoAnswer
from muster.kube.threads import StreamThread

SOON_S = 10.0
REQUEST = Request("GET", "/api/v1/pods", {"watch": "true"})
Story = Callable[[StreamThread], Awaitable[list[bytes]]]


class Server:
    """Sends pieces, and then raises an error, ends, or waits forever."""

    def __init__(self, *pieces: bytes, refusal: NoAnswer | None = None, breaks: bool = False) -> None:
        self._pieces, self._refusal, self._breaks = pieces, refusal, breaks
        self.ends = True
        self.sent, self.closed = threading.Event(), threading.Event()

    @asynccontextmanager
    async def stream(self, _: Connection, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        assert request is REQUEST
        assert threading.current_thread().name == "streams"
        if self._refusal is not None:
            raise self._refusal
        try:
            yield self._sending()
        finally:
            self.closed.set()

    async def _sending(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        self.sent.set()
        if self._breaks:
            raise NoAnswer("reset")
        if not self.ends:
            await asyncio.Event().wait()


async def read_all(streams: StreamThread) -> list[bytes]:
    async with streams.stream(REQUEST) as pieces:
        return [piece async for piece in pieces]


def play(server: Server, story: Story, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    monkeypatch.setattr(Connection, "stream", lambda self, request: server.stream(self, request))

    async def whole() -> list[bytes]:
        streams = StreamThread(Access("https://unused", None, Credentials()))
        async with streams.begun():
            return await story(streams)

    return asyncio.run(whole())


def test_all_pieces_arrive_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(Server(b"a", b"b", b"c"), read_all, monkeypatch) == [b"a", b"b", b"c"]


def test_it_is_read_while_a_pass_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(b"a", b"b")

    async def story(streams: StreamThread) -> list[bytes]:
        async with streams.stream(REQUEST) as pieces:
            assert server.sent.wait(SOON_S), "nothing is read while this thread does not run its loop"
            return [piece async for piece in pieces]

    assert play(server, story, monkeypatch) == [b"a", b"b"]


@pytest.mark.parametrize(
    "server", [Server(refusal=NoAnswer("reset")), Server(b"a", breaks=True)], ids=["refused", "broken"]
)
def test_its_errors_are_those_of_the_stream(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoAnswer, match="reset"):
        play(server, read_all, monkeypatch)


def test_a_stream_that_is_left_is_closed_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(b"a")
    server.ends = False

    async def story(streams: StreamThread) -> list[bytes]:
        async with streams.stream(REQUEST) as pieces:
            first = await anext(pieces)
        assert server.closed.wait(SOON_S)
        return [first]

    assert play(server, story, monkeypatch) == [b"a"]


def test_the_end_of_the_thread_closes_what_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(b"a")
    server.ends = False

    async def story(streams: StreamThread) -> list[bytes]:
        tasks.append(asyncio.create_task(read_all(streams)))
        while not server.sent.is_set():
            await asyncio.sleep(0)
        return []

    tasks = list[asyncio.Task[list[bytes]]]()
    play(server, story, monkeypatch)
    assert server.closed.is_set()
    assert tasks[0].cancelled()
