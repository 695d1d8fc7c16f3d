"""Gangs whose eviction has started."""

from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.meta import rfc3339
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    controlled_by,
    pod,
    workload_body,
)
from tests.unit.controller.passes.pass_cases import DEV

RUNS = ("QuotaReserved", "Admitted")


UID = f"uid-{DEV}"


def evicted(seconds_ago: int = 1, of: Body | None = None, *more: str) -> Body:
    body = workload_body(of or ray_job("dev"), *RUNS, "Evicted", *more)
    for told_before in body["status"]["conditions"]:
        if told_before["type"] == "Evicted":
            told_before["lastTransitionTime"] = rfc3339(NOW_MS - seconds_ago * 1000)
    return body


def gang_pod(name: str, owner: str = "dev-1", kind: Kind[Any] = kinds.RAY_CLUSTERS, **meta: Any) -> Body:
    body = pod(UID, name)
    body["metadata"] |= {"ownerReferences": [controlled_by(kind, owner)], **meta}
    return body
