"""ProvisioningRequests: their names, what they say of the check, and what is asked for."""

from typing import Any

import pytest

from muster.controller import provisioning
from muster.controller import transitions as step
from muster.kube import kinds
from muster.objects.kueue import AdmissionCheckState
from tests.simulation.manifests import CHECK, REQUEST_LABEL, WORKER, ray_job, template
from tests.unit.controller.builders import NOW_MS, REQUEST, Body, make_world, request, workload

# what is longer than 247 characters is cut there and gets five of its sha1; made with sha1sum
NAMES = {
    "first try": (provisioning.request_name("rayjob-dev-0b2fb", CHECK, 1), REQUEST),
    "third try": (provisioning.request_name("w", "check", 3), "w-check-3"),
    "as long as it may be": (provisioning.request_name("w" * 243, "c", 1), f"{'w' * 243}-c-1"),
    "cut": (
        provisioning.request_name("w" * 240, CHECK, 1),
        f"{'w' * 240}-queued-cd187",
    ),
    "template": (provisioning.template_name(REQUEST, "gpu"), f"ppt-{REQUEST}-gpu"),
    "cut template": (provisioning.template_name("w" * 243, "head"), f"ppt-{'w' * 243}-113dc"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    made, wanted = NAMES[name]
    assert made == wanted
    assert len(made) <= 253


def follow(*conditions: str, admitted: bool = False, tries: int = 0, **retry: int) -> AdmissionCheckState:
    """The check's state after its request has these conditions."""
    true = ("QuotaReserved", "Admitted") if admitted else ("QuotaReserved",)
    gang = workload(ray_job("dev"), *true, check="Ready" if admitted else "Pending", tries=tries)
    name = provisioning.request_name(gang.metadata.name, CHECK, tries + 1)
    world = make_world({kinds.PROVISIONING_REQUESTS: [request(*conditions, name=name)]}, retry)
    return provisioning.sync_checks(gang, gang.status, world, NOW_MS).admission_checks[0]


Answer = tuple[str, int, int | None]  # state, tries, pause in seconds
ANSWERS: dict[str, tuple[AdmissionCheckState, Answer]] = {
    "not answered yet": (follow(), ("Pending", 0, None)),
    "accepted": (follow("Accepted"), ("Pending", 0, None)),
    "provisioned": (follow("Accepted", "Provisioned"), ("Ready", 0, None)),
    "failed": (follow("Accepted", "Failed"), ("Retry", 1, 1)),
    "failed twice": (follow("Failed", tries=1), ("Retry", 2, 2)),
    "failed three times": (follow("Failed", tries=2), ("Retry", 3, 4)),
    "failed once more than it may": (follow("Failed", tries=3), ("Rejected", 3, None)),
    "no retries at all": (follow("Failed", limit=0), ("Rejected", 0, None)),
    "a long pause": (follow("Failed", tries=1, base_s=60, max_s=100), ("Retry", 2, 100)),
    "failed while it runs": (follow("Provisioned", "Failed", admitted=True), ("Retry", 1, 1)),
    "booking expired before admission": (follow("Provisioned", "BookingExpired"), ("Retry", 1, 1)),
    "booking expired while it runs": (
        follow("Provisioned", "BookingExpired", admitted=True),
        ("Ready", 0, None),
    ),
    "booking expired too often": (follow("BookingExpired", tries=3), ("Rejected", 3, None)),
    "capacity revoked": (follow("Provisioned", "CapacityRevoked"), ("Rejected", 0, None)),
    "capacity revoked while it runs": (
        follow("Provisioned", "CapacityRevoked", admitted=True),
        ("Rejected", 0, None),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_request_says_of_its_check(name: str) -> None:
    check, wanted = ANSWERS[name]
    assert (check.state, check.retry_count, check.requeue_after_seconds) == wanted
    assert "says the cloud" in check.message or name == "not answered yet"


def test_ready_pods_are_sent_to_the_nodes_of_their_request() -> None:
    (update,) = follow("Provisioned").pod_set_updates
    assert update.name == "gpu"
    assert update.node_selector == {REQUEST_LABEL: "resize-1"}
    assert update.annotations == {
        "autoscaling.x-k8s.io/consume-provisioning-request": REQUEST,
        "autoscaling.x-k8s.io/provisioning-class-name": "queued-provisioning.gke.io",
    }


LEAVING = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
NO_SAY: dict[str, Body] = {
    "of an earlier try": request("Provisioned", name=REQUEST.replace("-1", "-0")),
    "of another workload": request("Provisioned", owner="uid-of-another"),
    "being deleted": request("Provisioned", **LEAVING),
}


@pytest.mark.parametrize("name", NO_SAY)
def test_requests_without_a_say(name: str) -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    world = make_world({kinds.PROVISIONING_REQUESTS: [NO_SAY[name]]})
    assert provisioning.sync_checks(gang, gang.status, world, NOW_MS) == gang.status
    assert len(list(provisioning.missing_requests(gang, world))) == 1


def test_a_gang_without_managed_resources_needs_no_request() -> None:
    body = ray_job("dev", worker=template("worker", cpu=1))
    gang = workload(body, "QuotaReserved", check="Pending")
    synced = provisioning.sync_checks(gang, gang.status, make_world(), NOW_MS)
    assert synced.admission_checks[0].state == "Ready"
    assert list(provisioning.missing_requests(gang, make_world())) == []


def test_a_check_without_config_says_so() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending")
    world = make_world({kinds.PROVISIONING_CONFIGS: []})
    (check,) = provisioning.sync_checks(gang, gang.status, world, NOW_MS).admission_checks
    assert (check.state, check.message) == (
        "Pending",
        "the AdmissionCheck has no ProvisioningRequestConfig: name one in spec.parameters",
    )


def test_what_is_asked_for() -> None:
    body = ray_job("dev")
    body["metadata"]["annotations"]["provreq.kueue.x-k8s.io/maxRunDurationSeconds"] = "600"
    gang = workload(body, "QuotaReserved", check="Pending", tries=1)
    ((templates, asked),) = provisioning.missing_requests(gang, make_world())
    name = REQUEST.replace("-1", "-2")
    assert asked.body["metadata"]["name"] == name
    assert asked.body["metadata"]["ownerReferences"][0]["uid"] == gang.metadata.uid
    assert asked.body["spec"] == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "parameters": {"maxRunDurationSeconds": "600"},
        "podSets": [{"podTemplateRef": {"name": f"ppt-{name}-gpu"}, "count": 4}],
    }
    (made,) = templates
    assert made.kind is kinds.POD_TEMPLATES
    spec: dict[str, Any] = made.body["template"]["spec"]  # type: ignore[union-attr]  # a Create
    assert spec["containers"] == WORKER["spec"]["containers"]
    assert spec["nodeSelector"] == {"cloud.google.com/gke-nodepool": "l4"}
    assert len(spec["tolerations"]) == 2


def test_unused_requests_go_with_their_templates() -> None:
    gang = workload(ray_job("dev"))
    leaving = request(name=f"{REQUEST}0", **LEAVING)
    world = make_world({kinds.PROVISIONING_REQUESTS: [request(), leaving]})
    assert [str(w) for w in provisioning.unused_requests(gang, world)] == [
        f"delete PodTemplate team-a/ppt-{REQUEST}-gpu",
        f"delete ProvisioningRequest team-a/{REQUEST}",
    ]


@pytest.mark.parametrize("state", ["Ready", "Retry", "Rejected"])
def test_nothing_more_is_asked_for_once_a_check_is_answered(state: str) -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check=state)
    assert list(provisioning.missing_requests(gang, make_world())) == []
    assert step.holds_quota(gang.status)
