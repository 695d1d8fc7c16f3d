"""Tests how often passes read pod templates: a tenant's may be a megabyte each, and more than caches hold."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count, islice
from typing import Any

import pytest

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.kinds import BY_KIND
from muster.cluster.pass_cache import PassCache
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.reconcile import reconcile
from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.kube.store import Store
from muster.objects import sharing
from muster.objects.cache import ByteCache
from muster.objects.meta import Object
from tests.simulation.manifests import HEAD, WORKER, ray_cluster, ray_job, ray_service
from tests.unit.controller.builders import NOW_MS, Body, condition, make_cluster, read, stored, workload_body

JOB, CLUSTER, SERVICE = kinds.RAY_JOBS, kinds.RAY_CLUSTERS, kinds.RAY_SERVICES
GANGS = 12
NUMBERS = count()  # no two gangs have equal templates, which would be read once for both
MADE: Mapping[Kind[Any], Callable[[str], Body]] = {
    JOB: lambda name: ray_job(name, worker=large(name)),
    CLUSTER: lambda name: ray_cluster(name),
    SERVICE: lambda name: ray_service(name, worker=large(name)),
}
ADMITTED = ("QuotaReserved", "Admitted")


def large(name: str) -> Body:
    """Returns a template that differs in each gang."""
    return {"metadata": {"annotations": {"of": name}}, **WORKER}


def started(body: Body) -> Body:
    field = "rayClusterConfig" if "rayClusterConfig" in body["spec"] else ""
    spec = {**(body["spec"][field] if field else body["spec"]), "suspend": False}
    return {**body, "spec": {**body["spec"], field: spec} if field else spec}


def without_requests(name: str) -> Body:
    (container,) = HEAD["spec"]["containers"]
    return ray_job(name, worker={"spec": {"containers": [{**container, "resources": {}}]}})


STATES: dict[str, tuple[Kind[Any], Callable[[str], Body], tuple[str, ...]]] = {
    "RayJobs that wait": (JOB, MADE[JOB], ()),
    "RayClusters that wait": (CLUSTER, MADE[CLUSTER], ()),
    "RayServices that wait": (SERVICE, MADE[SERVICE], ()),
    "RayJobs without a priority": (JOB, lambda name: ray_job(name, worker=large(name), priority=""), ()),
    "RayJobs that are refused": (JOB, lambda name: ray_job(name, backoffLimit=-1), ()),
    "RayJobs without requests": (JOB, without_requests, ()),
    "RayJobs that run": (JOB, lambda name: started(MADE[JOB](name)), ADMITTED),
    "RayClusters that run": (CLUSTER, lambda name: started(MADE[CLUSTER](name)), ADMITTED),
    "RayServices that run": (SERVICE, lambda name: started(MADE[SERVICE](name)), ADMITTED),
}


class Passes:
    """Passes over a cluster whose objects come from stores, as watches fill them; counts templates read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stores: dict[Kind[Any], Store[Any]] = {kind: Store() for kind in (*BY_KIND, kinds.WORKLOADS)}
        self._cache, self._memory = PassCache(), PassMemory()
        self.read: Counter[bytes] = Counter()
        call = ByteCache.__call__

        def counted(cache: ByteCache[Any], text: bytes) -> Any:
            if cache is not sharing._MAPS:
                self.read[text] += 1
            return call(cache, text)

        monkeypatch.setattr(ByteCache, "__call__", counted)

    def put(self, kind: Kind[Any], body: Body) -> None:
        obj: Object = read(kind, body)
        assert self.stores[kind].put(obj)

    def next(self) -> int:
        """Runs a pass. Returns how often it read a template."""
        self.read.clear()
        self._cache.begin_full_pass()
        observed = {**make_cluster().observed, **{kind: s.items for kind, s in self.stores.items()}}
        cluster = ClusterState(observed, self._cache)
        reconcile(cluster, NOW_MS, memory=self._memory)
        return self.read.total()


def filled(
    monkeypatch: pytest.MonkeyPatch, kind: Kind[Any], body_of: Callable[[str], Body], *true: str
) -> tuple[Passes, list[Body]]:
    """Returns a cluster with this many gangs of the kind, and their Workloads."""
    passes, workloads = Passes(monkeypatch), list[Body]()
    for number in islice(NUMBERS, GANGS):
        body = body_of(f"dev-{number}")
        passes.put(kind, stored(body))
        workloads.append(workload_body(body, *true))
        passes.put(kinds.WORKLOADS, workloads[-1])
    return passes, workloads


@pytest.mark.parametrize("name", STATES)
def test_unchanged_templates_are_not_read_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, body_of, true = STATES[name]
    passes, _ = filled(monkeypatch, kind, body_of, *true)
    assert passes.next() > 0
    assert [passes.next() for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("kind", MADE, ids=repr)
def test_a_new_status_reads_no_template_again(kind: Kind[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes all Workloads, as wait messages do."""
    passes, workloads = filled(monkeypatch, kind, MADE[kind])
    passes.next()
    passes.next()
    (changed, *_) = workloads
    status = {"conditions": [condition("QuotaReserved", status=False, reason="WaitingForQuota")]}
    passes.put(kinds.WORKLOADS, stored({**changed, "status": status}, resourceVersion="8"))
    assert passes.next() == 0
