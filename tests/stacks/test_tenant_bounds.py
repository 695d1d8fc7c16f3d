"""Bounds of a tenant's namespace on the API server: the number of Ray objects, and the storage of claims."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from settings.model.base import amount
from settings.model.tenants.tenant import JOB_OBJECTS
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest
from tests.stacks.job_requests import batch_job, cron_job, job_set, leader_worker_set
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    ray_cron_job,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    unqueued,
)

RAY: dict[str, Callable[[], Manifest]] = {
    "rayjobs.ray.io": rayjob,
    "rayclusters.ray.io": raycluster,
    "rayservices.ray.io": rayservice,
}
MAKERS: dict[str, Callable[[], Manifest]] = {
    **RAY,
    "raycronjobs.ray.io": ray_cron_job,
    "jobs.batch": batch_job,
    "cronjobs.batch": cron_job,
    "jobsets.jobset.x-k8s.io": job_set,
    "leaderworkersets.leaderworkerset.x-k8s.io": leader_worker_set,
}
IN_TEAM_A = "--namespace=team-a"
WITHOUT_CLAIMS = "team-a-unclaimed"


def quota(server: Kubectl, name: str) -> dict[str, dict[str, str]]:
    """Returns the status of a ResourceQuota of team-a."""
    text = server.run("get", "resourcequota", name, IN_TEAM_A, "-o", "json")
    status: dict[str, dict[str, str]] = json.loads(text).get("status", {})
    return status


def used(server: Kubectl, key: str) -> int:
    return int(amount(quota(server, "team-quota")["used"][key]))


def test_ray_objects_are_bounded_by_default(server: Kubectl) -> None:
    """The bound of each kind is declared, and Kubernetes counts its objects."""
    status = quota(server, "team-quota")
    assert {key: amount(status["hard"][key]) for key in JOB_OBJECTS} == {
        key: amount(bound) for key, bound in JOB_OBJECTS.items()
    }
    created = ("rayjobs.ray.io", "rayclusters.ray.io", "rayservices.ray.io", "jobs.batch")
    wait_until(
        "the count", lambda: all(used(server, f"count/{kind}") for kind in created), EFFECT_SECONDS_MAX
    )


@pytest.fixture
def exhausted(server: Kubectl) -> Iterator[str]:
    """A ResourceQuota of team-a that has no room for another Ray object, as if the tenant had used it up."""
    hard = ",".join(f"{key}=0" for key in JOB_OBJECTS)
    server.run("create", "quota", "exhausted", IN_TEAM_A, f"--hard={hard}")
    wait_until("the quota", lambda: "exceeded quota" in refusal(server, ALICE, rayjob()), EFFECT_SECONDS_MAX)
    yield "exhausted"
    server.run("delete", "quota", "exhausted", IN_TEAM_A)


@pytest.mark.parametrize("resource", MAKERS)
def test_more_ray_objects_than_the_bound_are_refused(server: Kubectl, exhausted: str, resource: str) -> None:
    """The message names the quota, the kind, how many there are, and how many there may be."""
    answer = refusal(server, ALICE, MAKERS[resource]())
    key = f"count/{resource}"
    assert f"exceeded quota: {exhausted}, requested: {key}=1, used: {key}=" in answer
    assert f"limited: {key}=0" in answer


def test_the_bound_holds_outside_of_queues_too(server: Kubectl, exhausted: str) -> None:
    assert f"exceeded quota: {exhausted}" in refusal(server, ALICE, unqueued())


def ephemeral(size: str) -> dict[str, Any]:
    request = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": request}}}


def scratch_pod(name: str, size: str) -> Manifest:
    resources = {"requests": {"cpu": "1m"}, "limits": {"cpu": "1m"}}
    container = {"name": "ray", "image": "ray", "resources": resources}
    spec = {"containers": [container], "volumes": [ephemeral(size)]}
    metadata = {"name": name, "namespace": "team-a"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


REFUSED_CLAIM = "exceeded quota: team-quota, requested: requests.storage=11Gi"


def messages(server: Kubectl) -> str:
    return server.run("get", "events", IN_TEAM_A, "-o", "jsonpath={.items[*].message}")


def test_claims_of_ephemeral_volumes_count_against_the_storage_of_the_tenant(server: Kubectl) -> None:
    """Stack local's team-a may request 10Gi."""
    server.create([scratch_pod("small", "1Gi"), scratch_pod("large", "11Gi")])
    try:
        wait_until("the claim", lambda: "small-scratch" in server.run("get", "pvc", IN_TEAM_A), 30.0)
        wait_until("its storage", lambda: used(server, "requests.storage") == 2**30, 30.0)
        wait_until("the refusal", lambda: REFUSED_CLAIM in messages(server), 30.0)
        assert "large-scratch" not in server.run("get", "pvc", IN_TEAM_A)
    finally:
        server.run("delete", "pod", "small", "large", IN_TEAM_A, "--force", "--grace-period=0")


def in_head(manifest: Manifest) -> list[Any]:
    spec = manifest["spec"]
    cluster = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    volumes: list[Any] = cluster["headGroupSpec"]["template"]["spec"].setdefault("volumes", [])
    return volumes


def in_workers(manifest: Manifest) -> list[Any]:
    spec = manifest["spec"]
    cluster = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    volumes: list[Any] = cluster["workerGroupSpecs"][0]["template"]["spec"].setdefault("volumes", [])
    return volumes


@pytest.mark.parametrize("place", [in_head, in_workers])
@pytest.mark.parametrize("make", [*RAY.values(), unqueued])
def test_ephemeral_volumes_need_a_tenant_with_storage(
    server: Kubectl, make: Callable[[], Manifest], place: Callable[[Manifest], list[Any]]
) -> None:
    manifest = copy.deepcopy(make())
    place(manifest).append(ephemeral("1Gi"))
    assert refusal(server, ADMIN, manifest) == ""
    manifest["metadata"]["namespace"] = WITHOUT_CLAIMS
    assert "administrators create PersistentVolumeClaims" in refusal(server, ADMIN, manifest)
    place(manifest)[-1] = {"name": "scratch", "emptyDir": {}}
    assert refusal(server, ADMIN, manifest) == ""
