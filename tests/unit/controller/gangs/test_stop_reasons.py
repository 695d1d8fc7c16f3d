"""The reason that a job is stopped, and the status of a Workload without quota."""

import pytest
from msgspec.structs import replace

from muster.controller.gangs.stops import stops
from muster.controller.passes.status_writes import status_patch
from muster.kube import kinds
from muster.kube.writes import MergePatch, Overwrite
from muster.objects.meta import Condition
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import NOW_MS, Body, make_cluster, read, stored, workload, workload_body

WHY: dict[str, tuple[Condition | None, str]] = {
    "it is evicted": (Condition("Evicted", "True", "Preempted", "Preempted by prod"), "Preempted by prod"),
    "it was evicted once": (
        Condition("Evicted", "False", "QuotaReserved", "Previously: Preempted by prod"),
        "It has no quota but was not suspended",
    ),
    "it never had quota": (None, "It has no quota but was not suspended"),
}


@pytest.mark.parametrize("name", WHY)
def test_the_event_of_a_stop_has_its_reason(name: str) -> None:
    condition, expected = WHY[name]
    body = workload_body(ray_job("dev"))
    running = stored({**ray_job("dev", suspend=False), "status": {"jobDeploymentStatus": "Running"}})
    cluster = make_cluster({kinds.RAY_JOBS: [running], kinds.WORKLOADS: [body]})
    (the_workload,) = cluster.workloads.values()
    the_workload = replace(
        the_workload, status=replace(the_workload.status, conditions=(condition,) if condition else ())
    )
    (planned,) = stops(the_workload, cluster, NOW_MS)
    assert isinstance(planned.write, Overwrite)
    assert planned.write.body == {"spec": {"suspend": True}}
    assert [(event.reason, event.message) for event in planned.events] == [("Stopped", expected)]


def test_empty_fields_are_removed_from_the_status() -> None:
    """A merge patch keeps fields that it does not name."""
    held = workload_body(ray_job("dev"), "QuotaReserved", "Admitted", check="Ready")
    held["status"] |= {
        "requeueState": {"count": 1, "requeueAt": "2027-01-15T08:00:00Z"},
        "accumulatedPastExecutionTimeSeconds": 7,
        "unhealthyNodes": [{"name": "n1"}],
    }
    before = read(kinds.WORKLOADS, held)
    write = status_patch(before, workload(ray_job("dev")).status)
    assert isinstance(write, MergePatch)
    assert (write.kind, write.key, write.status) == (kinds.WORKLOADS, before.key, True)
    assert write.resource_version == before.metadata.resource_version
    patch = write.body["status"]
    assert {name: patch[name] for name in ("admission", "requeueState")} == dict.fromkeys(
        ("admission", "requeueState")
    )
    assert (patch["admissionChecks"], patch["unhealthyNodes"]) == ([], [])
    assert patch["accumulatedPastExecutionTimeSeconds"] is None


def test_a_status_names_no_empty_field_that_it_never_had() -> None:
    """Each would be kept as an empty list."""
    write = status_patch(workload(ray_job("dev")), workload(ray_job("dev"), "QuotaReserved").status)
    assert isinstance(write, MergePatch)
    assert write.body["status"].keys() == {"admission", "conditions"}


STATUSES: dict[str, tuple[Body, bool]] = {
    "none": ({}, True),
    "an empty one": ({"status": {}}, False),
    "of fields that Muster does not know": ({"status": {"clusterName": "east"}}, False),
    "of a reason to wait": (
        {"status": {"conditions": [{"type": "QuotaReserved", "status": "False"}]}},
        False,
    ),
}


@pytest.mark.parametrize("name", STATUSES)
def test_only_an_absent_status_is_replaced(name: str) -> None:
    """A PUT would drop what others have written."""
    status, expected = STATUSES[name]
    body = {k: v for k, v in workload_body(ray_job("dev")).items() if k != "status"} | status
    write = status_patch(read(kinds.WORKLOADS, body), workload(ray_job("dev"), "QuotaReserved").status)
    assert isinstance(write, MergePatch)
    assert write.whole is expected
