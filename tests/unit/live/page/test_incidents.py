"""Preemptions and ProvisioningRequests as the page lists them."""

import pytest

from muster.kube import kinds
from muster.live.page.incidents import PREEMPTIONS_MAX, Preemptions, provisioning
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import Body, condition, make_cluster, request, workload_body

JOB = ray_job("dev")


def preempted(name: str = "victim") -> Body:
    body = workload_body(JOB, name=name, uid=f"uid-{name}")
    preempted_condition = condition(
        "Preempted", reason="InClusterQueue", message="Preempted to accommodate another"
    )
    body["status"] = {"conditions": [preempted_condition, condition("Evicted", reason="Preempted")]}
    return body


def test_preemption_has_its_reason_and_outlives_its_workload() -> None:
    incidents = Preemptions()
    (observed,) = incidents.update(make_cluster({kinds.WORKLOADS: [preempted()]})).values()
    (last_rows,) = incidents.update(make_cluster({kinds.WORKLOADS: []})).values()

    assert observed == last_rows
    assert (observed["workload"], observed["queue"], observed["reason"]) == (
        "team-a/victim",
        "team-a",
        "InClusterQueue",
    )
    assert observed["message"] == "Preempted to accommodate another"


def test_same_preemption_is_listed_once() -> None:
    incidents, cluster = Preemptions(), make_cluster({kinds.WORKLOADS: [preempted()]})
    incidents.update(cluster)

    assert len(incidents.update(make_cluster({kinds.WORKLOADS: [preempted()]}))) == 1


def test_number_of_preemptions_is_bounded() -> None:
    bodies = [preempted(f"v{number}") for number in range(PREEMPTIONS_MAX + 3)]

    assert len(Preemptions().update(make_cluster({kinds.WORKLOADS: bodies}))) == PREEMPTIONS_MAX


STATES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "new": ((), "Pending"),
    "accepted": (("Accepted",), "Accepted"),
    "provisioned": (("Accepted", "Provisioned"), None),
    "failed": (("Accepted", "Failed"), None),
    "expired": (("Provisioned", "BookingExpired"), None),
}


@pytest.mark.parametrize("name", STATES)
def test_requests_in_flight_are_those_without_an_answer(name: str) -> None:
    conditions, state = STATES[name]
    owner = workload_body(JOB, "QuotaReserved")
    asked = request(*conditions, owner=owner["metadata"]["uid"])
    rows = provisioning(make_cluster({kinds.WORKLOADS: [owner], kinds.PROVISIONING_REQUESTS: [asked]}))

    assert [row["state"] for row in rows.values()] == ([] if state is None else [state])
    for row in rows.values():
        assert (row["workload"], row["queue"], row["pods"]) == (
            f"team-a/{owner['metadata']['name']}",
            "team-a",
            4,
        )
