"""Clients that send or read too slowly, too much or from too many connections."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from muster.kube import kinds
from muster.live.page.board import Board
from muster.live.page.connections import ConnectionLimits
from muster.live.page.server import served
from muster.live.page.watching import Watching
from tests.simulation.manifests import local_stack, ray_job
from tests.unit.live.builders import running
from tests.unit.live.page.memory_kube import MemoryKube

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
EVENTS = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
TABLES = b"GET /api/tables HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIMITS = ConnectionLimits(
    total=6, per_address=4, head_s=0.3, head_bytes=2_048, answer_s=0.6, stalled_s=0.3, send_buffer_bytes=4_096
)
# A busy machine may take seconds to compute a large answer, and to read it.
STALLED_S = 3.0
PATIENT = ConnectionLimits(total=6, per_address=4)
BOUND_S = 20.0
WORKLOADS, SENT_BYTES_MIN = 150, 100_000  # more than the buffers between server and client hold
LONG = "x" * 240  # names of almost 253 characters: a few workloads make a large page

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Clients:
    """Opens connections, from any address of 127.0.0.0/8."""

    def __init__(self, port: int, stack: contextlib.AsyncExitStack, kube: MemoryKube) -> None:
        self._port, self._stack, self.kube = port, stack, kube

    async def connect(self, sent: bytes = b"", source: str = "127.0.0.1", read_bytes: int = 0) -> Client:
        connection = socket.socket()
        if read_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, read_bytes)
        connection.bind((source, 0))
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self._port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=16_384)
        self._stack.callback(writer.close)
        writer.write(sent)
        await writer.drain()
        return reader, writer

    async def answer(self, sent: bytes = HEALTH, source: str = "127.0.0.1") -> bytes:
        return await until_end((await self.connect(sent, source))[0])


async def until_end(reader: asyncio.StreamReader) -> bytes:
    """Returns all that the server sends until it closes the connection."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def until_all_are_free(clients: Clients) -> None:
    """Waits until the server has ended all connections of 127.0.0.1: it accepts as many streams as it may.

    Reading from a connection that it has not ended yet would let the answer continue."""
    async with asyncio.timeout(BOUND_S):
        while True:
            streams = [await clients.connect(EVENTS) for _ in range(LIMITS.per_address)]
            heads = [await reader.readline() for reader, _ in streams]
            for _, writer in streams:
                writer.close()
            if all(head.startswith(b"HTTP/1.1 200") for head in heads):
                return
            await asyncio.sleep(0.05)


async def read_into(received: bytearray, reader: asyncio.StreamReader) -> None:
    """Reads a stream until it is cancelled."""
    while part := await reader.read(1_000_000):
        received += part


def checked(
    check: Callable[[Clients], Awaitable[None]], limits: ConnectionLimits = LIMITS, workloads: int = 1
) -> None:
    async def run() -> None:
        names = (f"train-{number}-{LONG}" for number in range(workloads))
        kube = MemoryKube({**local_stack(), kinds.WORKLOADS: [running(ray_job(name)) for name in names]})
        async with page(kube, limits) as port, contextlib.AsyncExitStack() as stack:
            await check(Clients(port, stack, kube))

    asyncio.run(asyncio.wait_for(run(), 30))


@contextlib.asynccontextmanager
async def page(kube: MemoryKube, limits: ConnectionLimits) -> AsyncIterator[int]:
    making = lambda changed: Watching(kube, changed, others_s_max=0.3)  # noqa: E731
    async with served(making, Board(), "127.0.0.1", 0, limits=limits) as port:
        yield port


SLOW = {
    "nothing is sent": b"",
    "half a line": b"GET /heal",
    "headers without an end": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
    "line feeds only": HEALTH.replace(b"\r\n", b"\n"),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_half_sent_request_is_ended_after_its_deadline(name: str) -> None:
    async def check(clients: Clients) -> None:
        async with asyncio.timeout(BOUND_S):
            answer = await clients.answer(SLOW[name])
        assert answer.startswith(b"HTTP/1.1 408") if SLOW[name] else not answer

    checked(check)


def test_a_byte_now_and_then_does_not_prolong_the_deadline() -> None:
    async def check(clients: Clients) -> None:
        reader, writer = await clients.connect(b"GET /healthz HTTP/1.1\r\n")
        async with asyncio.timeout(BOUND_S):
            with contextlib.suppress(ConnectionError):
                while not reader.at_eof():
                    writer.write(b"X: y\r\n")
                    await writer.drain()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.02):
                            await reader.read(100)

    checked(check)


def test_half_sent_requests_do_not_lock_out_readers() -> None:
    async def check(clients: Clients) -> None:
        half = [await clients.connect(b"GET /", source=f"127.0.0.{2 + n % 20}") for n in range(60)]
        assert (await clients.answer(HEALTH, "127.0.0.99")).startswith(b"HTTP/1.1 200")
        async with asyncio.timeout(BOUND_S):
            ended = [await until_end(reader) for reader, _ in half[: -PATIENT.total]]
        assert ended == [b""] * len(ended)

    checked(check, PATIENT)


