"""A kept Decider decides like a fresh one, however its plans were carried out."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from muster import admission as core
from muster.cluster.candidates import WorkloadInfo
from muster.cluster.cluster_state import ClusterState
from muster.cluster.pass_cache import PassCache
from muster.controller.passes.decider import Decider, PassDecision
from muster.controller.workload import transitions
from muster.controller.workload.decisions import WAIT_REASONS
from muster.kube import kinds
from muster.objects import kueue, workload_status
from muster.objects.meta import rfc3339
from muster.objects.names import PREFERRED_TOPOLOGY
from muster.translation import core_workload
from tests.simulation import manifests
from tests.simulation.manifests import PREEMPTION, cluster_queue, quotas, ray_job
from tests.simulation.racks import RACKS
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, read, stored, workload

pytestmark = pytest.mark.slow

QUEUES = ("team-a", "team-b")
RULES = {
    "Kueue's": core.Rules(),
    "fair": core.Rules(fair_sharing=core.FairSharing()),
    "ours": core.Rules(
        aging=core.Aging(step=50, period_ms=4000, boost_max=1000), run_time_ms_min=5000, backfill=True
    ),
}
STEPS = 60


def platform(*hosts: str, **spec: Any) -> ClusterState:
    """Two queues with four GPUs each, which they lend; one strict, one not. With hosts, of
    four GPUs too, pods are placed on them."""
    gpus = quotas("cpu", cpu=16, memory="64Gi", gpu=0), quotas("l4", cpu=16, memory="64Gi", gpu=4)
    return make_cluster(
        {
            kinds.CLUSTER_QUEUES: [
                cluster_queue("team-a", *gpus, preemption=PREEMPTION, **spec),
                cluster_queue("team-b", *gpus, preemption=PREEMPTION, queueingStrategy="StrictFIFO"),
            ],
            kinds.FLAVORS: [flavor("cpu"), flavor("l4", **({"topologyName": "racks"} if hosts else {}))],
            kinds.TOPOLOGIES: [RACKS] if hosts else [],
            kinds.NODES: [host(name) for name in hosts],
        }
    )


def flavor(name: str, **spec: str) -> Body:
    body = manifests.flavor(name)
    return {**body, "spec": {**body["spec"], **spec}}


def host(name: str) -> Body:
    labels = {core.HOSTNAME: name, "rack": "one", "cloud.google.com/gke-nodepool": "l4"}
    allocatable = {manifests.GPU: "4", "cpu": "64", "memory": "256Gi", "pods": "110"}
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


class History:
    """Random changes of a few gangs, of the platform and of the time."""

    def __init__(self, seed: int, hosts: tuple[str, ...]) -> None:
        self.random = Random(seed)
        self._hosts = hosts
        self.cluster = platform(*hosts)
        self.gangs: dict[str, WorkloadInfo] = {}
        self._previous_gangs: dict[str, WorkloadInfo] = {}
        self.now_ms = NOW_MS
        self._jobs_count = 0

    def go_on(self) -> None:
        self.now_ms += self.random.choice((10, 500, 3000))
        changes: list[tuple[int, Callable[[], None]]] = [
            (8, self._arrive),
            (3, self._end),
            (4, self._release),
            (2, self._back_off),
            (2, self._rewrite),
            (1, self._change_platform),
            (1, self._set_clock_back),
        ]
        weights, what = zip(*changes, strict=True)
        for change in self.random.choices(what, weights, k=self.random.randrange(3)):
            change()

    def changed(self) -> dict[str, WorkloadInfo | None]:
        """Returns the gangs that differ from those at the last call."""
        before, self._previous_gangs = self._previous_gangs, dict(self.gangs)
        gone: dict[str, WorkloadInfo | None] = dict.fromkeys(before.keys() - self.gangs.keys())
        return gone | {key: gang for key, gang in self.gangs.items() if before.get(key) is not gang}

    def carry_out(self, decision: PassDecision) -> None:
        """Carries out part of it: any write may be lost."""
        plan = decision.plan
        for admitted in plan.admissions:
            self._write(admitted.workload, transitions.reserve, admitted.admission, ())
        for victim in plan.preemptions:
            self._write(victim.workload, transitions.preempt, victim.reason, "")
        for key in plan.displaced:
            self._write(key, transitions.evict, "NodeFailures", "")
        for waiting in decision.waiting:
            self._write(waiting.workload, transitions.wait, WAIT_REASONS[waiting.reason], waiting.message)

    def _write(self, key: str, change: Callable[..., kueue.WorkloadStatus], *arguments: object) -> None:
        if self.random.random() < 0.7:
            gang = self.gangs[key]
            self._put(gang, change(gang.status, *arguments, self.now_ms))

    def _put(self, gang: WorkloadInfo, status: kueue.WorkloadStatus) -> None:
        obj = with_fields(gang.workload, status=status)
        self.gangs[obj.key] = replace(gang, workload=obj, status=status)

    def _any(self) -> WorkloadInfo | None:
        return self.random.choice(list(self.gangs.values())) if self.gangs else None

    def _arrive(self) -> None:
        self._jobs_count += 1
        priority = self.random.choice(("dev-priority", "prod-priority"))
        workers = self.random.choice((1, 2, 3, 4, 6))
        near = {"metadata": {"annotations": {PREFERRED_TOPOLOGY: "rack"}}} if self._hosts else {}
        worker = {**manifests.WORKER, **near}
        body = ray_job(f"job-{self._jobs_count}", workers=workers, priority=priority, worker=worker)
        obj = workload(body, creationTimestamp=rfc3339(self.now_ms))
        self.gangs[obj.key] = WorkloadInfo(obj, obj.status, self.random.choice(QUEUES))

    def _end(self) -> None:
        gang = self._any()
        if gang is not None:
            del self.gangs[gang.workload.key]

    def _release(self) -> None:
        for gang in self.gangs.values():
            if workload_status.is_evicted(gang.status) and workload_status.holds_quota(gang.status):
                self._put(gang, transitions.release(gang.status, self.now_ms))
                return

    def _back_off(self) -> None:
        gang = self._any()
        if gang is not None and not workload_status.holds_quota(gang.status):
            self._put(gang, transitions.requeue_at(gang.status, self.now_ms + 4000, counts=True))

    def _rewrite(self) -> None:
        """Writes a gang unchanged, or with another status."""
        gang = self._any()
        if gang is not None:
            status = transitions.evict(gang.status, "Deactivated", "", self.now_ms)
            self.gangs[gang.workload.key] = replace(gang, status=self.random.choice((gang.status, status)))

    def _change_platform(self) -> None:
        spec = {"stopPolicy": self.random.choice(("None", "Hold"))}
        labels = {"team": self.random.choice("ab")}
        hosts = self._hosts[: self.random.randrange(1, 3)]
        self.cluster = platform(*hosts, namespaceSelector={"matchLabels": {"team": "a"}}, **spec)
        team_a = {"metadata": {"name": "team-a", "labels": labels}}
        self.cluster.namespaces = {"team-a": read(kinds.NAMESPACES, stored(team_a))}

    def _set_clock_back(self) -> None:
        self.now_ms -= 2000


def comparable(decision: PassDecision) -> tuple[object, ...]:
    plan = decision.plan
    return (
        sorted(plan.admissions, key=lambda decision: decision.workload),
        sorted(plan.preemptions, key=lambda victim: victim.workload),
        reasons(decision),
        decision.until_ms,
        plan.drained,
        plan.displaced,
    )


def reasons(decision: PassDecision) -> dict[str, core.Waiting]:
    return {waiting.workload: waiting for waiting in decision.waiting}


def moves(history: History, rules: core.Rules) -> int:
    """Returns the number of decisions, and checks that each plan equals that of a fresh Decider."""
    reused, moved, waiting = Decider(rules), 0, dict[str, core.Waiting]()
    for _ in range(STEPS):
        history.go_on()
        cluster = replace(history.cluster, cache=PassCache())
        decision = reused.decide(cluster, history.changed(), history.now_ms)
        fresh = Decider(rules).decide(cluster, history.gangs, history.now_ms)
        assert comparable(decision) == comparable(fresh)
        assert decision.waiting_changed or reasons(decision) == waiting
        waiting = reasons(decision)
        moved += len(decision.plan.admissions) + len(decision.plan.preemptions)
        history.carry_out(decision)
    return moved


@pytest.mark.parametrize("hosts", [(), ("a", "b")], ids=["anywhere", "on hosts"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_a_kept_decider_decides_like_a_fresh_one(rules: str, seed: int, hosts: tuple[str, ...]) -> None:
    assert moves(History(seed, hosts), RULES[rules]) > 3


def test_a_kept_decider_notices_that_the_protection_of_victims_has_ended() -> None:
    assert moves(History(149, ()), core.Rules(run_time_ms_min=5000, backfill=True)) > 3


def test_an_invalid_workload_resets_the_engine() -> None:
    cluster, reused_decider = platform(), Decider()
    first, second = (gang(name) for name in ("first", "second"))
    reused_decider.decide(cluster, by_workload_key(first, second), NOW_MS)
    nonsense = with_fields(second.workload, spec=with_fields(second.workload.spec, pod_sets=()))
    with pytest.raises(core.SnapshotError):
        reused_decider.decide(cluster, by_workload_key(replace(second, workload=nonsense)), NOW_MS)
    decision = reused_decider.decide(cluster, {**by_workload_key(second), first.workload.key: None}, NOW_MS)
    assert comparable(decision) == comparable(Decider().decide(cluster, by_workload_key(second), NOW_MS))
    assert [admitted.workload for admitted in decision.plan.admissions] == [second.workload.key]


def by_workload_key(*gangs: WorkloadInfo) -> dict[str, WorkloadInfo]:
    return {gang.workload.key: gang for gang in gangs}


def gang(name: str) -> WorkloadInfo:
    obj = workload(ray_job(name, workers=4))
    return WorkloadInfo(obj, obj.status, "team-a")


def test_unchanged_gangs_and_platforms_are_not_converted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read_again: list[str] = []
    convert = core_workload.workload

    def reading(obj: kueue.Workload, *args: Any) -> core.Workload:
        read_again.append(obj.metadata.name)
        return convert(obj, *args)

    monkeypatch.setattr(core_workload, "workload", reading)
    cluster, reused_decider = platform("a"), Decider()
    first, second = gang("first"), gang("second")
    reused_decider.decide(cluster, by_workload_key(first, second), NOW_MS)
    engine = reused_decider._engine
    read_again.clear()
    reused_decider.decide(cluster, by_workload_key(first, replace(second, queue="team-b")), NOW_MS + 1)
    assert read_again == [second.workload.metadata.name]
    assert reused_decider._engine is engine
    reused_decider.decide(platform("a", "b"), by_workload_key(first, second), NOW_MS + 2)
    assert reused_decider._engine is not engine, "there is another node"


SAME: dict[str, tuple[dict[str, Any], bool]] = {
    "nothing": ({}, True),
    "its queue": ({"queue": "team-b"}, False),
    "its priority": ({"priority": 7}, False),
    "the LimitRanges of its namespace": ({"limit_ranges": ("some",)}, False),
    "its RuntimeClasses": ({"runtime_classes": {"gvisor": "some"}}, False),
}


@pytest.mark.parametrize("name", SAME)
def test_a_candidate_is_the_same_with_equal_inputs(name: str) -> None:
    changes, same = SAME[name]
    gang_object = gang("first")
    assert gang_object.is_same(replace(gang_object, **changes)) is same
    assert not gang_object.is_same(gang("first")), "it was written since"


def test_a_wait_is_reported_again_when_its_time_has_come() -> None:
    """Otherwise a workload would be reported as backing off after its back-off has ended."""
    cluster, reused_decider = platform(stopPolicy="None"), Decider()
    away = gang("away")
    status = transitions.requeue_at(away.status, NOW_MS + 5000, counts=True)
    big = gang("big")
    big = replace(big, status=transitions.requeue_at(big.status, NOW_MS + 9000, counts=True))
    decision = reused_decider.decide(cluster, by_workload_key(replace(away, status=status), big), NOW_MS)
    assert {w.reason for w in decision.waiting} == {core.WaitReason.BACKOFF}
    decision = reused_decider.decide(cluster, {}, NOW_MS + 6000)
    assert [d.workload for d in decision.plan.admissions] == [away.workload.key]
    assert [*reasons(decision)] == [big.workload.key]
