"""Likely mistakes, of which a stack's preview warns: what runs badly, or has hardly an effect."""

from typing import Any

import pytest

from settings.load import parse, warnings
from tests.unit.settings.builders import (
    EXISTING,
    FILE,
    GOOD,
    GPU_HOURS,
    L4,
    TEAM_A,
    put,
    section,
    tenant,
    with_kueue,
)


def waiting(timeout_s: int) -> dict[str, Any]:
    return section("muster:controller", waitForPodsReady={"timeoutSeconds": timeout_s})


WARNED: dict[str, tuple[dict[str, Any], str]] = {
    "a queue without a local queue": (
        put("muster:queues", "clusterQueues", 1, {"name": "idle", "quotas": {"cpu": {"cpu": 1}}}),
        "no tenant's `queues` name it",
    ),
    "GPUs that no queue has quota of": (
        put(*TEAM_A, "quotas", "l4", None),
        "no queue or cohort has quota of flavor l4, so no queued job runs on these 10 nodes",
    ),
    "an empty cohort": (put("muster:queues", "cohorts", 1, {"name": "idle"}), "so it shares nothing"),
    "a budget beyond all devices": (
        put(*TEAM_A, "budgets", [{**GPU_HOURS, "hours": 100_000}]),
        "the 10 nvidia.com/gpu of the stack's pools have only 7440 hours",
    ),
    "pods that must be ready at once": (waiting(10), "most would be evicted before"),
    "nodes of a minute": (put("muster:pools", 0, "maxRunSeconds", 60), "nodes stop 60 seconds after"),
    "requests of a minute": (
        section("muster:admission", queuedProvisioning={"maxRunSeconds": 60}),
        "nodes stop 60 seconds after",
    ),
    "huge pages that the series lacks": (
        put(*L4, "linux", {"hugepages": {"1Gi": 2}}),
        "g2 machines were not known to have pages of 1 GiB",
    ),
    "a quota of limits without defaults": (
        tenant(resourceQuota={"limits.cpu": 100}),
        "Kubernetes refuses pods with a container that has no limit of cpu",
    ),
    "a group of another domain": (
        {
            **tenant(group="team-a@other.example"),
            "muster:cluster": {
                **GOOD["muster:cluster"],
                "securityGroup": "gke-security-groups@acme.example",
            },
        },
        "the team has no access unless its group is nested",
    ),
    "usage that no queue shares": (
        with_kueue(admissionFairSharing={"usageHalfLifeSeconds": 60}),
        "no cluster queue has `admissionFairSharing: true`",
    ),
    "pods that must be ready at once, with Kueue": (
        with_kueue(waitForPodsReady={"timeoutSeconds": 10}),
        "most would be evicted before",
    ),
    "a machine type of another size": (
        section("muster:machineTypes", **{"e2-standard-4": {"vcpus": 64, "memoryGib": 256}}),
        "it had 4 vCPUs and 16 GiB on",
    ),
    "devices outside the queues without a bound": (
        tenant(unqueued=[{"kind": "Pod", "name": "notebook"}]),
        "no queue counts their devices",
    ),
    "checkpoints on another continent": (
        tenant(identity={}, checkpoints={"bucket": "acme-ml-checkpoints", "location": "EU"}),
        "every checkpoint is sent there and back",
    ),
    "checkpoints that are deleted while their job runs": (
        tenant(identity={}, checkpoints={"bucket": "acme-ml-checkpoints", "deleteAfterDays": 1}),
        "a job may run on a node for 7 days",
    ),
    "two names of one priority": (
        section("muster:admission", priorities={"prod": 1000, "batch": 100, "night": 100}),
        "batch has the same value",
    ),
    "a controller next to Kueue": (
        {**with_kueue(), "muster:controller": GOOD["muster:controller"]},
        "engine kueue admits jobs, so the stack has no controller",
    ),
    "a threshold below all priorities": (
        put(
            *TEAM_A,
            "preemption",
            "borrowWithinCohort",
            {"policy": "LowerPriority", "maxPriorityThreshold": -1},
        ),
        "every job has a higher priority, at least 0",
    ),
    "no GPU for a container": (
        tenant(limits={"max": {"nvidia.com/gpu": 0}}),
        "no worker may have a device of flavor l4",
    ),
    "a trace of one machine": (
        section("muster:forecast", trace="/home/me/trace.csv"),
        "an absolute path: forecasts fail on other machines",
    ),
    "a minimum run time without preemption": (
        {
            **put(*TEAM_A, "preemption", None),
            "muster:controller": {**GOOD["muster:controller"], "rules": {"minimumRunSeconds": 60}},
        },
        "no cluster queue has `preemption`",
    ),
    "a JobSet of the future": (
        section("muster:jobset", install="helm", version="0.12.0"),
        "the newest JobSet",
    ),
    "an old LeaderWorkerSet": (
        section("muster:lws", install="helm", version="0.7.0"),
        "the oldest LeaderWorkerSet",
    ),
    "fewer RayClusters than RayJobs": (
        tenant(resourceQuota={"count/rayclusters.ray.io": 10}),
        "KubeRay creates a RayCluster for each RayJob, of which there may be 5000",
    ),
    "an API server that no head reaches": (
        {**GOOD, "muster:cluster": {**EXISTING, "gke": {"location": "us-west1-b"}}},
        "NetworkPolicies keep Ray's autoscaler from a private address",
    ),
    "a bound below a head": (
        tenant(limits={"max": {"memory": "1Gi"}}),
        "Kubernetes refuses a head of 1 CPU and 2Gi",
    ),
    "callers of another organization": (
        {
            **tenant(
                serving={"hosts": {"m.acme-ml.com": "m"}, "iap": {"members": ["user:jo@other.example"]}}
            ),
            "muster:cluster": {
                **GOOD["muster:cluster"],
                "gatewayApi": True,
                "securityGroup": "gke-security-groups@acme.example",
            },
        },
        "people outside the organization may call",
    ),
    "quotas below a RayJob": (
        {
            **put("muster:queues", "clusterQueues", 1, {"name": "cpu", "quotas": {"cpu": {"cpu": "300m"}}}),
            "muster:tenants": [
                {"namespace": "team-a", "queues": {"user-queue": "team-a", "cpu": "cpu"}},
            ],
        },
        "no RayJob fits: its submitter alone requests 500m",
    ),
    "a KubeRay of the future": (section("muster:kuberay", version="1.8.0"), "the newest KubeRay"),
    "a Kueue of the future": (section("muster:kueue", version="0.20.0"), "the newest Kueue"),
}


