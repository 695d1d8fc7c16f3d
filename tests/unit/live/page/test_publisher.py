"""Messages to browsers: what a listener receives, and listeners that are too slow or too many."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.live.page.publisher import BACKLOG_MAX, LISTENERS_MAX, Publisher, TooManyListeners
from muster.live.page.tables import Tables

Check = Callable[[Publisher, "Counting"], Coroutine[Any, Any, None]]


class Counting:
    """A board whose only row counts how often it was refreshed; `frozen` ones do not change."""

    def __init__(self) -> None:
        self.number, self.frozen = 0, False

    def refresh(self, cluster: ClusterState, now_ms: int) -> Tables:
        self.number += not self.frozen
        return {"queues": {"a": {"n": self.number}}, "gangs": {}}


def checked(check: Check) -> None:
    async def run() -> None:
        board = Counting()
        publisher = Publisher(board, ClusterState, lambda: 0)
        await publisher.update()
        try:
            await check(publisher, board)
        finally:
            publisher.close()

    asyncio.run(run())


def event(text: bytes | None) -> tuple[str, Any]:
    assert text is not None
    name, data, *_ = text.decode().splitlines()
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_listener_receives_all_tables_and_then_changes() -> None:
    async def check(publisher: Publisher, _: Counting) -> None:
        with publisher.listening() as messages:
            await publisher.update()
            assert event(messages.get_nowait()) == (
                "tables",
                {"rows": {"queues": {"a": {"n": 1}}}, "removed": {}},
            )
            assert event(messages.get_nowait()) == ("patch", {"rows": {"gangs": {}}, "removed": {}})
            assert event(messages.get_nowait()) == (
                "patch",
                {"rows": {"queues": {"a": {"n": 2}}}, "removed": {}},
            )

    checked(check)


def test_nothing_is_sent_if_nothing_has_changed() -> None:
    async def check(publisher: Publisher, board: Counting) -> None:
        board.frozen = True
        with publisher.listening() as messages:
            await publisher.update()
            assert messages.qsize() == 2

    checked(check)


def test_slow_listener_is_ended_and_the_others_go_on() -> None:
    async def check(publisher: Publisher, _: Counting) -> None:
        with publisher.listening() as slow, publisher.listening() as fast:
            for _number in range(BACKLOG_MAX):
                await publisher.update()
                fast.get_nowait()
            received = [slow.get_nowait() for _number in range(slow.qsize())]
            assert received[-1] is None
            assert received.count(None) == 1
            assert fast.qsize() == 2

    checked(check)


def test_number_of_listeners_is_bounded() -> None:
    async def check(publisher: Publisher, _: Counting) -> None:
        opened = [publisher.listening() for _number in range(LISTENERS_MAX)]
        for connection in opened:
            connection.__enter__()
        with pytest.raises(TooManyListeners), publisher.listening():
            pass
        opened[0].__exit__(None, None, None)
        with publisher.listening():
            pass

    checked(check)


def test_a_slow_listener_counts_until_its_handler_ends() -> None:
    async def check(publisher: Publisher, _: Counting) -> None:
        opened = [publisher.listening() for _number in range(LISTENERS_MAX)]
        for connection in opened:
            connection.__enter__()
        for _number in range(BACKLOG_MAX):
            await publisher.update()
        with pytest.raises(TooManyListeners), publisher.listening():
            pass
        opened[0].__exit__(None, None, None)
        with publisher.listening():
            pass

    checked(check)
