"""Controllers that replace each other."""

import asyncio
from typing import Any

import pytest

from muster.controller.process.process import Controllers
from muster.kube.client import NotLeading
from muster.kube.history import History
from muster.kube.kinds import PODS


class Stub:
    """Runs until it is stopped, or the history goes back."""

    def __init__(self, history: History, lasts: int) -> None:
        self._history, self._lasts, self._stopped = history, lasts, asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> None:
        if self._lasts:
            assert not self._history.went_back
            self._history.compare(PODS, "1", 2)
            return
        await self._stopped.wait()


def test_another_controller_follows_when_the_history_goes_back() -> None:
    history, created = History(), list[Any]()

    def create() -> Any:
        created.append(Stub(history, lasts=2 - len(created)))
        return created[-1]

    async def story() -> None:
        controllers = Controllers(create, history)
        asyncio.get_running_loop().call_later(0.01, controllers.stop)
        async with asyncio.timeout(10):
            await controllers.run()
        assert controllers.current is created[-1]

    asyncio.run(story())
    assert len(created) == 3


def test_no_controller_follows_after_a_stop() -> None:
    history, created = History(), list[Any]()

    def create() -> Any:
        created.append(Stub(history, lasts=1))
        return created[-1]

    async def story() -> None:
        controllers = Controllers(create, history)
        controllers.stop()
        await controllers.run()

    asyncio.run(story())
    assert len(created) == 1


def test_errors_of_a_controller_are_raised() -> None:
    class Fails(Stub):
        async def run(self) -> None:
            raise NotLeading("another one leads")

    history = History()
    controllers = Controllers(lambda: Fails(history, 0), history)  # type: ignore[arg-type,return-value]
    with pytest.raises(NotLeading):
        asyncio.run(controllers.run())
