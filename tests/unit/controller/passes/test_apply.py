"""Applying a pass: order, refusals, and writes with an unknown outcome."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from muster.controller.gangs.actions import Step
from muster.controller.passes.apply import BACKOFF_MS_MAX, LATE_WRITES_MAX, Applier, HeldBack
from muster.controller.passes.reconcile import Pass
from muster.controller.workload.events import Note
from muster.kube import kinds
from muster.kube.client import Kube, WriteError
from muster.kube.kinds import Kind
from muster.kube.store import Stores
from muster.kube.writes import Create, Delete, MergePatch, Write
from muster.objects.meta import Object, ObjectMeta
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import Body, pod, read, stored, workload_body

SUBJECT = "team-a/rayjob-dev"


class Recorder(Kube):
    """Refuses the writes of these keys with an HTTP status, and answers reads with one Namespace or
    with these pods."""

    def __init__(
        self, refused: dict[str, int] | None = None, *, reachable: bool = True, pods: list[Body] | None = None
    ) -> None:
        self.refused, self.reachable, self.pods = refused or {}, reachable, pods or []
        self.sent: list[str] = []

    async def list(
        self, kind: Kind[Any], labels: Mapping[str, Any] | None = None, namespace: str = "*"
    ) -> Any:
        if not self.reachable:
            raise httpx2.ConnectError("connection refused")
        assert (labels, namespace) == ({"muster.dev/workload-uid": "uid-w"}, "team-a")
        return "9", [read(kind, body) for body in self.pods]

    async def perform(self, write: Write) -> Object | None:
        self.sent.append(write.key)
        if write.key in self.refused:
            raise WriteError(write, self.refused[write.key], "refused")
        if isinstance(write, MergePatch):
            found: Object = read(write.kind, stored({"metadata": {"name": write.key}}))
            return found
        return None

    async def read(self, kind: Kind[Any], key: str) -> Any:
        if not self.reachable:
            raise httpx2.ConnectError("connection refused")
        return read(kind, stored({"metadata": {"name": key}}))


def step(key: str, subject: str = "", **fields: Any) -> Step:
    return Step(subject or key, Delete(kinds.NAMESPACES, key), **fields)


def frees(key: str, *quota: str, **fields: Any) -> Step:
    return step(key, guards=frozenset(quota), **fields)


def asks(key: str, *quota: str) -> Step:
    return step(key, needs=frozenset(quota))


def carry_out(
    kube: Kube, result: Pass, held_back: HeldBack | None = None, stores: Stores | None = None
) -> list[str]:
    applier = Applier(kube, stores or Stores(), held_back or HeldBack())
    return [s.write.key for s in asyncio.run(applier.apply(result, 0))]


PASSES: dict[str, tuple[Pass, dict[str, int], list[str]]] = {
    "first, then": (Pass(first=[step("a")], then=[step("b")]), {}, ["a", "b"]),
    "quota whose release failed is not reserved": (
        Pass(first=[frees("a", "gpu"), step("b")], then=[asks("c", "cpu", "gpu"), asks("d", "cpu")]),
        {"a": 409},
        ["b", "d"],
    ),
    "quota is not reserved if a step before its release was refused": (
        Pass(first=[step("a", "s"), frees("b", "gpu", subject="s")], then=[asks("c", "gpu")]),
        {"a": 409},
        [],
    ),
    "a refused write that releases nothing blocks no reservation": (
        Pass(first=[step("a"), frees("b", "gpu")], then=[asks("c", "gpu")]),
        {"a": 422},
        ["b", "c"],
    ),
    "a refused late write blocks no other write": (
        Pass(first=[step("a", late=True), step("b", late=True)], then=[asks("c", "gpu")]),
        {"a": 422},
        ["b", "c"],
    ),
    "a late write waits for the others of its subject": (
        Pass(first=[step("a", "s", late=True), step("b", "s")]),
        {},
        ["b"],
    ),
    "writes of one subject stop at the first refusal": (
        Pass(first=[step("a", "s"), step("b", "s"), step("c", "s"), step("d")]),
        {"b": 409},
        ["a", "d"],
    ),
    "a refused reservation blocks no other one": (
        Pass(then=[step("a"), step("b"), step("c")]),
        {"b": 404},
        ["a", "c"],
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_applied_writes(name: str) -> None:
    result, refused, wanted = PASSES[name]
    assert sorted(carry_out(Recorder(refused), result)) == wanted


def test_late_steps_take_turns_by_namespace() -> None:
    kube = Recorder()
    many = [step(f"team-a/{n}", late=True) for n in range(3 * LATE_WRITES_MAX)]
    applier = Applier(kube, Stores(), HeldBack())
    first = [*many, step("team-b/0", late=True), step("now")]
    done = asyncio.run(applier.apply(Pass(first=first, then=[asks("quota", "gpu")]), 0))
    assert [s.write.key for s in done[:4]] == ["now", "quota", "team-a/0", "team-b/0"]
    assert len(done) == 2 + LATE_WRITES_MAX
    assert applier.postponed


OCCUPANTS: dict[str, tuple[Recorder, list[str]]] = {
    "no pods": (Recorder(), ["a", "b"]),
    "a running pod": (Recorder(pods=[pod("uid-w")]), ["b"]),
    "an ended pod": (Recorder(pods=[pod("uid-w", phase="Failed")]), ["a", "b"]),
    "a pod with the label alone": (Recorder(pods=[pod("uid-w", ownerReferences=[])]), ["a", "b"]),
    "the API server is unreachable": (Recorder(reachable=False), ["b"]),
}


@pytest.mark.parametrize("name", OCCUPANTS)
def test_a_gang_starts_only_after_a_fresh_list_has_no_old_pods(name: str) -> None:
    kube, wanted = OCCUPANTS[name]
    workload, stores = read(kinds.WORKLOADS, workload_body(ray_job("dev"), uid="uid-w")), Stores()
    stores.of(kinds.WORKLOADS).put(workload)
    guards = frozenset({"gpu"})
    vacated = Step(workload.key, Delete(kinds.NAMESPACES, "a"), vacated="uid-w", guards=guards)
    held = HeldBack()
    result = Pass(first=[vacated, step("b")], then=[asks("c", "gpu")])
    assert sorted(carry_out(kube, result, held, stores)) == [
        *wanted,
        *(["c"] if wanted == ["a", "b"] else []),
    ]
    assert (workload.key in held.at(0)) is (wanted == ["b"])


UNSURE = {0: True, 500: True, 503: True, 409: False, 404: False, 422: False}


@pytest.mark.parametrize("code", UNSURE)
def test_the_outcome_of_an_unanswered_write_is_read_before_the_next_decision(code: int) -> None:
    stores = Stores()
    known = stores.of(kinds.NAMESPACES)

    async def story() -> bool:
        applier = Applier(Recorder({"a": code}), stores, HeldBack())
        await applier.apply(Pass(first=[step("a")]), 0)
        return await applier.catch_up()

    assert asyncio.run(story())
    assert list(known.items) == (["a"] if UNSURE[code] else [])


def test_an_unknown_outcome_is_read_until_there_is_an_answer() -> None:
    kube = Recorder({"a": 0}, reachable=False)

    async def story() -> list[bool]:
        applier = Applier(kube, Stores(), HeldBack())
        await applier.apply(Pass(first=[step("a")]), 0)
        answers = [await applier.catch_up()]
        kube.reachable = True
        return [*answers, await applier.catch_up()]

    assert asyncio.run(story()) == [False, True]


def test_a_known_outcome_is_not_read_again() -> None:
    """The watch delivers later changes."""
    kube, stores = Recorder({"a": 0}), Stores()

    async def story() -> None:
        applier = Applier(kube, stores, HeldBack())
        await applier.apply(Pass(first=[step("a")]), 0)
        await applier.catch_up()
        kube.reachable = False
        assert await applier.catch_up()

    asyncio.run(story())


def test_consecutive_refusals_increase_the_back_off() -> None:
    held = HeldBack()
    waits = [held.refused(SUBJECT, 0) for _ in range(12)]
    assert waits[:4] == [100, 200, 400, 800]
    assert waits[-1] == BACKOFF_MS_MAX


def test_a_refused_subject_is_held_back_until_its_back_off_ends() -> None:
    held = HeldBack()
    held.refused(SUBJECT, 1000)
    for _ in range(2):
        held.refused("for longer", 1000)
    assert SUBJECT in held.at(1099)
    assert "another" not in held
    assert held.next_ms() == 1100
    assert SUBJECT not in held.at(1100)
    assert held.next_ms() == 1200
    held.at(1200)
    assert held.next_ms() is None


def test_many_refused_subjects_are_retried_together() -> None:
    held = HeldBack()
    for number in range(700):
        for _ in range(12):
            held.refused(f"team-a/{number}", 7 * number)
    rounds = set()
    while (due_ms := held.next_ms()) is not None:
        rounds.add(due_ms)
        held.at(due_ms)
    assert len(rounds) <= 2


def test_a_successful_write_resets_the_back_off() -> None:
    held = HeldBack()
    held.refused(SUBJECT, 0)
    held.done(SUBJECT)
    assert SUBJECT not in held.at(0)
    assert held.refused(SUBJECT, 0) == 100


@pytest.mark.parametrize(("quiet_ms", "wait_ms"), [(BACKOFF_MS_MAX, 200), (BACKOFF_MS_MAX + 100, 100)])
def test_refusals_are_dropped_after_a_quiet_period(quiet_ms: int, wait_ms: int) -> None:
    held = HeldBack()
    held.refused(SUBJECT, 0)
    assert held.at(quiet_ms).refused(SUBJECT, quiet_ms) == wait_ms


def test_a_refused_write_is_reported_once_on_its_job() -> None:
    """A RayJob whose Workload the API server refuses has no status that could show it."""
    told: list[Note] = []
    note = Note(kinds.RAY_JOBS, ObjectMeta(name="dev", namespace="team-a"), "CreatedWorkload", "Created")
    create = Create(kinds.WORKLOADS, {"metadata": {"name": "w", "namespace": "team-a"}})
    held_back = HeldBack()
    applier = Applier(Recorder({"team-a/w": 422}), Stores(), held_back, told.append)
    for now_ms in (0, 1000):
        asyncio.run(applier.perform([Step("uid", create, (note,))], now_ms))
    assert [(n.about.key, n.reason, n.warning) for n in told] == [("team-a/dev", "FailedCreate", True)]
    assert "refused" in told[0].message


# (the API server's code, whether the store has the object) -> events
CREATIONS = {
    "refused": (422, False, ["Error: refused"]),
    "created by an earlier pass, and not in the store yet": (409, False, []),
    "created by another client": (409, True, ["Error: refused"]),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_a_refused_creation_writes_its_replacement(name: str) -> None:
    code, known, wanted = CREATIONS[name]
    told: list[Note] = []
    stores = Stores()
    answers = stores.of(kinds.NAMESPACES)
    body = {"metadata": {"name": "a", "namespace": "team-a"}}
    if known:
        stores.of(kinds.POD_TEMPLATES).put(read(kinds.POD_TEMPLATES, stored(body)))

    def refused(why: str) -> Step:
        note = Note(kinds.WORKLOADS, ObjectMeta(name="w"), "FailedCreate", f"Error: {why}", warning=True)
        return Step("w", MergePatch(kinds.NAMESPACES, "instead", {}, "7"), (note,))

    create = Step("w", Create(kinds.POD_TEMPLATES, body), refused=refused)
    kube, held_back = Recorder({"team-a/a": code}), HeldBack()
    applier = Applier(kube, stores, held_back, told.append)
    for now_ms in (0, 1000):
        assert asyncio.run(applier.perform([create], now_ms)) == []
    assert [n.message for n in told] == wanted
    assert kube.sent.count("instead") == len(wanted)
    assert list(answers.items) == ["instead"] * len(wanted), "its answer is kept"
    assert "w" in held_back.at(1000)
