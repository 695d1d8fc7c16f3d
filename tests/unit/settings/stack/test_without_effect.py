"""Careless mistakes: keys without an effect, bounds that let nothing run, and limits of an API."""

from typing import Any

import pytest

from settings.load import SettingsError, parse
from tests.unit.settings.builders import (
    FILE,
    GOOD,
    GPU_HOURS,
    L4,
    TEAM_A,
    put,
    section,
    tenant,
    with_engine,
    with_kueue,
)

NETWORK = {"name": "ray"}
A3 = {"machineType": "a3-highgpu-8g", "zones": ["us-west1-a"], "nodes": {"max": 2}}
H100 = {"type": "nvidia-h100-80gb", "count": 8}
LEVELS = ["cloud.google.com/gce-topology-block", "kubernetes.io/hostname"]
UPGRADE = ("muster:pools", 0, "upgrade")
BORROWING = {"policy": "LowerPriority"}


def two_queues() -> dict[str, Any]:
    """Returns a stack whose second queue has CPUs only."""
    config = put("muster:queues", "clusterQueues", 1, {"name": "cpu", "quotas": {"cpu": {"cpu": 1}}})
    config["muster:tenants"][0]["queues"]["cpu"] = "cpu"
    return config


def budget_of_cpu_queue(**values: Any) -> dict[str, Any]:
    config = two_queues()
    config["muster:queues"]["clusterQueues"][1]["budgets"] = [{**GPU_HOURS, **values}]
    return config


def levels_without_gate() -> dict[str, Any]:
    controller = {**GOOD["muster:controller"], "featureGates": {"TopologyAwareScheduling": False}}
    return {**put(*L4, "topology", LEVELS), "muster:controller": controller}


def observed(**cluster: Any) -> dict[str, Any]:
    return {**section("muster:cluster", **cluster), "muster:observability": {}, "muster:network": NETWORK}


def fair(**borrowing: Any) -> dict[str, Any]:
    controller = {**GOOD["muster:controller"], "fairSharing": {}}
    return {**put(*TEAM_A, "preemption", "borrowWithinCohort", borrowing), "muster:controller": controller}


def without_cohort() -> dict[str, Any]:
    config = put(*TEAM_A, "cohort", None)
    del config["muster:queues"]["clusterQueues"][0]["quotas"]["l4"]["nvidia.com/gpu"]["borrowingLimit"]
    return {**config, "muster:queues": {**config["muster:queues"], "cohorts": []}}


