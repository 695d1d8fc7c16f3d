"""Bounds of what a Ray object makes KubeRay do, by stack local's policies, asked by a team."""

import copy
import json
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.kubectl import Kubectl
from tests.stacks.dry_runs import Manifest, Target
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    outside_queues,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    refused_patch,
    unqueued,
)
from tests.stacks.worker_groups import group

Groups = list[dict[str, Any]]
MAX = 5000  # the default of muster:admission.maxPods
WORKERS, GROWTH = f"has at most {MAX} workers", f"grows to at most {MAX} workers"
NEGATIVE = "numOfHosts"  # of a queued one, another policy may speak first
PATHS = {"rayjob": "rayClusterSpec", "raycluster": "", "rayservice": "rayClusterConfig", "unqueued": ""}
MAKERS = {"rayjob": rayjob, "raycluster": raycluster, "rayservice": rayservice, "unqueued": unqueued}


def cluster_spec(manifest: Manifest, kind: str) -> dict[str, Any]:
    spec: dict[str, Any] = manifest["spec"][PATHS[kind]] if PATHS[kind] else manifest["spec"]
    return spec


def with_groups(kind: str, groups: Groups) -> Manifest:
    manifest = copy.deepcopy(MAKERS[kind]())
    cluster_spec(manifest, kind)["workerGroupSpecs"] = groups
    return manifest


def sized(**sizes: int) -> Groups:
    return [group("a", **sizes)]


def default_maximum(**sizes: int) -> Groups:
    (only,) = sized(**sizes)
    del only["maxReplicas"]
    return [only]


# The number, the largest that the schema takes, and products and sums that overflow int32 or int64.
GROUPS: dict[str, tuple[Groups, str]] = {
    "60 million replicas": (sized(replicas=60_000_000, maxReplicas=60_000_000), WORKERS),
    "60 million replicas of an unset maximum": (default_maximum(replicas=60_000_000), WORKERS),
    "replicas that the maximum cuts for pods, not for KubeRay's list": (sized(replicas=60_000_000), WORKERS),
    "the largest number": (default_maximum(replicas=2**31 - 1), WORKERS),
    "a minimum": (default_maximum(replicas=0, minReplicas=60_000_000), WORKERS),
    "a maximum": (sized(replicas=0, minReplicas=0, maxReplicas=60_000_000), GROWTH),
    "a maximum and hosts": (sized(replicas=0, minReplicas=0, maxReplicas=2, numOfHosts=MAX), GROWTH),
    "hosts": (sized(replicas=0, minReplicas=0, maxReplicas=0, numOfHosts=2**31 - 1), WORKERS),
    "hosts of few replicas": (sized(replicas=2, maxReplicas=2, numOfHosts=2**30), WORKERS),
    "a product that is 0 in int32": (
        default_maximum(replicas=2**16, minReplicas=0, numOfHosts=2**16),
        WORKERS,
    ),
    "a sum over int64": (
        [*default_maximum(replicas=2**31 - 1, numOfHosts=2**31 - 1), group("b"), group("c")]
        + [{**default_maximum(replicas=2**31 - 1, numOfHosts=2**31 - 1)[0], "groupName": n} for n in "defg"],
        WORKERS,
    ),
    "a sum of groups": ([group(f"g{i}", replicas=600, maxReplicas=600) for i in range(10)], WORKERS),
    "one more than allowed": (sized(replicas=MAX + 1, maxReplicas=MAX + 1), WORKERS),
    "a suspended group": ([{**group("a", replicas=MAX + 1, maxReplicas=MAX + 1), "suspend": True}], WORKERS),
    "as many as allowed": (sized(replicas=MAX, maxReplicas=MAX), ""),
    "the default maximum": (default_maximum(replicas=2), ""),
    "the default maximum, written out": (sized(maxReplicas=2**31 - 1), ""),
    "negative hosts next to many pods": (
        [
            group("a", replicas=9000, maxReplicas=9000),
            group("b", replicas=9000, maxReplicas=9000, numOfHosts=-1),
        ],
        NEGATIVE,
    ),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", GROUPS)
def test_sizes_are_bounded_at_creation(server: Kubectl, kind: str, name: str) -> None:
    groups, message = GROUPS[name]
    error = refusal(server, ALICE, with_groups(kind, groups))
    assert message in error
    assert bool(error) is bool(message)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param(1001, "workersToDelete of a Ray", id="too many"),
        pytest.param(1000, "", id="as many as allowed"),
    ],
)
def test_workers_to_delete_are_bounded_outside_of_queues(
    server: Kubectl, kind: str, names: int, message: str
) -> None:
    """A queued object has none (tests/stacks/test_ray_fields.py: refused)."""
    strategy = {"workersToDelete": [f"w{i}" for i in range(names)]}
    manifest = with_groups(kind, [{**group("a"), "scaleStrategy": strategy}])
    manifest["metadata"].pop("labels", None)
    answer = refusal(server, ALICE, manifest)
    assert message in answer
    assert bool(answer) is bool(message)


