"""Removal: what `pulumi destroy` deletes with a tenant's namespace, before it, and after it."""

from typing import Any

import pytest

from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import GOOD, put, with_engine

TENANT: dict[str, Any] = {
    **GOOD["muster:tenants"][0],
    "group": "team-a@example.com",
    "resourceQuota": {"pods": 100},
    "limits": {"default": {"cpu": 1}},
    "deviceClaims": {"gpu": {"deviceClass": "gpu.nvidia.com"}},
    "identity": {},
    "checkpoints": {"bucket": "acme-ml-team-a-checkpoints"},
    "serving": {"hosts": {"chat.example.com": "vllm"}, "iap": {"members": ["group:ml@example.com"]}},
}
NAMESPACE = "Namespace/team-a"
# Each is deleted before what it uses: the load balancer of a Gateway before its address.
DELETED_BEFORE = {
    "Gateway/team-a/serving",
    "GCPBackendPolicy/team-a/vllm",
    "HealthCheckPolicy/team-a/vllm",
    "HTTPRoute/team-a/chat.example.com",
}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    config = put("muster:tenants", 0, TENANT)
    groups = {"securityGroup": "gke-security-groups@example.com"}
    return declare_platform({**config, "muster:cluster": {**config["muster:cluster"], **groups}})


def test_objects_in_a_namespace_are_deleted_with_it(declared: Declarations) -> None:
    """Deleted before it, the claim would wait for the pods that mount it."""
    inside = {
        name: resource.deleted_with
        for name, resource in declared.items()
        if resource.inputs.get("metadata", {}).get("namespace") == "team-a"
    }
    assert inside.keys() >= {"PersistentVolumeClaim/team-a/checkpoints", *DELETED_BEFORE}
    assert inside == {name: "" if name in DELETED_BEFORE else NAMESPACE for name in inside}


def test_nothing_else_is_deleted_with_a_namespace(declared: Declarations) -> None:
    others = {
        name: resource.deleted_with
        for name, resource in declared.items()
        if not resource.type.startswith("muster:") and "namespace" not in resource.inputs.get("metadata", {})
    }
    assert set(others.values()) == {""}


def test_what_pods_use_is_deleted_after_their_namespace(declared: Declarations) -> None:
    """The volume is bound to the namespace's claim, and ending pods save checkpoints."""
    used = {"PersistentVolume/team-a-checkpoints", "IAMMember/team-a-ray-pods"}
    assert declared[NAMESPACE].depends_on >= used
    volume = declared["PersistentVolume/team-a-checkpoints"]
    assert volume.depends_on >= {"BucketIAMMember/team-a-checkpoints"}
    for name in (*used, *volume.depends_on):
        assert NAMESPACE not in declared[name].depends_on


QUEUES = {
    "muster": {"ClusterQueue/team-a", "Deployment/muster-controller"},
    "kueue": {"ClusterQueue/team-a", "Release/kueue"},
    "kai": {"Queue/team-a", "PriorityClass/muster-prod-priority", "Release/kai-scheduler"},
}


@pytest.mark.parametrize("engine", QUEUES)
def test_queues_and_their_controllers_are_deleted_after_the_namespaces(engine: str) -> None:
    assert declare_platform(with_engine(engine))[NAMESPACE].depends_on >= QUEUES[engine]
