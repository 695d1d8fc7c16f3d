"""Memory that is kept of large objects: at most their bytes, without unread fields."""

import gc
import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.api import Body
from tests.simulation.manifests import HEAD, ray_job
from tests.unit.controller.builders import stored, workload_body

pytestmark = pytest.mark.slow

OBJECTS, BYTES = 10, 500_000  # less than the caches in muster/objects may keep, in all
KEPT_OF_BYTES = 1.2
UNREAD_BYTES_MAX = 200_000


def text() -> str:
    return os.urandom(BYTES // 2).hex()


def small_entries() -> dict[str, str]:
    """Returns a map unlike all others: equal ones are shared."""
    prefix = os.urandom(2).hex()
    return {f"{prefix}{number:05x}": "" for number in range(BYTES // 15)}


def job(**spec: Any) -> Body:
    return stored(ray_job("dev", **spec))


def with_environment() -> Body:
    (container,) = HEAD["spec"]["containers"]
    return {"spec": {"containers": [{**container, "env": [{"name": "A", "value": text()}]}]}}


def with_head(**fields: Any) -> Body:
    cluster = ray_job("dev")["spec"]["rayClusterSpec"]
    return job(rayClusterSpec={**cluster, "headGroupSpec": {"template": HEAD, **fields}})


def workload() -> Body:
    body = workload_body(ray_job("dev"))
    pod_sets = [{"name": "head", "count": 1, "template": with_environment()}]
    return {**body, "spec": {**body["spec"], "podSets": pod_sets}}


def pod() -> Body:
    return stored({"metadata": {"name": "a", "namespace": "team-a"}, "spec": {"a": text()}})


READ: dict[str, tuple[Kind[Any], Callable[[], Body]]] = {
    "environment of a RayJob's head": (kinds.RAY_JOBS, lambda: with_head(template=with_environment())),
    "pod template of a Workload": (kinds.WORKLOADS, workload),
    "message of a RayJob's status": (kinds.RAY_JOBS, lambda: {**job(), "status": {"message": text()}}),
}
UNREAD: dict[str, tuple[Kind[Any], Callable[[], Body]]] = {
    "entrypoint": (kinds.RAY_JOBS, lambda: job(entrypoint=text())),
    "rayStartParams": (kinds.RAY_JOBS, lambda: with_head(rayStartParams=small_entries())),
    "clusterSelector": (kinds.RAY_JOBS, lambda: job(clusterSelector=small_entries())),
    "metadata of the submission": (kinds.RAY_JOBS, lambda: job(metadata=small_entries())),
    "spec of a pod": (kinds.PODS, pod),
}


def kept_bytes(kind: Kind[Any], make: Callable[[], Body]) -> int:
    messages = [msgspec.json.encode(make()) for _ in range(OBJECTS)]
    tracemalloc.start()
    views = [msgspec.json.decode(message, type=kind.view) for message in messages]
    gc.collect()
    current_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(views) == OBJECTS
    return current_bytes


@pytest.mark.parametrize("name", READ)
def test_an_object_takes_no_more_than_its_bytes(name: str) -> None:
    assert kept_bytes(*READ[name]) <= KEPT_OF_BYTES * OBJECTS * BYTES


@pytest.mark.parametrize("name", UNREAD)
def test_nothing_is_kept_of_fields_that_are_not_read(name: str) -> None:
    assert kept_bytes(*UNREAD[name]) <= UNREAD_BYTES_MAX
