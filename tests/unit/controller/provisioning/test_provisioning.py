"""ProvisioningRequests: their names, whether they are needed, and the states of their checks."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.templates import PlacementError
from muster.controller.provisioning import check_requests, provisioning_checks
from muster.kube import kinds
from muster.objects import kueue
from muster.objects.kueue import AdmissionCheckState
from muster.objects.meta import millis, rfc3339
from muster.objects.names import REQUEST_LABEL
from tests.simulation.manifests import CHECK, local_stack, ray_job, template
from tests.unit.controller.builders import (
    CREATED,
    NOW_MS,
    REQUEST,
    Body,
    condition,
    make_cluster,
    pod,
    queue_statuses,
    request,
    stored,
    workload,
)

# longer than 247 characters: cut there, with five characters of the sha1; computed with sha1sum
NAMES = {
    "first attempt": (check_requests.request_name("rayjob-dev-0b2fb", CHECK, 1), REQUEST),
    "third attempt": (check_requests.request_name("w", "check", 3), "w-check-3"),
    "the longest name": (check_requests.request_name("w" * 243, "c", 1), f"{'w' * 243}-c-1"),
    "cut": (
        check_requests.request_name("w" * 240, CHECK, 1),
        f"{'w' * 240}-queued-cd187",
    ),
    "not cut behind a dot": (check_requests.request_name(f"{'w' * 246}.w", "c", 1), f"{'w' * 246}-9aef6"),
    "template": (check_requests.template_name(REQUEST, "gpu"), f"ppt-{REQUEST}-gpu"),
    "cut template": (check_requests.template_name("w" * 243, "head"), f"ppt-{'w' * 243}-113dc"),
}


@pytest.mark.parametrize("name", NAMES)
def test_request_names(name: str) -> None:
    request_names, expected = NAMES[name]
    assert request_names == expected
    assert len(request_names) <= 253


@pytest.mark.parametrize(("tries", "attempt"), [(0, None), (1, 2), (2, None)])
def test_a_cut_name_matches_only_the_current_attempt(tries: int, attempt: int | None) -> None:
    long = "w" * 240
    second = make_cluster(
        {kinds.PROVISIONING_REQUESTS: [request(name=check_requests.request_name(long, CHECK, 2))]}
    )
    (request_now,) = second.provisioning_requests.values()
    state = AdmissionCheckState(CHECK, "Pending", "", retry_count=tries)
    assert check_requests.attempt_of(request_now, long, state) == attempt


def follow(*conditions: str, admitted: bool = False, tries: int = 0, **retry: int) -> AdmissionCheckState:
    """Returns the check's state after its request has these conditions."""
    true = ("QuotaReserved", "Admitted") if admitted else ("QuotaReserved",)
    gang = workload(ray_job("dev"), *true, check="Ready" if admitted else "Pending", tries=tries)
    name = check_requests.request_name(gang.metadata.name, CHECK, tries + 1)
    cluster = make_cluster({kinds.PROVISIONING_REQUESTS: [request(*conditions, name=name)]}, retry)
    return provisioning_checks.sync_checks(gang, gang.status, cluster, NOW_MS).admission_checks[0]


