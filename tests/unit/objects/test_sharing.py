"""Parts of views are shared with equal ones, and dropped with the last view that has them."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from muster.kube import kinds
from muster.objects import sharing
from muster.objects.kueue import Workload
from muster.objects.ray import RayCluster, RayJob
from tests.simulation.manifests import ray_cluster, ray_job
from tests.unit.controller.builders import read, stored, workload_body

PAIRS = 200
PAIR_BYTES_MAX = 2_000


def job(name: str, **spec: Any) -> RayJob:
    parsed: RayJob = read(kinds.RAY_JOBS, stored(ray_job(name, **spec)))
    return parsed


def cluster(name: str) -> RayCluster:
    parsed: RayCluster = read(kinds.RAY_CLUSTERS, stored(ray_cluster(name)))
    return parsed


def workload(name: str) -> Workload:
    parsed: Workload = read(kinds.WORKLOADS, workload_body(ray_job(name), "QuotaReserved", "Admitted"))
    return parsed


SHARED: dict[str, tuple[Callable[[str], Any], Callable[[Any], object]]] = {
    "specs of RayJobs": (job, lambda obj: obj.spec),
    "specs of RayClusters": (cluster, lambda obj: obj.spec),
    "specs of Workloads": (workload, lambda obj: obj.spec),
    "admissions": (workload, lambda obj: obj.status.admission),
    "labels": (job, lambda obj: obj.metadata.labels),
    "annotations": (job, lambda obj: obj.metadata.annotations),
    "namespaces": (job, lambda obj: obj.metadata.namespace),
    "reasons of conditions": (workload, lambda obj: obj.status.conditions[0].reason),
    "messages of conditions": (workload, lambda obj: obj.status.conditions[0].message),
    "kinds of owners": (workload, lambda obj: obj.metadata.owner_references[0].kind),
}


@pytest.mark.parametrize("name", SHARED)
def test_equal_parts_of_two_objects_are_one(name: str) -> None:
    objects_of, part = SHARED[name]
    first, other = objects_of("one"), objects_of("other")
    assert first != other
    assert part(first), "there is something to share"
    assert part(first) is part(other)


def test_parts_that_differ_are_kept_apart() -> None:
    first, other = job("one"), job("other", backoffLimit=3)
    assert (first.spec.backoff_limit, other.spec.backoff_limit) == (None, 3)


def test_different_specs_with_the_same_hash_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "hash", lambda _: 1, raising=False)
    first, other = job("one"), job("other", backoffLimit=3)
    assert (first.spec.backoff_limit, other.spec.backoff_limit) == (None, 3)


def test_a_spec_without_objects_is_dropped() -> None:
    struct_count = len(sharing._STRUCTS)
    waiting_job = job("one", backoffLimit=17)
    assert len(sharing._STRUCTS) > struct_count
    del waiting_job
    gc.collect()
    assert len(sharing._STRUCTS) <= struct_count


def test_the_copy_of_the_object_that_kubectl_writes_is_left_out() -> None:
    body = ray_job("one")
    body["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "team": "research",
    }
    assert read(kinds.RAY_JOBS, stored(body)).metadata.annotations == {"team": "research"}


def test_a_waiting_job_that_repeats_others_needs_little_memory() -> None:
    """A RayJob and its Workload took 5.5 kB with a copy of each spec."""
    texts = [
        (kind, msgspec.json.encode(body))
        for number in range(PAIRS)
        for kind, body in (
            (kinds.RAY_JOBS, stored(ray_job(f"job-{number}"))),
            (kinds.WORKLOADS, workload_body(ray_job(f"job-{number}"))),
        )
    ]
    decoded: list[Any] = [kind.decoder.decode(text) for kind, text in texts[:2]]
    tracemalloc.start()
    try:
        decoded += [kind.decoder.decode(text) for kind, text in texts]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / PAIRS < PAIR_BYTES_MAX
