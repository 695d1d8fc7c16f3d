"""Steps are taken on an API server, and their outcome is recorded once Kueue has settled."""

from collections.abc import Callable
from typing import Any

import pytest

from muster import admission as core
from muster.controller.workload import transitions
from muster.objects import kueue, workload_status
from muster.objects.meta import builtins
from tests.conformance.differential import stage
from tests.conformance.differential.outcome import Outcome
from tests.conformance.differential.scenario import Change, Finish, Step, Submit, Withdraw
from tests.conformance.differential.stage import RELEASES_MAX, Play, Stage
from tests.conformance.objects import view
from tests.unit.conformance.differential import NAMESPACE, api_objects, cluster_queue, scenario, workload

NOW_MS = 1_000_000
ADMITTED = {"main": "1 x cpu:f0"}
React = Callable[[kueue.Workload], kueue.WorkloadStatus | None]


def waits(_: kueue.Workload) -> None:
    """Admits no workload."""


def admits(workload: kueue.Workload) -> kueue.WorkloadStatus | None:
    if workload_status.holds_quota(workload.status) or workload_status.is_finished(workload.status):
        return None
    held = core.PodSetAssignment("main", 1, {"cpu": "f0"}, {"cpu": 1000})
    return transitions.reserve(workload.status, core.Admission("q0", (held,)), (), NOW_MS)


def preempts_once(workload: kueue.Workload) -> kueue.WorkloadStatus | None:
    """Admits each workload once, preempts it, and then leaves it pending."""
    if any(c.type == workload_status.PREEMPTED for c in workload.status.conditions):
        return None
    if workload_status.holds_quota(workload.status):
        return transitions.preempt(workload.status, "InClusterQueue", "by another", NOW_MS)
    return admits(workload)


def preempts_for_ever(workload: kueue.Workload) -> kueue.WorkloadStatus | None:
    if not workload_status.holds_quota(workload.status):
        return admits(workload)
    evicted = workload_status.is_evicted(workload.status)
    return None if evicted else transitions.preempt(workload.status, "InClusterQueue", "by another", NOW_MS)


