"""Applying a pass: order, refusals, and writes with an unknown outcome."""

import asyncio
from typing import Any

import pytest

from muster.controller.gangs.planned_write import DEFERRABLE_WRITES_MAX, PlannedWrite
from muster.controller.pacing.pacing import BACKOFF_MS_MAX, WriteBackoff
from muster.controller.passes.pass_plan import PassWrites
from muster.controller.process.apply import (
    CONCURRENT_WRITES_MAX,
    WAIT_REASONS_MAX,
    Applier,
)
from muster.controller.workload.events import ObjectEvent
from muster.kube import kinds
from muster.kube.client import Kube
from muster.kube.store import Stores
from muster.kube.writes import Create, Delete, MergePatch, Write
from muster.objects.meta import Object, ObjectMeta
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import pod, read, stored, workload_body
from tests.unit.controller.process.recorder import Recorder

SUBJECT = "team-a/rayjob-dev"


def planned(key: str, subject: str = "", **fields: Any) -> PlannedWrite:
    return PlannedWrite(subject or key, Delete(kinds.NAMESPACES, key), **fields)


def frees(key: str, *quota: str, **fields: Any) -> PlannedWrite:
    return planned(key, provides=frozenset(quota), **fields)


def asks(key: str, *quota: str) -> PlannedWrite:
    return planned(key, needs=frozenset(quota))


def carry_out(
    kube: Kube, writes: PassWrites, backoff: WriteBackoff | None = None, stores: Stores | None = None
) -> list[str]:
    applier = Applier(kube, stores or Stores(), backoff or WriteBackoff())
    return [s.write.key for s in asyncio.run(applier.apply(writes, 0))]


