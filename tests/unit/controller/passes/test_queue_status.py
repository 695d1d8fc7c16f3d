"""Statuses of queues and checks."""

from typing import Any

import pytest

from muster.kube import kinds
from tests.simulation.manifests import GPU, cluster_queue, local_queue, local_stack, quotas, ray_job
from tests.unit.controller.builders import Body, make_cluster, queue_statuses, stored, workload_body

CPU = quotas("cpu", cpu=1, gpu=0)
L4 = quotas("l4", cpu=16, gpu=4)
WAITS, RESERVED, RUNS, ENDED = (
    workload_body(ray_job("waits")),
    workload_body(ray_job("reserved", workers=1), "QuotaReserved"),
    workload_body(ray_job("runs", workers=3), "QuotaReserved", "Admitted"),
    workload_body(ray_job("ended"), "QuotaReserved", "Admitted", "Finished", finalizers=[]),
)


def statuses(objects: dict[Any, list[Body]]) -> dict[str, Body]:
    """Returns the statuses to write by `<kind> <key>`."""
    cluster = make_cluster(objects)
    steps = queue_statuses(cluster)
    assert all(s.write.status for s in steps)  # type: ignore[union-attr]  # all are MergePatches
    return {s.subject: s.write.body["status"] for s in steps}  # type: ignore[union-attr]


def test_counts_and_usage() -> None:
    queue = cluster_queue("team-a", CPU, L4)
    written = statuses(
        {kinds.CLUSTER_QUEUES: [queue], kinds.WORKLOADS: [WAITS, RESERVED, RUNS, ENDED]},
    )
    of_queue, of_local = written["ClusterQueue team-a"], written["LocalQueue team-a/user-queue"]
    for status in (of_queue, of_local):
        counts = [status[f"{name}Workloads"] for name in ("pending", "reserving", "admitted")]
        assert counts == [1, 2, 1]
    assert of_queue["flavorsReservation"] == [
        # two heads and two submitters on one core of cpu
        {
            "name": "cpu",
            "resources": [
                {"name": "cpu", "total": "4", "borrowed": "3"},
                {"name": GPU, "total": "0", "borrowed": "0"},
            ],
        },
        {
            "name": "l4",
            "resources": [
                {"name": "cpu", "total": "4", "borrowed": "0"},
                {"name": GPU, "total": "4", "borrowed": "0"},
            ],
        },
    ]
    used = {(f["name"], r["name"]): r["total"] for f in of_queue["flavorsUsage"] for r in f["resources"]}
    assert used == {("cpu", "cpu"): "2", ("cpu", GPU): "0", ("l4", "cpu"): "3", ("l4", GPU): "3"}
    assert of_local["flavorsUsage"] == [
        {"name": "cpu", "resources": [{"name": "cpu", "total": "2"}]},
        {"name": "l4", "resources": [{"name": "cpu", "total": "3"}, {"name": GPU, "total": "3"}]},
    ]


def test_resources_without_a_flavor_are_not_in_the_status() -> None:
    """Kueue with quotaCheckStrategy admits resources that no resource group covers; a flavor without
    a name would make the API server refuse the whole status."""
    body = workload_body(ray_job("runs", workers=3), "QuotaReserved", "Admitted")
    (_, workers, *_) = body["status"]["admission"]["podSetAssignments"]
    workers["resourceUsage"]["example.com/credits"] = "3"
    queue = cluster_queue("team-a", CPU, L4)
    written = statuses({kinds.CLUSTER_QUEUES: [queue], kinds.WORKLOADS: [body]})
    for status in (written["ClusterQueue team-a"], written["LocalQueue team-a/user-queue"]):
        assert [flavor["name"] for flavor in status["flavorsUsage"]] == ["cpu", "l4"]


def test_a_finished_gang_counts_until_its_pods_are_gone() -> None:
    queue = cluster_queue("team-a", CPU, L4)
    lingers = workload_body(ray_job("lingers", workers=3), "QuotaReserved", "Admitted", "Finished")
    written = statuses({kinds.CLUSTER_QUEUES: [queue], kinds.WORKLOADS: [ENDED, lingers]})
    for status in (written["ClusterQueue team-a"], written["LocalQueue team-a/user-queue"]):
        counts = [status[f"{name}Workloads"] for name in ("pending", "reserving", "admitted")]
        assert counts == [0, 1, 1]
        used = {(f["name"], r["name"]): r["total"] for f in status["flavorsUsage"] for r in f["resources"]}
        assert used["l4", GPU] == "3"