class Server:
    """An API server with a watch, where Kueue reacts immediately, by `react`."""

    def __init__(self, react: React) -> None:
        self.react = react
        self.workloads: dict[str, dict[str, Any]] = {}
        self.note: Callable[[str, Any, bool], None] = lambda *_: None
        self.version = 0
        self.conflicts = 0  # number of first writes that conflict
        self.calls: list[str] = []

    def create(self, obj: Any) -> Any:
        added = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "namespace": NAMESPACE}
        return self._put({**obj, "metadata": {**obj["metadata"], **added}, "status": {}})

    def read(self, _kind: Any, name: str, _namespace: str) -> Any:
        self.calls.append("read")
        return self.workloads[name]

    def merge_status(self, _kind: Any, name: str, _namespace: str, body: Any) -> Any:
        if self.conflicts:
            self.conflicts -= 1
            return None
        return self._put({**self.workloads[name], "status": body["status"]})

    def replace_spec(self, _kind: Any, name: str, spec: Any) -> Any:
        return {"metadata": {"name": name}, "spec": spec}

    def delete(self, _kind: Any, name: str, _namespace: str) -> None:
        self.note("Workload", self.workloads.pop(name), True)

    def delete_all(self, _kind: Any, namespace: str) -> None:
        self.calls.append(f"delete all of {namespace}")

    def _put(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Returns the written object; Kueue's changes arrive by the watch, even before the answer."""
        written = self._keep(obj)
        status = self.react(view(written, kueue.Workload))
        while status is not None:
            status = self.react(view(self._keep({**written, "status": builtins(status)}), kueue.Workload))
        return written

    def _keep(self, obj: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        newer = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        self.workloads[newer["metadata"]["name"]] = newer
        self.note("Workload", newer, False)
        return newer


class Clock:
    """The module `time`, in which only sleep takes time: a slow machine is not mistaken for a settled
    Kueue."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def monotonic(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self._now_s += seconds

    def time(self) -> float:
        return NOW_MS / 1000 + self._now_s


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "time", Clock())
    monkeypatch.setattr(stage, "PatientClient", lambda server: server)

    class Watch:
        def __init__(self, server: Server, _kind: Any, note: Any) -> None:
            server.note = note

        def start(self) -> "Watch":
            return self

        def wait_listed(self, _seconds: float) -> None: ...

    monkeypatch.setattr(stage, "Reflector", Watch)


def played(server: Server, *steps: Step) -> Play:
    play = Play(scenario(*steps), NAMESPACE, api_objects())
    taken = Stage(server, [play])  # type: ignore[arg-type]
    for index in range(len(steps)):
        taken.step(index)
    return play


def workloads_before(play: Play) -> list[list[str]]:
    return [[w.metadata.name for w in moment.workloads.values()] for moment in play.before]


SUBMIT = Submit(workload("w0"))


@pytest.mark.parametrize(
    ("react", "outcome"),
    [
        pytest.param(waits, Outcome({}, {}), id="waits"),
        pytest.param(admits, Outcome({"w0": ADMITTED}, {}), id="is admitted"),
        pytest.param(preempts_once, Outcome({}, {"w0": "InClusterQueue"}), id="is admitted and preempted"),
    ],
)
def test_the_outcome_of_a_submission_is_recorded(react: React, outcome: Outcome) -> None:
    play = played(Server(react), SUBMIT)
    assert (workloads_before(play), play.outcomes, play.restless) == ([["w0"]], [outcome], False)
    assert not play.before[0].workloads[f"{NAMESPACE}/w0"].status.conditions, "before Kueue has decided"


def test_victims_are_recorded_by_step() -> None:
    play = played(Server(preempts_once), SUBMIT, Submit(workload("w1")))
    assert [outcome.preempted for outcome in play.outcomes] == [
        {"w0": "InClusterQueue"},
        {"w1": "InClusterQueue"},
    ]


def test_a_finished_workload_is_gone() -> None:
    play = played(Server(admits), SUBMIT, Submit(workload("w1")), Finish(3))
    assert workloads_before(play) == [["w0"], ["w0", "w1"], ["w0"]]
    assert play.outcomes[-1] == Outcome({"w0": ADMITTED}, {})


def test_finishing_is_retried_after_a_conflict() -> None:
    server = Server(admits)
    play = Play(scenario(SUBMIT, Finish(0)), NAMESPACE, api_objects())
    taken = Stage(server, [play])  # type: ignore[arg-type]
    taken.step(0)
    server.conflicts = 2
    taken.step(1)
    assert (server.calls, workloads_before(play)[-1]) == (["read"] * 2, [])


def test_a_pending_workload_is_withdrawn() -> None:
    play = played(Server(waits), SUBMIT, Submit(workload("w1")), Withdraw(0), Finish(0))
    assert workloads_before(play) == [["w0"], ["w0", "w1"], ["w1"], ["w1"]]


def test_withdrawing_without_pending_workloads_does_nothing() -> None:
    assert workloads_before(played(Server(admits), SUBMIT, Withdraw(0))) == [["w0"], ["w0"]]


def test_a_changed_queue_is_recorded() -> None:
    play = played(Server(waits), SUBMIT, Change(cluster_queue("q0", "7")))
    quotas = [
        moment.objects.cluster_queues[0].spec.resource_groups[0].flavors[0].resources[0].nominal_quota
        for moment in play.before
    ]
    assert quotas == ["2", "7"]


def test_a_changed_cohort_is_recorded() -> None:
    cohort = {"kind": "Cohort", "metadata": {"name": "c0"}, "spec": {"parentName": "root"}}
    play = played(Server(waits), SUBMIT, Change(cohort))
    assert [moment.objects.cohorts[0].spec.parent_name for moment in play.before] == ["", "root"]


def test_a_history_without_end_is_stopped() -> None:
    server = Server(preempts_for_ever)
    play = played(server, SUBMIT, Finish(0))
    assert (play.restless, play.before, play.outcomes) == (True, [], [])
    assert server.calls == [f"delete all of {NAMESPACE}"]
    assert RELEASES_MAX < 10, "more would keep Kueue busy"
