"""Proofs that the API server's history went back, and signs that only cast doubt on it."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from muster.kube.client import Kube
from muster.kube.errors import NoAnswer, Status, StatusError
from muster.kube.history import ANSWER_S_MAX, RETRY_S, History
from muster.kube.kinds import LEASES, NAMESPACES, PODS, WORKLOADS, Kind
from tests.simulation.clock import VirtualLoop

Answer = str | Exception | None
"""The response to a list of one object: its version, or an error; None: no response."""


class Answers(Kube):
    """Answers of an API server by kind: each once, and the last one again and again."""

    def __init__(self, **answers: list[Answer]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def current_version(self, kind: Kind[Any]) -> str:
        self.asked.append(kind.name)
        answers = self._answers[kind.name]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            await asyncio.Event().wait()
        return str(answer)


def error(code: int) -> StatusError:
    return StatusError(Status(code=code, message="no"))


def run(story: Callable[[], Any]) -> None:
    loop = VirtualLoop()
    loop.run_until_complete(story())
    loop.close()


COMPARED: dict[str, tuple[list[tuple[Kind[Any], str]], bool]] = {
    "later": ([(PODS, "7"), (PODS, "8")], False),
    "the same": ([(PODS, "7"), (PODS, "7")], False),
    "earlier": ([(PODS, "7"), (PODS, "6")], True),
    "earlier by more digits": ([(PODS, "10"), (PODS, "9")], True),
    "earlier than the highest": ([(PODS, "7"), (PODS, "9"), (PODS, "8")], True),
    "of another kind, which may be in another etcd": ([(PODS, "7"), (WORKLOADS, "6")], False),
    "without a version": ([(PODS, "7"), (PODS, "")], False),
}


@pytest.mark.parametrize("name", COMPARED)
def test_an_earlier_version_of_the_same_kind_shows_that_the_history_went_back(name: str) -> None:
    answers, went_back = COMPARED[name]
    history = History()
    for kind, version in answers:
        history.compare(kind, version, history.highest(kind))
    assert history.went_back is went_back


def test_an_answer_that_was_requested_before_a_later_event_came_is_no_proof() -> None:
    history = History()
    history.note(PODS, "7")
    before = history.highest(PODS)
    history.note(PODS, "9")
    history.compare(PODS, "8", before)
    assert not history.went_back
    assert history.highest(PODS) == 9


@pytest.mark.parametrize(("listed", "went_back"), [(WORKLOADS, True), (PODS, False)])
def test_an_answer_to_a_write_counts_if_its_kind_is_listed(listed: Kind[Any], went_back: bool) -> None:
    """Its event may never come: only the answer shows that the lost history reached its version."""
    history = History()
    history.note(listed, "7")
    history.note_answer(WORKLOADS, "12")
    history.compare(WORKLOADS, "9", history.highest(WORKLOADS))
    assert history.went_back is went_back


class Doubt(NamedTuple):
    """Answers to a doubt when Workloads are at version 7 and pods at 9: how long it lasts, whether the
    history went back, and the kinds that are asked about."""

    workloads: list[Answer]
    pods: list[Answer]
    lasts_s: float = 0.0
    went_back: bool = False
    asked: tuple[str, ...] = ("Workload", "Pod")


DOUBTS = {
    "all as before": Doubt(["7"], ["9"]),
    "later": Doubt(["12"], ["12"]),
    "one is earlier": Doubt(["8"], ["8"], went_back=True),
    "the first is earlier": Doubt(["6"], ["9"], went_back=True),
    "not back yet": Doubt([NoAnswer("refused"), "7"], ["9"], RETRY_S, asked=("Workload", "Workload", "Pod")),
    "silent": Doubt([None, "7"], ["9"], ANSWER_S_MAX + RETRY_S, asked=("Workload", "Workload", "Pod")),
    "overloaded": Doubt(["7"], [error(429), "9"], RETRY_S, asked=("Workload", "Pod", "Workload", "Pod")),
    "a kind that is not served any more": Doubt([error(404)], ["9"]),
    "a permission that was removed": Doubt(["7"], [error(403)]),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_nothing_is_written_in_doubt(name: str) -> None:
    doubt = DOUBTS[name]
    history, kube = History(), Answers(Workload=list(doubt.workloads), Pod=list(doubt.pods))
    history.note(WORKLOADS, "7")
    history.note(PODS, "9")
    history.note(LEASES, "5")  # of one object, which alone may be read

    async def story() -> None:
        now_s = asyncio.get_running_loop().time
        following = asyncio.create_task(history.follow(kube))
        await asyncio.sleep(0)
        history.doubt()
        began_s = now_s()
        assert await history.is_intact() is not doubt.went_back
        assert now_s() - began_s == pytest.approx(doubt.lasts_s)
        await asyncio.sleep(0.1)
        assert following.done() is doubt.went_back
        following.cancel()

    run(story)
    assert tuple(kube.asked) == doubt.asked


def test_a_doubt_while_another_one_is_resolved_is_resolved_too() -> None:
    """The first answer may be older than a restart of the API server that has just been noticed."""
    history, kube = History(), Answers(Namespace=["7", "6"])
    history.note(NAMESPACES, "7")
    version = kube.current_version

    async def late(kind: Kind[Any]) -> str:
        await asyncio.sleep(1)
        return await version(kind)

    kube.current_version = late  # type: ignore[method-assign]

    async def story() -> None:
        asyncio.get_running_loop().call_later(0.5, history.doubt)
        history.doubt()
        async with asyncio.timeout(10):
            await history.follow(kube)

    run(story)
    assert kube.asked == ["Namespace"] * 2
    assert history.went_back


def test_a_restart_forgets_the_lost_history() -> None:
    history = History()
    history.note(PODS, "9")
    history.doubt()
    history.compare(PODS, "8", 9)
    history.restart()
    history.compare(PODS, "6", history.highest(PODS))
    assert not history.went_back
    assert not history.is_doubtful


def test_another_thread_may_notice_it() -> None:
    history = History()

    async def story() -> None:
        following = asyncio.create_task(history.follow(Answers()))
        await asyncio.sleep(0)
        thread = threading.Thread(target=history.compare, args=(LEASES, "6", 7))
        thread.start()
        await asyncio.wait_for(following, 10)
        thread.join()

    asyncio.run(story())
    assert history.went_back
