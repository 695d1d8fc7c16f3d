"""The simulation's bounds find violations that last too long."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Api, Body
from tests.simulation.bounds import BOUNDS_MS, Bounds
from tests.simulation.invariants import Broken
from tests.simulation.manifests import GPU, WORKER, job_set, ray_job
from tests.simulation.operators import owned

BY = "test"
PLACE = {"namespace": "team-a"}


class Cluster:
    """A job with quota for GPUs, and a clock that the test moves."""

    def __init__(self, gpus: int = 2) -> None:
        self.now_ms = 0
        self.api = Api(lambda: 0)
        self.bounds = Bounds(self.api, lambda: self.now_ms)
        self.api.watchers.append(self.bounds.check)
        self.job = self.api.create(kinds.RAY_JOBS, ray_job("dev"), BY)
        meta = owned(kinds.RAY_JOBS, self.job, "team-a/dev")
        self.workload = self.api.create(kinds.WORKLOADS, {"metadata": meta, "spec": {}}, BY)
        usage = {"flavors": {GPU: "l4"}, "resourceUsage": {GPU: str(gpus)}, "name": "gpu", "count": gpus}
        self.admission = {"clusterQueue": "team-a", "podSetAssignments": [usage]}
        self.tell(QuotaReserved="True")

    def tell(self, **conditions: str) -> None:
        conditions_now = [
            {"type": kind, "status": status, "reason": kind} for kind, status in conditions.items()
        ]
        status = {"admission": self.admission, "conditions": conditions_now}
        self.api.merge_patch(kinds.WORKLOADS, "team-a/dev", {"status": status}, BY, True)

    def evict(self) -> None:
        self.tell(QuotaReserved="True", Evicted="True")

    def start(self, pods: int) -> None:
        """Adds pods without the label of their Workload."""
        self._start_part(kinds.RAY_JOBS, self.job, kinds.RAY_CLUSTERS, pods)

    def resume_job_set(self) -> None:
        """Adds a JobSet without quota, and a Job of it with a pod."""
        owner = self.api.create(kinds.JOB_SETS, job_set("dev"), BY)
        self._start_part(kinds.JOB_SETS, owner, kinds.BATCH_JOBS, 1)

    def _start_part(self, owner_kind: Kind[Any], owner: Body, kind: Kind[Any], pods: int) -> None:
        meta = owned(owner_kind, owner, "team-a/dev-1")
        part = self.api.create(kind, {"metadata": meta, "spec": {}}, BY)
        for number in range(pods):
            pod_meta = owned(kind, part, f"team-a/dev-1-{number}")
            body = {"metadata": pod_meta, "spec": WORKER["spec"], "status": {"phase": "Running"}}
            self.api.create(kinds.PODS, body, BY)

    def ask(self, answer: str = "Accepted") -> None:
        """Adds a ProvisioningRequest whose template is missing."""
        meta = owned(kinds.WORKLOADS, self.workload, "team-a/request")
        body = {"metadata": meta, "spec": {"podSets": [{"podTemplateRef": {"name": "gone"}}]}}
        self.api.create(kinds.PROVISIONING_REQUESTS, body, BY)
        status = {"conditions": [{"type": answer, "status": "True"}]}
        self.api.merge_patch(kinds.PROVISIONING_REQUESTS, "team-a/request", {"status": status}, BY, True)

    def leave(self) -> None:
        meta: Body = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": None}}}
        self.api.merge_patch(kinds.RAY_JOBS, "team-a/dev", meta, BY, False)

    def wait(self, ms: int) -> None:
        """Moves the clock, then makes a write."""
        self.now_ms += ms
        self.api.create(kinds.EVENTS, {"metadata": {**PLACE, "name": f"at-{self.now_ms}"}}, BY)


@dataclass(frozen=True)
class Case:
    """The case breaks `rule` after its bound; none if it is empty."""

    acts: tuple[Callable[[Cluster], None], ...]
    rule: str = ""


CASES = {
    "a request without its template": Case((Cluster.ask,), "templates_exist"),
    "a request that has failed without its template": Case((lambda c: c.ask("Failed"),)),
    "a request of a gang that leaves without its template": Case((Cluster.ask, Cluster.leave)),
    "an evicted gang with quota": Case((Cluster.evict,), "evicted_stop"),
    "an evicted gang without": Case((Cluster.evict, lambda c: c.tell(Evicted="True"))),
    "more pods than quota": Case((lambda c: c.start(3),), "usage_covers_pods"),
    "as many pods as quota": Case((lambda c: c.start(2),)),
    "pods without any quota": Case((lambda c: c.start(1), Cluster.tell), "usage_covers_pods"),
    "pods of a JobSet without any quota": Case((Cluster.resume_job_set,), "usage_covers_pods"),
    "pods of a job that has finished, with the finalizer": Case(
        (
            lambda c: c.start(2),
            lambda c: c.tell(QuotaReserved="True", Finished="True"),
            lambda c: keep(c, ["kueue.x-k8s.io/resource-in-use"]),
        )
    ),
    "pods of a job that has finished, without": Case(
        (lambda c: c.start(2), lambda c: c.tell(QuotaReserved="True", Finished="True")), "usage_covers_pods"
    ),
    "pods of a job in no queue": Case((lambda c: c.start(3), Cluster.leave)),
}


def keep(cluster: Cluster, finalizers: list[str]) -> None:
    patch = {"metadata": {"finalizers": finalizers}}
    cluster.api.merge_patch(kinds.WORKLOADS, "team-a/dev", patch, BY, False)


@pytest.mark.parametrize("name", CASES)
def test_lasting_violations_are_found(name: str) -> None:
    case, cluster = CASES[name], Cluster()
    for act in case.acts:
        act(cluster)
    cluster.wait(BOUNDS_MS.get(case.rule, max(BOUNDS_MS.values())))
    with pytest.raises(Broken) if case.rule else nullcontext() as broken:
        cluster.wait(1)
    if broken is not None:
        assert broken.value.rule == case.rule


def test_a_bound_restarts_after_the_violation_ends() -> None:
    cluster = Cluster()
    for _ in range(3):
        cluster.evict()
        cluster.wait(BOUNDS_MS["evicted_stop"])
        cluster.tell(Evicted="True")


def test_bounds_are_extended_during_faults() -> None:
    cluster = Cluster()
    cluster.evict()
    cluster.bounds.excuse(60_000)
    cluster.wait(60_000 + BOUNDS_MS["evicted_stop"])
    with pytest.raises(Broken):
        cluster.wait(1)