@pytest.mark.parametrize(("config", "why"), WARNED.values(), ids=WARNED)
def test_likely_mistakes_are_warned_of(config: dict[str, Any], why: str) -> None:
    assert sum(why in text for text in warnings(parse(config, FILE))) == 1
    assert why not in "".join(warnings(parse(GOOD, FILE)))


QUIET: dict[str, dict[str, Any]] = {
    "GPUs that only a cohort has quota of": {
        **GOOD,
        "muster:queues": {
            **put(*TEAM_A, "quotas", "l4", {"cpu": 0, "memory": 0, "nvidia.com/gpu": 0})["muster:queues"],
            "cohorts": [{"name": "ml", "quotas": {"l4": {"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 4}}}],
        },
    },
    "a quota of limits with defaults": tenant(
        resourceQuota={"limits.cpu": 100}, limits={"default": {"cpu": 1}}
    ),
    "devices outside the queues with a bound": tenant(
        unqueued=[{"kind": "Pod", "name": "notebook"}], resourceQuota={"requests.nvidia.com/gpu": 4}
    ),
    "checkpoints around the cluster": tenant(
        identity={}, checkpoints={"bucket": "acme-ml-checkpoints", "location": "US"}
    ),
    "checkpoints that outlive their job": tenant(
        identity={}, checkpoints={"bucket": "acme-ml-checkpoints", "deleteAfterDays": 7}
    ),
    "pods that have five minutes": waiting(300),
    "a later patch of KubeRay": section("muster:kuberay", version="1.7.3"),
    "a later patch of Kueue": section("muster:kueue", version="0.19.9"),
}


@pytest.mark.parametrize("config", QUIET.values(), ids=QUIET)
def test_usual_settings_are_not_warned_of(config: dict[str, Any]) -> None:
    assert warnings(parse(config, FILE)) == warnings(parse(GOOD, FILE))