ACTIVE: dict[str, tuple[dict[Any, list[Body]], str]] = {
    "ready": ({}, "True Ready: Can admit new workloads"),
    "stopped": (
        {kinds.CLUSTER_QUEUES: [cluster_queue("team-a", L4, stopPolicy="Hold")]},
        "False Stopped: Stopped by its stopPolicy Hold",
    ),
    "no flavor": (
        {kinds.FLAVORS: []},
        "False FlavorNotFound: ResourceFlavors that do not exist: cpu, l4",
    ),
    "no check": (
        {kinds.CHECKS: []},
        "False AdmissionCheckNotFound: AdmissionChecks that do not exist: queued-provisioning",
    ),
    "a check without config": (
        {kinds.PROVISIONING_CONFIGS: []},
        "False AdmissionCheckInactive: AdmissionCheck queued-provisioning: ProvisioningRequestConfig "
        "'queued-provisioning' does not exist",
    ),
    "being deleted": (
        {
            kinds.CLUSTER_QUEUES: [
                stored(cluster_queue("team-a", L4), deletionTimestamp="2027-01-15T08:00:00Z")
            ]
        },
        "False Terminating: The ClusterQueue is being deleted",
    ),
}


@pytest.mark.parametrize("name", ACTIVE)
def test_whether_a_cluster_queue_is_active(name: str) -> None:
    objects, expected = ACTIVE[name]
    assert active(statuses(objects)["ClusterQueue team-a"]) == expected


LOCAL_ACTIVE: dict[str, tuple[dict[Any, list[Body]], str]] = {
    "ready": ({}, "True Ready: Can submit new workloads to localQueue"),
    "to nowhere": (
        {kinds.LOCAL_QUEUES: [local_queue("team-a", "team-c")]},
        "False ClusterQueueDoesNotExist: ClusterQueue team-c does not exist",
    ),
    "to an inactive ClusterQueue": (
        {kinds.FLAVORS: []},
        "False ClusterQueueIsInactive: ClusterQueue team-a can't admit workloads",
    ),
}


@pytest.mark.parametrize("name", LOCAL_ACTIVE)
def test_whether_a_local_queue_is_active(name: str) -> None:
    objects, expected = LOCAL_ACTIVE[name]
    assert active(statuses(objects)["LocalQueue team-a/user-queue"]) == expected


def active(status: Body) -> str:
    (condition,) = status["conditions"]
    return f"{condition['status']} {condition['reason']}: {condition['message']}"


def test_whether_a_check_is_active() -> None:
    check = "AdmissionCheck queued-provisioning"
    assert active(statuses({})[check]) == "True Active: The admission check is active"
    missing = "ProvisioningRequestConfig 'queued-provisioning' does not exist"
    assert active(statuses({kinds.PROVISIONING_CONFIGS: []})[check]) == f"False BadParametersRef: {missing}"
    (declared,) = local_stack()[kinds.CHECKS]
    nameless = {**declared, "spec": {"controllerName": declared["spec"]["controllerName"]}}
    unnamed = "spec.parameters must refer to a ProvisioningRequestConfig"
    assert active(statuses({kinds.CHECKS: [nameless]})[check]) == f"False BadParametersRef: {unnamed}"


def test_checks_of_other_controllers_are_left_alone() -> None:
    (declared,) = local_stack()[kinds.CHECKS]
    foreign = {**declared, "spec": {**declared["spec"], "controllerName": "example.com/checks"}}
    assert "AdmissionCheck queued-provisioning" not in statuses({kinds.CHECKS: [foreign]})


def test_an_unchanged_status_is_not_written_again() -> None:
    objects: dict[Any, list[Body]] = {kinds.CLUSTER_QUEUES: [cluster_queue("team-a", CPU, L4)]}
    first = statuses(objects)["ClusterQueue team-a"]
    objects[kinds.CLUSTER_QUEUES][0]["status"] = first
    assert "ClusterQueue team-a" not in statuses(objects)
