"""The election's thread: it continues while the thread of the passes computes."""

import asyncio
import threading
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from muster.kube.client import Kube, NotLeading
from muster.kube.lease import Election
from muster.kube.threads import ElectionThread

SOON_S = 10.0


class Unconnected(Kube):
    """Makes no requests; knows in which thread it was closed."""

    def __init__(self) -> None:
        self.closed_in = ""

    async def close(self) -> None:
        self.closed_in = threading.current_thread().name


def election(kube: Kube) -> ElectionThread:
    return ElectionThread(kube, "ns/lease", "me", clock_s=lambda: 0.0, now_ms=lambda: 0, random=Random(1))


def test_the_lease_is_renewed_while_a_pass_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed, renewals = threading.Event(), 3

    async def renew(_: Election) -> None:
        for _attempt in range(renewals):
            await asyncio.sleep(0)
        renewed.set()

    monkeypatch.setattr(Election, "renew", renew)

    async def story() -> bool:
        candidate = election(Unconnected())
        async with candidate.begun():
            renewing = asyncio.create_task(candidate.renew())
            await asyncio.sleep(0)
            was_renewed = renewed.wait(SOON_S)  # blocks this thread, as a pass does
            await renewing
        return was_renewed

    assert asyncio.run(story())


def test_losing_the_lease_ends_the_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    async def renew(_: Election) -> None:
        raise NotLeading("it is held by another replica")

    monkeypatch.setattr(Election, "renew", renew)

    async def story() -> None:
        candidate = election(Unconnected())
        async with candidate.begun():
            await candidate.renew()

    with pytest.raises(NotLeading, match="another replica"):
        asyncio.run(story())


def test_a_cancelled_renewal_ends_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def renew(_: Election) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    monkeypatch.setattr(Election, "renew", renew)

    async def story() -> None:
        candidate = election(Unconnected())
        async with candidate.begun():
            renewing = asyncio.create_task(candidate.renew())
            await asyncio.to_thread(began.wait, SOON_S)
            renewing.cancel()
            assert await asyncio.to_thread(cancelled.wait, SOON_S)

    asyncio.run(story())


@pytest.mark.parametrize("verb", ["acquire", "renew", "release"])
def test_requests_and_connections_belong_to_one_thread(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[str] = []

    async def request(_: Election) -> None:
        observed.append(threading.current_thread().name)

    monkeypatch.setattr(Election, verb, request)
    kube = Unconnected()

    async def story() -> None:
        candidate = election(kube)
        async with candidate.begun():
            work: Coroutine[Any, Any, None] = getattr(candidate, verb)()
            await work

    asyncio.run(story())
    assert [*observed, kube.closed_in] == ["election", "election"]
    assert "election" not in [thread.name for thread in threading.enumerate()]