def forecast(**values: Any) -> dict[str, Any]:
    return section("muster:forecast", **values)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a blue-green upgrade with a surge": (
        put(*UPGRADE, {"strategy": "blue-green", "maxSurge": 2}),
        "no `maxSurge`: strategy blue-green does not use it",
    ),
    "a surge upgrade that soaks": (put(*UPGRADE, {"soakSeconds": 60}), "no `soakSeconds`: strategy surge"),
    "21 nodes that are upgraded at a time": (
        put(*UPGRADE, {"maxSurge": 11, "maxUnavailable": 10}),
        "at most 20 together",
    ),
    "the same object twice": (
        tenant(
            unqueued=[
                {"kind": "Pod", "name": "a"},
                {"kind": "Job", "name": "a"},
                {"kind": "Pod", "name": "a"},
            ]
        ),
        "each value once",
    ),
    "a priority of a ComputeClass twice": (
        put(
            *L4,
            {**GOOD["muster:pools"][1], "provisioning": "on-demand"}
            | {"computeClass": {"priorities": [{"provisioning": "spot"}, {"provisioning": "spot"}]}},
        ),
        "each value once",
    ),
    "backups that expire before the next": (
        section("muster:cluster", backup={"rpoMinutes": 4320, "retainDays": 2}),
        "at least 3, the time of rpoMinutes",
    ),
    "alerts of idle GPUs without their metrics": (observed(metrics=["pod"]), "a list with dcgm"),
    "GPUDirect of partitioned GPUs": (
        put(*L4, {"name": "l4", **A3, "gpu": {**H100, "partition": "1g.10gb"}, "gpudirect": "tcpx"})
        | {"muster:network": NETWORK},
        "these GPUs are partitioned or shared",
    ),
    "a level that no node has": (
        put(*L4, "topology", ["example.com/rack", "kubernetes.io/hostname"]),
        "a label of this pool's nodes",
    ),
    "levels without their feature gate": (levels_without_gate(), "turns TopologyAwareScheduling off"),
    "a threshold without its policy": (
        put(*TEAM_A, "preemption", "borrowWithinCohort", {"maxPriorityThreshold": 10}),
        "with Never, `maxPriorityThreshold` has no effect",
    ),
    "preemption to borrow with fair sharing": (fair(**BORROWING), "shares decide what a gang that borrows"),
    "a budget of another queue's resource": (budget_of_cpu_queue(), "a resource in the quotas of queue cpu"),
    "a budget of another queue's flavor": (
        budget_of_cpu_queue(resource="cpu", flavor="l4"),
        "a flavor in which queue cpu has quota of cpu: cpu",
    ),
    "two budgets of one period": (
        put(*TEAM_A, "budgets", [GPU_HOURS, {**GPU_HOURS, "hours": 200}]),
        "one budget of nvidia.com/gpu for this period",
    ),
    "a host that is an address": (
        tenant(identity={}, serving={"hosts": {"10.0.0.1": "vllm"}, "iap": {"members": ["user:a@b.co"]}}),
        "for which a certificate can be issued",
    ),
    "warnings about what is refused anyway": (
        tenant(podSecurity={"enforce": "restricted", "warn": "baseline"}),
        "warn of restricted or stricter",
    ),
    "33 devices in a claim": (
        tenant(deviceClaims={"gpus": {"deviceClass": "gpu.nvidia.com", "count": 33}}),
        "32 or less",
    ),
    "a ResourceQuota of two pods": (tenant(resourceQuota={"pods": 2}), "at least 3, the pods of"),
    "a LimitRange below any gang": (
        tenant(limits={"max": {"memory": "64Mi"}}),
        "bounds within which a gang of its queues runs",
    ),
    "a controller of 32 MiB": (
        section(
            "muster:controller",
            resources={"requests": {"cpu": 1, "memory": "32Mi"}, "limits": {"cpu": 1, "memory": "32Mi"}},
        ),
        "limits.memory of at least 64Mi",
    ),
    "an excluded resource that has quota": (
        with_kueue(excludeResourcePrefixes=["nvidia.com/"]),
        "nvidia.com/gpu would not be counted",
    ),
    "a transformation into itself": (
        with_kueue(transformations=[{"input": "cpu", "outputs": {"cpu": 2}}]),
        "another resource than the input",
    ),
    "a transformation into a resource without quota": (
        with_kueue(transformations=[{"input": "nvidia.com/mig-1g.5gb", "outputs": {"acme.com/slices": 1}}]),
        "without it, no gang with the input is admitted",
    ),
    "two transformations of one input": (
        with_kueue(
            transformations=[
                {"input": "acme.com/slices", "outputs": {"cpu": 1}},
                {"input": "acme.com/slices", "outputs": {"cpu": 2}},
            ]
        ),
        "a unique input",
    ),
    "quota that no other queue borrows, reclaimed": (without_cohort(), "the queue is in no cohort"),
    "metrics that nothing may scrape": (
        {**observed(), "muster:controller": {**GOOD["muster:controller"], "metricsFrom": ["monitoring"]}},
        "a list with gmp-system or gke-gmp-system",
    ),
    "two managers of a driver": (
        section("muster:gpuOperator", install="existing"),
        "disabled: the GPU Operator",
    ),
    "egress of a tenant that is not isolated": (
        tenant(network={"isolated": False, "egress": "none"}),
        "there is no NetworkPolicy",
    ),
    "a probability of 2": (forecast(assumptions={"stock_out_probability": 2}), "from 0 to 1"),
    "two limits of one statistic": (
        forecast(limits=[{"queue": "team-a", "maxMinutes": 5}, {"queue": "team-a", "maxMinutes": 50}]),
        "one limit of p90 for this queue and priority",
    ),
    "a registry with a scheme": (
        {**with_engine("kai"), "muster:kai": {"registry": "https://registry.example/kai"}},
        "without a scheme",
    ),
    "a region that is not the cluster's": ({**GOOD, "gcp:region": "us-west2"}, "a place in us-west1"),
    "a zone that is not the cluster's": ({**GOOD, "gcp:zone": "us-west2-a"}, "a place in us-west1"),
}


@pytest.mark.parametrize(("config", "expected"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_refused(config: dict[str, Any], expected: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    (problem,) = refused.value.problems
    assert expected in problem.expected


ACCEPTED: dict[str, dict[str, Any]] = {
    "the cluster's region": {**GOOD, "gcp:region": "us-west1"},
    "a zone of the cluster's region": {**GOOD, "gcp:zone": "us-west1-c"},
    "20 nodes at a time": put(*UPGRADE, {"maxSurge": 10, "maxUnavailable": 10}),
    "budgets of two enforcements": put(
        *TEAM_A, "budgets", [GPU_HOURS, {**GPU_HOURS, "hours": 50, "enforcement": "warn"}]
    ),
    "a level of the pool's labels": put(
        *L4,
        {**GOOD["muster:pools"][1], "topology": ["example.com/rack"], "labels": {"example.com/rack": "a"}},
    ),
    "an excluded resource without quota": with_kueue(excludeResourcePrefixes=["acme.com/"]),
    "shares within two times": forecast(
        limits=[
            {"queue": "team-a", "statistic": "within", "maxMinutes": 60, "minPercent": 50},
            {"queue": "team-a", "statistic": "within", "maxMinutes": 600, "minPercent": 90},
        ]
    ),
    "a driver that only the operator manages": {
        **put(*L4, "gpu", "driver", "disabled"),
        "muster:gpuOperator": {"install": "existing"},
    },
    "stricter warnings": tenant(podSecurity={"enforce": "baseline", "warn": "restricted"}),
}


@pytest.mark.parametrize("config", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_meant_is_accepted(config: dict[str, Any]) -> None:
    parse(config, FILE)
