"""The HTTP server of the page: its files, JSON, and server-sent events."""

import asyncio
import contextlib
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from muster.kube.store import OBJECTS_A_COLLECTION
from muster.live.gang_pods import PodListing
from muster.live.page.board import Board
from muster.live.page.connections import ConnectionLimits, Connections, connection_of
from muster.live.page.files import FILES
from muster.live.page.publisher import Publisher, TooManyListeners
from muster.live.page.safety import LOCAL_HOSTS, add_headers, only_reads_of
from muster.live.page.watching import Watching

HEARTBEAT_S = 5.0
ROWS_MAX = 500
NAME_LENGTH_MAX = 512


@dataclass(frozen=True)
class Server:
    """Answers requests from the board; `ready` is set once the cluster has been listed. `pods` lists the pods
    of a Workload, by its key."""

    board: Board
    publisher: Publisher
    age_s: Callable[[], float]
    ready: asyncio.Event
    pods: Callable[[str], Awaitable[PodListing]]

    def application(self, hosts: Collection[str] = LOCAL_HOSTS) -> web.Application:
        """Returns the application, which answers requests for these hosts only."""
        app = web.Application(middlewares=[only_reads_of(hosts)])
        app.on_response_prepare.append(add_headers)
        for path in FILES:
            app.router.add_get(path, file)
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/api/tables", self.tables)
        app.router.add_get("/api/events", self.events)
        app.router.add_get("/api/queue", self.queue)
        app.router.add_get("/api/workload", self.workload)
        return app

    async def health(self, _request: web.Request) -> web.Response:
        return web.Response(text=f"ok; last event {self.age_s():.0f} s ago\n")

    async def tables(self, _request: web.Request) -> web.Response:
        await self.ready.wait()
        return _json(self.publisher.tables)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Sends all tables, then changed rows, and the age of the watches' last event."""
        await self.ready.wait()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            with self.publisher.listening() as messages, contextlib.suppress(ConnectionResetError):
                connection = connection_of(request)
                connection.expect_stream()
                await response.prepare(request)
                while (text := await self._next(messages)) is not None:
                    await response.write(text)
                connection.expect_end()
        except TooManyListeners:
            raise web.HTTPServiceUnavailable(text="too many open pages\n") from None
        return response

    async def _next(self, messages: "asyncio.Queue[bytes | None]") -> bytes | None:
        try:
            async with asyncio.timeout(HEARTBEAT_S):
                return await messages.get()
        except TimeoutError:
            return b'event: alive\ndata: {"ageS": %d}\n\n' % self.age_s()

    async def queue(self, request: web.Request) -> web.Response:
        """Answers with the workloads of a ClusterQueue, from a position on."""
        await self.ready.wait()
        start, count = _number(request, "from", 0), min(_number(request, "count", 100), ROWS_MAX)
        name = _name(request, "name")
        return _json_or_404(await self.publisher.answered(self.board.queue, name, start, count))

    async def workload(self, request: web.Request) -> web.Response:
        """Answers with one workload, and why it waits or its pods do not run."""
        await self.ready.wait()
        key = _name(request, "key")
        pods = await self.pods(key)
        return _json_or_404(await self.publisher.answered(self.board.workload, key, pods))


async def file(request: web.Request) -> web.Response:
    """Answers with a file of the page."""
    content_type, text = FILES[request.path]
    return web.Response(text=text(), content_type=content_type, charset="utf-8")


def _json(document: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), content_type="application/json")


def _json_or_404(document: Any) -> web.Response:
    if document is None:
        raise web.HTTPNotFound(text="no such object\n")
    return _json(document)


def _name(request: web.Request, parameter: str) -> str:
    value = request.query.get(parameter, "")
    if not value or len(value) > NAME_LENGTH_MAX:
        raise web.HTTPBadRequest(text=f"expected ?{parameter}=NAME\n")
    return value


def _number(request: web.Request, parameter: str, default: int) -> int:
    value = request.query.get(parameter, str(default))
    if not (value.isascii() and value.isdecimal() and len(value) < 10):
        raise web.HTTPBadRequest(text=f"{parameter}: expected a number\n")
    return int(value)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextlib.asynccontextmanager
async def served(
    watching: Callable[[Callable[[], None]], Watching],
    board: Board,
    host: str,
    port: int,
    hosts: Collection[str] = LOCAL_HOSTS,
    clock_ms: Callable[[], int] = now_ms,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - it cannot change
) -> AsyncIterator[int]:
    """Serves the page until the end of the block; yields the port. `watching` makes what watches, given what
    it calls after a change. Raises: OSError."""
    changed: list[Callable[[], None]] = []
    watched = watching(lambda: changed[0]())
    publisher = Publisher(board, watched.cluster, clock_ms)
    changed.append(publisher.changed)
    server = Server(board, publisher, watched.age_s, asyncio.Event(), watched.pods.of)
    collected = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_COLLECTION)
    # Without cancellation, handlers of disconnected clients would continue beyond the limit of connections.
    runner = web.AppRunner(
        server.application(hosts),
        access_log=None,
        shutdown_timeout=1.0,
        handler_cancellation=True,
        lingering_time=0.0,
    )
    await runner.setup()
    assert runner.server is not None
    connections = Connections(runner.server, limits)
    listening = await asyncio.get_running_loop().create_server(connections, host, port)
    working = [
        asyncio.ensure_future(watched.run()),
        asyncio.ensure_future(_publish(watched, publisher, server.ready)),
    ]
    try:
        yield int(listening.sockets[0].getsockname()[1])
    finally:
        listening.close()
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await runner.cleanup()
        connections.close()
        publisher.close()
        gc.set_threshold(*collected)


async def _publish(watched: Watching, publisher: Publisher, ready: asyncio.Event) -> None:
    await watched.synced()
    await publisher.update()
    ready.set()
    await publisher.run()