PASSES: dict[str, tuple[PassWrites, dict[str, int], list[str]]] = {
    "first, then": (
        PassWrites(before_reservations=[planned("a")], reservations=[planned("b")]),
        {},
        ["a", "b"],
    ),
    "quota whose release failed is not reserved": (
        PassWrites(
            before_reservations=[frees("a", "gpu"), planned("b")],
            reservations=[asks("c", "cpu", "gpu"), asks("d", "cpu")],
        ),
        {"a": 409},
        ["b", "d"],
    ),
    "quota is not reserved if a write before its release was refused": (
        PassWrites(
            before_reservations=[planned("a", "s"), frees("b", "gpu", subject="s")],
            reservations=[asks("c", "gpu")],
        ),
        {"a": 409},
        [],
    ),
    "a refused write that releases nothing blocks no reservation": (
        PassWrites(before_reservations=[planned("a"), frees("b", "gpu")], reservations=[asks("c", "gpu")]),
        {"a": 422},
        ["b", "c"],
    ),
    "a refused deferrable write blocks no other write": (
        PassWrites(
            before_reservations=[planned("a", deferrable=True), planned("b", deferrable=True)],
            reservations=[asks("c", "gpu")],
        ),
        {"a": 422},
        ["b", "c"],
    ),
    "a deferrable write waits for the others of its subject": (
        PassWrites(before_reservations=[planned("a", "s", deferrable=True), planned("b", "s")]),
        {},
        ["b"],
    ),
    "writes of one subject stop at the first refusal": (
        PassWrites(
            before_reservations=[planned("a", "s"), planned("b", "s"), planned("c", "s"), planned("d")]
        ),
        {"b": 409},
        ["a", "d"],
    ),
    "a refused reservation blocks no other one": (
        PassWrites(reservations=[planned("a"), planned("b"), planned("c")]),
        {"b": 404},
        ["a", "c"],
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_applied_writes(name: str) -> None:
    writes, refused, expected = PASSES[name]
    assert sorted(carry_out(Recorder(refused), writes)) == expected


class Held(Recorder):
    """Answers the writes of these keys only once nothing else is left to do."""

    def __init__(self, *held: str) -> None:
        super().__init__()
        self._held = held
        self.answered: list[str] = []

    async def perform(self, write: Write) -> Object | None:
        created = await super().perform(write)
        for _ in range(100 if write.key in self._held else 1):
            await asyncio.sleep(0)
        self.answered.append(write.key)
        return created


# held writes, the pass -> the order of the answers
ANSWERED: dict[str, tuple[str, PassWrites, list[str]]] = {
    "quota is reserved after its release": (
        "a",
        PassWrites(before_reservations=[frees("a", "gpu")], reservations=[asks("b", "gpu")]),
        ["a", "b"],
    ),
    "quota is reserved once the statuses that this was decided on are written": (
        "a",
        PassWrites(
            before_reservations=[PlannedWrite("a", Delete(kinds.WORKLOADS, "a"))],
            reservations=[asks("b", "gpu")],
        ),
        ["a", "b"],
    ),
    "quota is reserved while gangs start": (
        "a",
        PassWrites(before_reservations=[planned("a")], reservations=[asks("b", "gpu")]),
        ["b", "a"],
    ),
    "a reservation follows the other writes of its subject": (
        "a",
        PassWrites(
            before_reservations=[planned("a", "s")],
            reservations=[planned("b", "s", needs=frozenset({"cpu"}))],
        ),
        ["a", "b"],
    ),
    "a creation waits for no reservation": (
        "a",
        PassWrites(before_reservations=[planned("b", deferrable=True)], reservations=[asks("a", "gpu")]),
        ["b", "a"],
    ),
    "nothing waits for a stop": (
        "a",
        PassWrites(stops=[planned("a")], reservations=[asks("b", "gpu")], wait_reasons=[planned("c")]),
        ["b", "c", "a"],
    ),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_write_waits_only_for_what_it_needs(name: str) -> None:
    held, writes, expected = ANSWERED[name]
    kube = Held(held)
    carry_out(kube, writes)
    assert kube.answered == expected


def test_the_most_important_writes_are_sent_first() -> None:
    """Even if there are more than slots."""
    kube = Recorder()
    writes = PassWrites(
        stops=[planned("stop")],
        before_reservations=[planned("create", deferrable=True), *(frees(f"release-{n}", n) for n in "abc")],
        reservations=[planned(f"reserve-{n}") for n in range(CONCURRENT_WRITES_MAX)],
        template_resets=[planned("reset")],
        wait_reasons=[planned("reason")],
    )
    carry_out(kube, writes)
    assert [key.partition("-")[0] for key in kube.sent] == [
        "stop",
        *["release"] * 3,
        *["reserve"] * CONCURRENT_WRITES_MAX,
        "create",
        "reset",
        "reason",
    ]


def test_late_steps_take_turns_by_namespace() -> None:
    kube = Recorder()
    many = [planned(f"team-a/{n}", deferrable=True) for n in range(3 * DEFERRABLE_WRITES_MAX)]
    applier = Applier(kube, Stores(), WriteBackoff())
    first = [*many, planned("team-b/0", deferrable=True), planned("now")]
    done = asyncio.run(
        applier.apply(PassWrites(before_reservations=first, reservations=[asks("quota", "gpu")]), 0)
    )
    assert [s.write.key for s in done[:4]] == ["now", "quota", "team-a/0", "team-b/0"]
    assert len(done) == 2 + DEFERRABLE_WRITES_MAX
    assert applier.postponed


def test_reasons_to_wait_beyond_the_limit_are_left_to_the_next_pass() -> None:
    """Releases must not wait for the messages of thousands of Workloads of a deleted queue."""
    applier = Applier(Recorder(), Stores(), WriteBackoff())
    reasons = [planned(f"team-a/{n}") for n in range(WAIT_REASONS_MAX + 1)]
    done = asyncio.run(applier.apply(PassWrites(wait_reasons=reasons), 0))
    assert len(done) == WAIT_REASONS_MAX
    assert applier.postponed
    asyncio.run(applier.apply(PassWrites(wait_reasons=reasons[:WAIT_REASONS_MAX]), 0))
    assert not applier.postponed


OCCUPANTS: dict[str, tuple[Recorder, list[str]]] = {
    "no pods": (Recorder(), ["a", "b"]),
    "a running pod": (Recorder(pods=[pod("uid-w")]), ["b"]),
    "an ended pod": (Recorder(pods=[pod("uid-w", phase="Failed")]), ["a", "b"]),
    "a pod with the label alone": (Recorder(pods=[pod("uid-w", ownerReferences=[])]), ["b"]),
    "the API server is unreachable": (Recorder(reachable=False), ["b"]),
}


@pytest.mark.parametrize("name", OCCUPANTS)
def test_a_gang_starts_only_after_a_fresh_list_has_no_old_pods(name: str) -> None:
    kube, expected = OCCUPANTS[name]
    workload, stores = read(kinds.WORKLOADS, workload_body(ray_job("dev"), uid="uid-w")), Stores()
    stores.of(kinds.WORKLOADS).put(workload)
    provides = frozenset({"gpu"})
    vacated = PlannedWrite(
        workload.key, Delete(kinds.NAMESPACES, "a"), requires_no_pods_of="uid-w", provides=provides
    )
    backoff = WriteBackoff()
    writes = PassWrites(before_reservations=[vacated, planned("b")], reservations=[asks("c", "gpu")])
    assert sorted(carry_out(kube, writes, backoff, stores)) == [
        *expected,
        *(["c"] if expected == ["a", "b"] else []),
    ]
    assert (workload.key in backoff.at(0)) is (expected == ["b"])


UNSURE = {0: True, 500: True, 503: True, 409: False, 404: False, 422: False}


@pytest.mark.parametrize("code", UNSURE)
def test_the_outcome_of_an_unanswered_write_is_read_before_the_next_decision(code: int) -> None:
    stores = Stores()
    existing = stores.of(kinds.NAMESPACES)

    async def story() -> bool:
        applier = Applier(Recorder({"a": code}), stores, WriteBackoff())
        await applier.apply(PassWrites(before_reservations=[planned("a")]), 0)
        return await applier.read_unanswered()

    assert asyncio.run(story())
    assert list(existing.items) == (["a"] if UNSURE[code] else [])


def test_an_unknown_outcome_is_read_until_there_is_an_answer() -> None:
    kube = Recorder({"a": 0}, reachable=False)

    async def story() -> list[bool]:
        applier = Applier(kube, Stores(), WriteBackoff())
        await applier.apply(PassWrites(before_reservations=[planned("a")]), 0)
        answers = [await applier.read_unanswered()]
        kube.reachable = True
        return [*answers, await applier.read_unanswered()]

    assert asyncio.run(story()) == [False, True]


def test_a_known_outcome_is_not_read_again() -> None:
    """The watch delivers later changes."""
    kube, stores = Recorder({"a": 0}), Stores()

    async def story() -> None:
        applier = Applier(kube, stores, WriteBackoff())
        await applier.apply(PassWrites(before_reservations=[planned("a")]), 0)
        await applier.read_unanswered()
        kube.reachable = False
        assert await applier.read_unanswered()

    asyncio.run(story())


def test_nothing_is_kept_of_a_kind_that_is_not_watched() -> None:
    """Not even after a refused write: nothing would remove it."""
    stores = Stores()
    write = MergePatch(kinds.BATCH_JOBS, "a", {"spec": {"suspend": True}}, "7")
    writes = PassWrites(before_reservations=[PlannedWrite("a", write)])
    for refused in ({"a": 409}, {}):
        carry_out(Recorder(refused), writes, stores=stores)
    assert stores.of(kinds.BATCH_JOBS).items == {}


def test_consecutive_refusals_increase_the_back_off() -> None:
    backoff = WriteBackoff()
    waits = [backoff.record_refusal(SUBJECT, 0) for _ in range(12)]
    assert waits[:4] == [100, 200, 400, 800]
    assert waits[-1] == BACKOFF_MS_MAX


def test_a_refused_subject_is_held_back_until_its_back_off_ends() -> None:
    backoff = WriteBackoff()
    backoff.record_refusal(SUBJECT, 1000)
    for _ in range(2):
        backoff.record_refusal("for longer", 1000)
    assert SUBJECT in backoff.at(1099)
    assert "another" not in backoff
    assert backoff.next_ms() == 1100
    assert SUBJECT not in backoff.at(1100)
    assert backoff.next_ms() == 1200
    backoff.at(1200)
    assert backoff.next_ms() is None


def test_many_refused_subjects_are_retried_together() -> None:
    backoff = WriteBackoff()
    for number in range(700):
        for _ in range(12):
            backoff.record_refusal(f"team-a/{number}", 7 * number)
    rounds = set()
    while (due_ms := backoff.next_ms()) is not None:
        rounds.add(due_ms)
        backoff.at(due_ms)
    assert len(rounds) <= 2


def test_a_successful_write_resets_the_back_off() -> None:
    backoff = WriteBackoff()
    backoff.record_refusal(SUBJECT, 0)
    backoff.forget(SUBJECT)
    assert SUBJECT not in backoff.at(0)
    assert backoff.record_refusal(SUBJECT, 0) == 100


@pytest.mark.parametrize(("quiet_ms", "wait_ms"), [(BACKOFF_MS_MAX, 200), (BACKOFF_MS_MAX + 100, 100)])
def test_refusals_are_dropped_after_a_quiet_period(quiet_ms: int, wait_ms: int) -> None:
    backoff = WriteBackoff()
    backoff.record_refusal(SUBJECT, 0)
    assert backoff.at(quiet_ms).record_refusal(SUBJECT, quiet_ms) == wait_ms


def test_a_refused_write_is_reported_once_on_its_job() -> None:
    """A RayJob whose Workload the API server refuses has no status that could show it."""
    recorded: list[ObjectEvent] = []
    event = ObjectEvent(
        kinds.RAY_JOBS, ObjectMeta(name="dev", namespace="team-a"), "CreatedWorkload", "Created"
    )
    create = Create(kinds.WORKLOADS, {"metadata": {"name": "w", "namespace": "team-a"}})
    backoff = WriteBackoff()
    applier = Applier(Recorder({"team-a/w": 422}), Stores(), backoff, recorded.append)
    for now_ms in (0, 1000):
        asyncio.run(applier.perform([PlannedWrite("uid", create, (event,))], now_ms))
    assert [(n.regarding.key, n.reason, n.warning) for n in recorded] == [
        ("team-a/dev", "FailedCreate", True)
    ]
    assert "refused" in recorded[0].message


# (the API server's code, whether the store has the object) -> events
CREATIONS = {
    "refused": (422, False, ["Error: refused"]),
    "created by an earlier pass, and not in the store yet": (409, False, []),
    "created by another client": (409, True, ["Error: refused"]),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_a_refused_creation_writes_its_replacement(name: str) -> None:
    code, existing, expected = CREATIONS[name]
    recorded: list[ObjectEvent] = []
    stores = Stores()
    answers = stores.of(kinds.NAMESPACES)
    body = {"metadata": {"name": "a", "namespace": "team-a"}}
    if existing:
        stores.of(kinds.POD_TEMPLATES).put(read(kinds.POD_TEMPLATES, stored(body)))

    def on_refusal(why: str) -> PlannedWrite:
        event = ObjectEvent(
            kinds.WORKLOADS, ObjectMeta(name="w"), "FailedCreate", f"Error: {why}", warning=True
        )
        return PlannedWrite("w", MergePatch(kinds.NAMESPACES, "instead", {}, "7"), (event,))

    create = PlannedWrite("w", Create(kinds.POD_TEMPLATES, body), on_refusal=on_refusal)
    kube, backoff = Recorder({"team-a/a": code}), WriteBackoff()
    applier = Applier(kube, stores, backoff, recorded.append)
    for now_ms in (0, 1000):
        assert asyncio.run(applier.perform([create], now_ms)) == []
    assert [n.message for n in recorded] == expected
    assert kube.sent.count("instead") == len(expected)
    assert list(answers.items) == ["instead"] * len(expected), "its answer is kept"
    assert "w" in backoff.at(1000)
