"""`muster serve` of a cluster in memory, in its own thread."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser

from muster.kube.kinds import Kind
from muster.live.page.board import Board
from muster.live.page.server import served
from muster.live.page.watching import Watching
from tests.browser.opened import ColorScheme, Opened
from tests.unit.controller.builders import NOW_MS, Body
from tests.unit.live.page.memory_kube import MemoryKube

STARTED_S_MAX = 60.0
READY_MS_MAX = 30_000


@dataclass
class Live:
    """A served cluster. `change` runs in the server's event loop, as changes of the cluster must."""

    kube: MemoryKube
    loop: asyncio.AbstractEventLoop
    port: int = 0
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def change(self, act: Callable[[MemoryKube], None]) -> None:
        async def changed() -> None:
            act(self.kube)

        asyncio.run_coroutine_threadsafe(changed(), self.loop).result(STARTED_S_MAX)


@contextmanager
def served_cluster(bodies: Mapping[Kind[Any], Sequence[Body]], port: int = 0) -> Iterator[Live]:
    """Serves a cluster with these objects, on a free port by default."""
    live = Live(MemoryKube(bodies), asyncio.new_event_loop())
    started = threading.Event()

    async def serve() -> None:
        def watching(changed: Callable[[], None]) -> Watching:
            return Watching(live.kube, changed)

        async with served(watching, Board(), "127.0.0.1", port, clock_ms=lambda: NOW_MS) as own:
            live.port = own
            started.set()
            await live.stopping.wait()

    thread = threading.Thread(target=lambda: live.loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        assert started.wait(STARTED_S_MAX)
        yield live
    finally:
        live.loop.call_soon_threadsafe(live.stopping.set)
        thread.join()
        live.loop.close()


@contextmanager
def opened_live(
    browser: Browser,
    live: Live,
    hash: str = "",
    scheme: ColorScheme = "light",
    width: int = 1360,
    height: int = 900,
    now_ms: int | None = NOW_MS,
) -> Iterator[Opened]:
    """Opens the page and waits until the first queues are shown; `now_ms` None: with the real clock."""
    context = browser.new_context(
        locale="en-US", color_scheme=scheme, viewport={"width": width, "height": height}
    )
    try:
        page = Opened(context.new_page())
        if now_ms is not None:
            page.page.clock.set_fixed_time(now_ms / 1000)
        page.page.on("request", lambda request: page.requests.append(request.url))
        page.page.on("console", lambda message: page.messages.append(message.text))
        page.page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.page.goto(f"{live.url}{hash}")
        page.page.wait_for_selector("#tree .row", timeout=READY_MS_MAX)
        yield page
    finally:
        context.close()
