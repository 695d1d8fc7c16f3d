"""Following one kind: where a watch resumes, when objects are listed again, and the backoff."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest

from muster.kube import kinds
from muster.kube.client import Kube, unchanged
from muster.kube.errors import NoAnswer, Status, StatusError, status_error
from muster.kube.history import History
from muster.kube.reflector import RETRY_S_MAX, RETRY_S_MIN, SILENT_S_MAX, STEADY_S, Reflector
from muster.kube.store import Store
from muster.kube.watching import WATCH_S, Event
from muster.objects.core import Namespace
from muster.objects.meta import ObjectMeta
from tests.simulation.clock import VirtualLoop

Answer = Exception | list[Event[Any]] | None
"""The answer to a watch: an immediate error, events before it ends, or (None) silence."""


class Scripted(Kube):
    """Lists are at version 100; each watch gets the next of `answers`, and then the last one forever.

    Lists are refused `refused_lists` times, and answered with 404 before `served_s`, as by an API server that
    has no definition of the kind. Objects are decoded again for each list.
    """

    def __init__(
        self,
        *answers: Answer,
        lasts_s: float = 0.0,
        refused_lists: int = 0,
        served_s: float = 0.0,
        listed: Sequence[Namespace] = (),
    ) -> None:
        self._answers, self._lasts_s = list(answers), lasts_s
        self.refused_lists, self._served_s, self._listed = refused_lists, served_s, listed
        self.versions = ["100"]  # of lists; the last one forever
        self.calls: list[tuple[float, str]] = []  # time, and "list" or the version of a watch

    async def list(
        self,
        kind: Any,
        labels: Mapping[str, str | None] | None = None,
        namespace: str = "",
        deduplicate: Callable[[Any], Any] = unchanged,
    ) -> tuple[str, list[Any]]:
        now_s = asyncio.get_running_loop().time()
        self.calls.append((now_s, "list"))
        if now_s < self._served_s:
            raise NOT_SERVED
        if self.refused_lists:
            self.refused_lists -= 1
            raise refusal(429)
        version = self.versions.pop(0) if len(self.versions) > 1 else self.versions[0]
        return version, [deduplicate(msgspec.structs.replace(item)) for item in self._listed]

    async def watch(
        self, kind: Any, resource_version: str, labels: Mapping[str, str | None] | None = None
    ) -> AsyncGenerator[Sequence[Event[Any]], None]:
        self.calls.append((asyncio.get_running_loop().time(), resource_version))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        yield [Event("BOOKMARK", resource_version)]
        if answer is None:
            await asyncio.Event().wait()
        if answer:
            yield answer
        await asyncio.sleep(self._lasts_s)


def follow(kube: Scripted, seconds: float, history: History | None = None) -> list[str]:
    """Returns its requests within that time."""
    loop = VirtualLoop()

    async def story() -> None:
        store: Store[Any] = Store()
        follower = Reflector(
            kube,
            kinds.NAMESPACES,
            store,
            lambda: None,
            clock_s=loop.time,
            random=Random(1),
            history=history,
        )
        task = loop.create_task(follower.run())
        await asyncio.sleep(seconds)
        assert not task.done(), task.exception()
        task.cancel()

    loop.run_until_complete(story())
    loop.close()
    return [what for _, what in kube.calls]


def refusal(code: int, retry_after: str = "") -> StatusError:
    return status_error(code, b'{"kind":"Status","message":"no"}', retry_after=retry_after)


def error_event(code: int) -> StatusError:
    return StatusError(Status(code=code, message="no"))


BOOKMARK: Event[Any] = Event("BOOKMARK", "150")
CONTINUED: dict[str, tuple[Answer, list[str]]] = {
    "it ended": ([BOOKMARK], ["list", "100", "150"]),
    "it ended without a bookmark": ([], ["list", "100", "100"]),
    "too old": (error_event(410), ["list", "100", "list", "100"]),
    "too old, as an immediate error": (refusal(410), ["list", "100", "list", "100"]),
    "too many requests": (refusal(429), ["list", "100", "100"]),
    "the server fails": (refusal(503), ["list", "100", "100"]),
    "not allowed": (refusal(403), ["list", "100", "list", "100"]),
    "the connection breaks": (NoAnswer("reset"), ["list", "100", "100"]),
    "an answer without a status": (status_error(502, b"", "Bad Gateway"), ["list", "100", "100"]),
    "it can't be read": (msgspec.DecodeError("cut"), ["list", "100", "list", "100"]),
    "it falls silent": (None, ["list", "100", "100"]),
}


@pytest.mark.parametrize("name", CONTINUED)
def test_the_next_watch_resumes_or_lists_again(name: str) -> None:
    answer, expected = CONTINUED[name]
    asked = follow(Scripted(answer, None), SILENT_S_MAX + 5)
    assert asked[: len(expected)] == expected


BOOKMARKS: list[Event[Any]] = [Event("BOOKMARK", "100")]
DOUBTFUL: dict[str, tuple[Answer, float, bool]] = {
    "it ended in time, after a bookmark": (BOOKMARKS, WATCH_S, False),
    "it ended in time, without one": ([], WATCH_S, True),
    "it ended early": (BOOKMARKS, STEADY_S, True),
    "too old": (refusal(410), 0.0, False),
    "too many requests": (refusal(429), 0.0, False),
    "a version that is too large": (refusal(504), 0.0, True),
    "the connection breaks": (NoAnswer("reset"), 0.0, True),
    "it falls silent": (None, 0.0, True),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_watch_that_may_have_lost_its_server_casts_doubt(name: str) -> None:
    answer, lasts_s, is_doubtful = DOUBTFUL[name]
    history = History()
    follow(Scripted(answer, lasts_s=lasts_s), SILENT_S_MAX + 5, history)
    assert history.is_doubtful is is_doubtful


VERSIONS: dict[str, tuple[str, bool]] = {
    "as before": ("100", False),
    "later": ("200", False),
    "earlier than the list": ("99", True),
    "earlier than the watch": ("120", True),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_list_of_an_earlier_version_shows_that_the_history_went_back(name: str) -> None:
    version, went_back = VERSIONS[name]
    history, kube = History(), Scripted(error_event(410), None)
    if name == "earlier than the watch":
        kube = Scripted([BOOKMARK], error_event(410), None)
    kube.versions = ["100", version]
    follow(kube, 10, history)
    assert history.went_back is went_back


def test_a_server_that_keeps_failing_is_listed_again() -> None:
    """The server may have lost the version, for instance after a restore from a backup."""
    asked = follow(Scripted(refusal(504), refusal(504), refusal(504), None), 10)
    assert asked == ["list", "100", "100", "100", "list", "100"]


STORMS: dict[str, Scripted] = {
    "a list, then 429": Scripted(refusal(429)),
    "429 for lists too": Scripted([], refused_lists=1000),
    "a list, then 410": Scripted(refusal(410)),
    "a list, then 500": Scripted(refusal(500)),
    "watches that end immediately": Scripted([]),
    "watches that end soon": Scripted([], lasts_s=STEADY_S / 100),
}


@pytest.mark.parametrize("name", STORMS)
def test_requests_to_a_failing_server_back_off(name: str) -> None:
    kube = STORMS[name]
    asked = follow(kube, 600)
    assert 600 / RETRY_S_MAX / 2 < len(asked) < 150
    times_s = [at_s for at_s, _ in kube.calls]
    assert sum(at_s < 10 for at_s in times_s) <= 14
    assert len({round(b - a, 3) for a, b in pairwise(times_s[-9:])}) > 3, "no jitter"


def test_retry_after_is_honoured() -> None:
    kube = Scripted(refusal(429, "20"), None)
    follow(kube, 60)
    (_, _), (first_s, _), (second_s, _) = kube.calls[:3]
    assert 20 <= second_s - first_s <= 30


def test_the_next_watch_follows_a_steady_one_at_once() -> None:
    kube = Scripted(NoAnswer("reset"), NoAnswer("reset"), [], lasts_s=STEADY_S)
    follow(kube, 100)
    watches = [at_s for at_s, what in kube.calls if what != "list"][3:]
    assert {round(b - a, 6) for a, b in pairwise(watches)} == {STEADY_S}


def test_the_next_watch_follows_one_that_the_server_ended_after_events_at_once() -> None:
    events: list[Answer] = [[Event("BOOKMARK", str(version))] for version in range(101, 111)]
    kube = Scripted(*events, None)
    follow(kube, 5)
    assert {at_s for at_s, _ in kube.calls} == {0.0}
    assert len(kube.calls) == len(["list", *events, "the last"])


def test_its_age_is_that_of_the_last_event() -> None:
    loop = VirtualLoop()

    async def story() -> list[float | None]:
        follower = Reflector(
            Scripted([], None, lasts_s=20), kinds.NAMESPACES, Store[Any](), lambda: None, clock_s=loop.time
        )
        ages = [follower.age_s()]
        task = loop.create_task(follower.run())
        for wait_s in (5, 10, 10, 10):
            await asyncio.sleep(wait_s)
            ages.append(follower.age_s())
        task.cancel()
        return ages

    assert loop.run_until_complete(story()) == [None, 5, 15, 5, 15]
    loop.close()


def test_a_reflector_that_begins_again_has_no_backoff_left() -> None:
    """A new leader lists Workloads again before its first decision: the failures of its watch as a candidate
    must not delay that."""
    loop = VirtualLoop()
    kube = Scripted(refusal(503), None)

    async def story() -> float:
        follower = Reflector(
            kube, kinds.NAMESPACES, Store[Any](), lambda: None, clock_s=loop.time, random=Random(1)
        )
        kube.refused_lists = 20
        task = loop.create_task(follower.run())
        await asyncio.sleep(60)
        task.cancel()
        kube.refused_lists, began_s = 1, loop.time()
        task = loop.create_task(follower.run())
        await follower.synced.wait()
        task.cancel()
        return loop.time() - began_s

    assert loop.run_until_complete(story()) < 2 * RETRY_S_MIN
    loop.close()


def test_a_healthy_watch_is_never_silent_for_too_long() -> None:
    assert SILENT_S_MAX > WATCH_S


NOT_SERVED = status_error(404, b"404 page not found\n")  # not a Status: the group of its path is unknown
KNOWN = Namespace(metadata=ObjectMeta(name="known", uid="1", resource_version="90"))


@pytest.mark.parametrize("optional", [True, False])
def test_a_kind_that_is_not_served_has_no_objects_if_it_is_optional(optional: bool) -> None:
    loop = VirtualLoop()
    store: Store[Any] = Store()
    store.replace([KNOWN], "90")
    follower = Reflector(
        Scripted(None, served_s=60, listed=[KNOWN]),
        kinds.NAMESPACES,
        store,
        lambda: None,
        clock_s=loop.time,
        random=Random(1),
        optional=optional,
    )

    async def story() -> None:
        task = loop.create_task(follower.run())
        await asyncio.sleep(59)
        assert follower.synced.is_set() is optional
        assert list(store.items) == ([] if optional else ["known"])
        age_s = follower.age_s()
        assert age_s is not None
        assert (age_s <= RETRY_S_MAX) is optional
        await asyncio.sleep(1 + RETRY_S_MAX)
        assert follower.synced.is_set()
        assert list(store.items) == ["known"]
        task.cancel()

    loop.run_until_complete(story())
    loop.close()


def test_an_object_that_is_listed_again_is_neither_replaced_nor_changed() -> None:
    loop = VirtualLoop()
    store: Store[Any] = Store()
    kube = Scripted(error_event(410), [], listed=[KNOWN])
    follower = Reflector(kube, kinds.NAMESPACES, store, lambda: None, clock_s=loop.time, random=Random(1))

    async def story() -> None:
        store.take_changed()
        task = loop.create_task(follower.run())
        await follower.synced.wait()
        first = store.items["known"]
        assert store.take_changed() == {"known"}
        await asyncio.sleep(30)
        assert [what for _, what in kube.calls].count("list") == 2
        assert store.items["known"] is first
        assert store.take_changed() == set()
        task.cancel()

    loop.run_until_complete(story())
    loop.close()