Answer = tuple[str, int, int | None]  # state, retries, back-off in seconds
ANSWERS: dict[str, tuple[AdmissionCheckState, Answer]] = {
    "unanswered": (follow(), ("Pending", 0, None)),
    "accepted": (follow("Accepted"), ("Pending", 0, None)),
    "provisioned": (follow("Accepted", "Provisioned"), ("Ready", 0, None)),
    "failed": (follow("Accepted", "Failed"), ("Retry", 0, 1)),
    "failed twice": (follow("Failed", tries=1), ("Retry", 1, 2)),
    "failed three times": (follow("Failed", tries=2), ("Retry", 2, 4)),
    "failed once too often": (follow("Failed", tries=3), ("Rejected", 3, None)),
    "no retries at all": (follow("Failed", limit=0), ("Rejected", 0, None)),
    "a long back-off": (follow("Failed", tries=1, base_s=60, max_s=100), ("Retry", 1, 100)),
    "failed while it runs": (follow("Provisioned", "Failed", admitted=True), ("Retry", 0, 1)),
    "booking expired before admission": (follow("Provisioned", "BookingExpired"), ("Retry", 0, 1)),
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
def test_a_check_follows_its_request(name: str) -> None:
    check, expected = ANSWERS[name]
    assert (check.state, check.retry_count, check.requeue_after_seconds) == expected
    silent = ("unanswered", "accepted", "booking expired while it runs")
    assert ("says the cloud" in check.message) == (name not in silent)


ADMITTED = workload(ray_job("dev"), "QuotaReserved", "Admitted", check="Ready")
RUNNING = pod(ADMITTED.metadata.uid, "a")


@pytest.mark.parametrize(
    ("objects", "state"),
    [
        ({kinds.RAY_JOBS: [stored(ray_job("dev"))]}, "Retry"),
        ({kinds.RAY_JOBS: [stored(ray_job("dev"))], kinds.PODS: [RUNNING]}, "Ready"),
        ({}, "Ready"),
    ],
    ids=["without pods", "while its pods run", "without a job that is known"],
)
def test_an_admitted_gang_without_its_request_is_provisioned_again(
    objects: Mapping[kinds.Kind[Any], list[Body]], state: str
) -> None:
    synced = provisioning_checks.sync_checks(ADMITTED, ADMITTED.status, make_cluster(objects, {}), NOW_MS)
    assert synced.admission_checks[0].state == state


def test_a_ready_check_adds_the_updates_of_its_request() -> None:
    (update,) = follow("Provisioned").pod_set_updates
    assert update.name == "gpu"
    assert update.node_selector == {REQUEST_LABEL: "resize-1"}
    assert update.annotations == {
        "autoscaling.x-k8s.io/consume-provisioning-request": REQUEST,
        "autoscaling.x-k8s.io/provisioning-class-name": "queued-provisioning.gke.io",
    }


@pytest.mark.parametrize(("true", "message"), [((), ""), (("Accepted",), "Error creating it")])
def test_the_error_of_a_creation_is_cleared_once_the_request_exists(
    true: tuple[str, ...], message: str
) -> None:
    """An accepted request adds no message, as in Kueue."""
    before = replace(GANG.status.admission_checks[0], message="Error creating it")
    status = replace(GANG.status, admission_checks=(before,))
    cluster = make_cluster({kinds.PROVISIONING_REQUESTS: [request(*true)]})
    (check,) = provisioning_checks.sync_checks(GANG, status, cluster, NOW_MS).admission_checks
    assert (check.state, check.message) == ("Pending", message)


def test_the_expected_time_is_in_the_checks_message() -> None:
    body = request("Accepted")
    eta = condition("Provisioned", status=False, message="ETA: 10:36")
    body["status"]["conditions"].append(eta)
    assert answer(body).message == "ETA: 10:36"


def test_a_revocation_does_not_change_an_inactive_workload() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Ready", active=False)
    cluster = make_cluster({kinds.PROVISIONING_REQUESTS: [request("CapacityRevoked")]})
    assert provisioning_checks.sync_checks(gang, gang.status, cluster, NOW_MS) == gang.status


GANG = workload(ray_job("dev"), "QuotaReserved", check="Pending")


def answer(*requests: Body, tries: int = 0) -> AdmissionCheckState:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Pending", tries=tries)
    cluster = make_cluster({kinds.PROVISIONING_REQUESTS: list(requests)})
    return provisioning_checks.sync_checks(gang, gang.status, cluster, NOW_MS).admission_checks[0]


SHORT = {"muster.dev/answer-timeout-seconds": "30"}
PATIENT = {"muster.dev/capacity-timeout-seconds": "3600"}
NO_ANSWER = (
    f"Retrying after timeout: ProvisioningRequest {REQUEST} was not accepted within {{}} s{{}}: check that "
    "the cluster's autoscaler runs and serves class 'queued-provisioning.gke.io'"
)
REFUSED = request()
REFUSED["status"]["conditions"] = [condition("Accepted", status=False, message="the class is unknown")]

# (request, annotations of its config, seconds since its creation or acceptance) -> state, message
AGES: dict[str, tuple[Body, dict[str, str], int, tuple[str, str]]] = {
    "no answer yet": (request(), {}, 599, ("Pending", "")),
    "no answer": (request(), {}, 600, ("Retry", NO_ANSWER.format(600, ""))),
    "not accepted": (REFUSED, {}, 600, ("Retry", NO_ANSWER.format(600, " (the class is unknown)"))),
    "no answer within a shorter timeout": (request(), SHORT, 30, ("Retry", NO_ANSWER.format(30, ""))),
    "accepted: capacity takes days": (request("Accepted"), {}, 600_000, ("Pending", "")),
    "accepted, and no capacity in time": (
        request("Accepted"),
        PATIENT,
        3600,
        (
            "Retry",
            f"Retrying after timeout: ProvisioningRequest {REQUEST} was accepted, but got no capacity "
            "within 3600 s",
        ),
    ),
    "accepted, a second before the timeout": (request("Accepted"), PATIENT, 3599, ("Pending", "")),
    "provisioned after the timeout": (
        request("Accepted", "Provisioned"),
        PATIENT,
        9999,
        ("Ready", "says the cloud"),
    ),
}


@pytest.mark.parametrize("name", AGES)
def test_requests_without_an_answer_time_out(name: str) -> None:
    body, annotations, seconds, expected = AGES[name]
    cluster = aged_cluster(body, annotations)
    now_ms = millis(CREATED) + seconds * 1000
    status = provisioning_checks.sync_checks(GANG, GANG.status, cluster, now_ms)
    (check,) = status.admission_checks
    assert (check.state, check.message) == expected


@pytest.mark.parametrize(
    ("body", "annotations", "limit_s"), [(request(), {}, 600), (request("Accepted"), PATIENT, 3600)]
)
def test_a_clock_ahead_makes_no_request_overdue(
    body: Body, annotations: dict[str, str], limit_s: int
) -> None:
    """A clock that is ahead by a day set the check to pending."""
    ahead_ms = millis(CREATED) + 86_400_000
    (before,) = GANG.status.admission_checks
    pending = replace(before, last_transition_time=rfc3339(ahead_ms))
    status = replace(GANG.status, admission_checks=(pending,))
    cluster = aged_cluster(body, annotations)
    for waited_s, expected in ((limit_s - 1, "Pending"), (limit_s, "Retry")):
        (check,) = provisioning_checks.sync_checks(
            GANG, status, cluster, ahead_ms + waited_s * 1000
        ).admission_checks
        assert check.state == expected


def aged_cluster(body: Body, annotations: dict[str, str]) -> ClusterState:
    (config,) = local_stack()[kinds.PROVISIONING_CONFIGS]
    config["metadata"]["annotations"] = annotations
    return make_cluster({kinds.PROVISIONING_REQUESTS: [body], kinds.PROVISIONING_CONFIGS: [config]})


# -> when to wake up, in seconds after the creation of the request
TIMEOUTS: dict[str, tuple[Body, dict[str, str], int | None]] = {
    "no answer": (request(), {}, 600),
    "no answer, sooner": (request(), SHORT, 30),
    "accepted": (request("Accepted"), {}, None),
    "accepted, with a limit": (request("Accepted"), PATIENT, 3600),
    "failed": (request("Failed"), PATIENT, None),
    "provisioned": (request("Accepted", "Provisioned"), PATIENT, None),
    "its booking expired": (request("Accepted", "BookingExpired"), PATIENT, None),
    "its capacity was revoked": (request("Accepted", "CapacityRevoked"), PATIENT, None),
    "its capacity was revoked, unaccepted": (request("CapacityRevoked"), SHORT, None),
    "its booking expired, unaccepted": (request("BookingExpired"), SHORT, None),
    "provisioned, unaccepted": (request("Provisioned"), SHORT, None),
}


@pytest.mark.parametrize("name", TIMEOUTS)
def test_the_controller_wakes_up_for_a_timeout(name: str) -> None:
    body, annotations, seconds = TIMEOUTS[name]
    due_ms = None if seconds is None else millis(CREATED) + seconds * 1000
    assert provisioning_checks.timeout_ms(GANG, GANG.status, aged_cluster(body, annotations)) == due_ms


@pytest.mark.parametrize("text", ["", "0", "-5", "10m", "1e3", "٣", "9" * 10, "1" * 5000])
def test_an_invalid_timeout_is_reported_on_the_check(text: str) -> None:
    cluster = aged_cluster(request(), {"muster.dev/capacity-timeout-seconds": text})
    (planned,) = (s for s in queue_statuses(cluster) if s.write.kind is kinds.CHECKS)
    condition = planned.write.body["status"]["conditions"][0]  # type: ignore[union-attr]  # it is a MergePatch
    assert (condition["status"], condition["reason"]) == ("False", "BadParametersRef")
    assert (
        "annotation muster.dev/capacity-timeout-seconds of ProvisioningRequestConfig" in condition["message"]
    )
    assert len(condition["message"]) < 250


OTHER_CLASS = request("Provisioned")
OTHER_CLASS["spec"]["provisioningClassName"] = "check-capacity.autoscaling.x-k8s.io"
IGNORED: dict[str, Body] = {
    "of another workload": request("Provisioned", owner="uid-of-another"),
    "of another check": request("Provisioned", name="rayjob-dev-0b2fb-other-1"),
    "of no attempt": request("Provisioned", name=f"{REQUEST}x"),
    "of another class than the config's": OTHER_CLASS,
    "being deleted": request("Provisioned", deletionTimestamp="2027-01-15T08:00:00Z"),
}


@pytest.mark.parametrize("name", IGNORED)
def test_requests_that_a_check_ignores(name: str) -> None:
    assert answer(IGNORED[name]) == GANG.status.admission_checks[0]


def test_a_check_follows_its_last_attempt() -> None:
    third = REQUEST.replace("-1", "-3")
    assert answer(request("Provisioned"), request("Failed", name=third), tries=2).state == "Retry"


def test_the_failure_of_an_earlier_attempt_only_changes_the_message() -> None:
    check = answer(request("Failed"), tries=1)
    assert (check.state, check.message) == ("Pending", "Retrying after failure: says the cloud")


def test_ready_stays_ready_without_its_request() -> None:
    gang = workload(ray_job("dev"), "QuotaReserved", check="Ready")
    assert provisioning_checks.sync_checks(gang, gang.status, make_cluster(), NOW_MS) == gang.status


def test_a_gang_without_managed_resources_needs_no_request() -> None:
    body = ray_job("dev", worker=template("worker", cpu=1))
    gang = workload(body, "QuotaReserved", check="Pending")
    synced = provisioning_checks.sync_checks(gang, gang.status, make_cluster(), NOW_MS)
    (check,) = synced.admission_checks
    assert (check.state, check.message) == ("Ready", "the provisioning request is not needed")
    again = provisioning_checks.sync_checks(
        replace(gang, status=synced), synced, make_cluster(), NOW_MS + 60_000
    )
    assert again == synced


def test_a_check_without_config_is_pending() -> None:
    cluster = make_cluster({kinds.PROVISIONING_CONFIGS: []})
    (check,) = provisioning_checks.sync_checks(GANG, GANG.status, cluster, NOW_MS).admission_checks
    assert (check.state, check.message) == ("Pending", "the check is not active")


def admitted(counts: Mapping[str, int | None]) -> Any:
    """Returns the gang with these admitted counts by pod set; None: no count in the admission."""
    assert GANG.status.admission is not None
    parts = tuple(kueue.PodSetAssignment(name=name, count=count) for name, count in counts.items())
    admission = replace(GANG.status.admission, pod_set_assignments=parts)
    return replace(GANG, status=replace(GANG.status, admission=admission))


NEEDED: dict[str, tuple[Mapping[str, int | None], bool]] = {
    "some pods": ({"gpu": 2}, True),
    "no count, which means all": ({"gpu": None}, True),
    "no pods": ({"gpu": 0}, False),
    "only pod sets with managed resources": ({"gpu": 1}, True),
}


@pytest.mark.parametrize("name", NEEDED)
def test_whether_a_request_is_needed(name: str) -> None:
    counts, expected = NEEDED[name]
    (config,) = make_cluster().provisioning_configs.values()
    assert check_requests.is_needed(admitted(counts), config) is expected


def test_an_admission_without_the_pod_set_is_an_error() -> None:
    (config,) = make_cluster().provisioning_configs.values()
    with pytest.raises(PlacementError, match="inconsistent podSet assignments: pod set 'gpu'"):
        check_requests.is_needed(admitted({"head": 1}), config)
    gang = admitted({"head": 1})
    assert provisioning_checks.sync_checks(gang, gang.status, make_cluster(), NOW_MS) == gang.status