def test_administrators_are_bounded_at_creation_too(server: Kubectl) -> None:
    """A mistake of theirs would stop KubeRay for everyone just the same."""
    manifest = with_groups("unqueued", default_maximum(replicas=60_000_000))
    manifest["metadata"]["namespace"] = "default"
    assert WORKERS in refusal(server, ADMIN, manifest)


def ports(count: int) -> list[dict[str, Any]]:
    return [{"name": f"p{i}", "containerPort": 10_000 + i} for i in range(count)]


class Lists(NamedTuple):
    """A list of `length` entries at a place of an unqueued RayCluster or RayService."""

    kind: str
    place: str
    length: int
    message: str


LISTS = {
    "worker groups": Lists("unqueued", "groups", 101, "has at most 100 worker groups"),
    "as many worker groups as allowed": Lists("unqueued", "groups", 100, ""),
    "ports of the head": Lists("unqueued", "head", 101, "at most 100 ports each"),
    "as many ports of the head as allowed": Lists("unqueued", "head", 100, ""),
    "ports of the head's Service": Lists("unqueued", "headService", 101, "at most 100 ports each"),
    "ports of Serve's Service": Lists("rayservice", "serveService", 101, "at most 100 ports each"),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_kuberay_works_through_are_bounded(server: Kubectl, name: str) -> None:
    case = LISTS[name]
    manifest = copy.deepcopy(MAKERS[case.kind]())
    spec = cluster_spec(manifest, case.kind)
    service = {
        "spec": {"ports": [{"name": p["name"], "port": p["containerPort"]} for p in ports(case.length)]}
    }
    if case.place == "groups":
        spec["workerGroupSpecs"] = [group(f"g{i}") for i in range(case.length)]
    elif case.place == "head":
        spec["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"] = ports(case.length)
    elif case.place == "headService":
        spec["headGroupSpec"]["headService"] = service
    else:
        manifest["spec"]["serveService"] = service
    error = refusal(server, ALICE, manifest)
    assert case.message in error
    assert bool(error) is bool(case.message)


def test_deletion_rules_of_a_rayjob_are_bounded(server: Kubectl) -> None:
    job = outside_queues(rayjob())
    rule = {"policy": "DeleteWorkers", "condition": {"jobStatus": "FAILED"}}
    job["spec"]["deletionStrategy"] = {"deletionRules": [rule] * 101}
    assert "has at most 100 deletionRules" in refusal(server, ALICE, job)


LARGER = [{"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": 60_000_000}]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param(LARGER, WORKERS, id="replicas"),
        pytest.param({"metadata": {"annotations": {"note": "mine"}}}, "", id="metadata alone"),
        pytest.param({"metadata": {"finalizers": None}}, "", id="a finalizer removed"),
    ],
)
def test_updates_are_bounded_where_they_change_the_spec(
    server: Kubectl, oversized: str, patch: Any, message: str
) -> None:
    """`oversized` is from before the policy: its owner can still let it be deleted."""
    error = refused_patch(server, ALICE, Target("ray.io/v1", "RayCluster", oversized, "team-a"), patch)
    assert message in error
    assert bool(error) is bool(message)


@pytest.fixture(scope="module")
def oversized(server: Kubectl) -> str:
    """A RayCluster that is larger than allowed, with a finalizer; administrators may enlarge it."""
    manifest = unqueued("oversized")
    manifest["metadata"]["finalizers"] = ["example.com/mine"]
    server.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    larger = [{"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": MAX + 1}]
    server.run(
        "patch", "raycluster/oversized", "--namespace=team-a", "--type=json", f"--patch={json.dumps(larger)}"
    )
    return "oversized"