LIMITED = {
    "by address": (["127.0.0.1"] * 4, "127.0.0.1", "127.0.0.2"),
    "in total": (["127.0.0.1"] * 3 + ["127.0.0.2"] * 3, "127.0.0.3", None),
}


@pytest.mark.parametrize("name", LIMITED)
def test_the_number_of_connections_is_bounded(name: str) -> None:
    opened, refused, served_source = LIMITED[name]

    async def check(clients: Clients) -> None:
        streams = [await clients.connect(EVENTS, source) for source in opened]
        for reader, _ in streams:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert (await clients.answer(b"", refused)).startswith(b"HTTP/1.1 503")
        if served_source:
            assert (await clients.answer(HEALTH, served_source)).startswith(b"HTTP/1.1 200")
        streams[0][1].close()
        async with asyncio.timeout(BOUND_S):
            while not (await clients.answer(HEALTH, opened[0])).startswith(b"HTTP/1.1 200"):
                await asyncio.sleep(0.02)

    checked(check, PATIENT)


LARGE = {
    "one long header": b"GET / HTTP/1.1\r\nX: " + b"a" * 4_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1_000 + b"\r\n",
    "a long path": b"GET /" + b"a" * 4_000 + b" HTTP/1.1\r\n\r\n",
    "no end of line": b"a" * 100_000,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_heads_are_refused(name: str) -> None:
    async def check(clients: Clients) -> None:
        reader, _ = await clients.connect(LARGE[name][: LIMITS.head_bytes])
        assert (await until_end(reader)).startswith(b"HTTP/1.1 431")

    checked(check)


WITH_BODY = {
    "length": HEALTH.replace(b"\r\n\r\n", b"\r\nContent-Length: 9999\r\n\r\n"),
    "chunks": HEALTH.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"),
}


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_read_with_a_body_is_answered_without_waiting_for_it(name: str) -> None:
    async def check(clients: Clients) -> None:
        async with asyncio.timeout(BOUND_S):
            answer = await clients.answer(WITH_BODY[name])
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"\r\nConnection: close\r\n" in answer

    checked(check, PATIENT)


def test_one_request_a_connection() -> None:
    async def check(clients: Clients) -> None:
        answer = await clients.answer(HEALTH * 3)
        assert answer.count(b"HTTP/1.1 200") == 1
        assert b"\r\nConnection: close\r\n" in answer

    checked(check, PATIENT)


ENDED_BY = {
    "the time that a client may stall": replace(LIMITS, answer_s=60.0, stalled_s=STALLED_S),
    "the deadline of answers": replace(LIMITS, answer_s=STALLED_S, stalled_s=60.0),
}


@pytest.mark.parametrize("limit", ENDED_BY)
def test_a_client_that_never_reads_its_answer_is_ended(limit: str) -> None:
    async def check(clients: Clients) -> None:
        assert len(await clients.answer(TABLES)) > SENT_BYTES_MIN
        large = [await clients.connect(TABLES, read_bytes=2_048) for _ in range(LIMITS.per_address)]
        await until_all_are_free(clients)
        for reader, _ in large:
            assert len(await until_end(reader)) < SENT_BYTES_MIN

    checked(check, ENDED_BY[limit], WORKLOADS)


def test_a_listener_that_never_reads_is_ended_and_others_go_on() -> None:
    async def check(clients: Clients) -> None:
        stalled = [await clients.connect(EVENTS, read_bytes=2_048) for _ in range(LIMITS.per_address)]
        reader, _ = await clients.connect(EVENTS, "127.0.0.2")
        received = bytearray()
        reading = asyncio.ensure_future(read_into(received, reader))
        await until_all_are_free(clients)
        assert all([len(await until_end(connection)) < SENT_BYTES_MIN for connection, _ in stalled])
        # The stream outlives the deadline of answers as long as it is read.
        await asyncio.sleep(LIMITS.answer_s)
        clients.kube.put(kinds.WORKLOADS, running(ray_job("later")))
        async with asyncio.timeout(BOUND_S):
            while b"later" not in received:
                await asyncio.sleep(0.05)
        reading.cancel()

    checked(check, replace(LIMITS, stalled_s=STALLED_S), WORKLOADS)


def test_handlers_end_with_their_clients() -> None:
    async def check(clients: Clients) -> None:
        await clients.answer(TABLES)
        before = len(asyncio.all_tasks())
        for _ in range(5):
            reader, writer = await clients.connect(EVENTS)
            await reader.readline()
            writer.close()
        async with asyncio.timeout(BOUND_S):
            while len(asyncio.all_tasks()) > before:
                await asyncio.sleep(0.02)

    checked(check, PATIENT)
