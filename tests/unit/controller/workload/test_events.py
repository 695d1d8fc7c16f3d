"""Events for changes of status, with their reasons, messages and types."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from muster.controller.workload import events
from muster.controller.workload.events import (
    ObjectEvent,
    create_event,
    merged,
    on_job,
    on_workload,
    status_events,
    wait_event,
)
from muster.kube.kinds import RAY_JOBS, WORKLOADS
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import Condition, rfc3339
from tests.simulation.manifests import CHECK, ray_job
from tests.unit.controller.builders import NOW_MS, job, workload

NOW = rfc3339(NOW_MS)


def true(kind: str, reason: str = "Because", message: str = "said", status: str = "True") -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message, last_transition_time=NOW)


def events_of(before: Workload, *conditions: Condition) -> list[tuple[str, str, bool]]:
    new = replace(before.status, conditions=conditions)
    return [(event.reason, event.message, event.warning) for event in status_events(before, new, NOW_MS)]


PENDING, RESERVED = workload(ray_job("dev")), workload(ray_job("dev"), "QuotaReserved")
CONDITIONS: dict[str, tuple[Workload, Condition, list[tuple[str, str, bool]]]] = {
    "quota is reserved, and how long that took": (
        PENDING,
        true("QuotaReserved", message="Quota reserved in ClusterQueue team-a"),
        [("QuotaReserved", "Quota reserved in ClusterQueue team-a, wait time since queued was 60s", False)],
    ),
    "admitted": (PENDING, true("Admitted"), [("Admitted", "said", False)]),
    "preempted": (PENDING, true("Preempted"), [("Preempted", "said", False)]),
    "finished": (PENDING, true("Finished"), [("FinishedWorkload", "said", False)]),
    "evicted, with its reason": (
        PENDING,
        true("Evicted", "Preempted"),
        [("EvictedDueToPreempted", "said", False)],
    ),
    "true already": (RESERVED, true("QuotaReserved"), []),
    "not true": (PENDING, true("Admitted", status="False"), []),
    "a condition that is no event": (PENDING, true("PodsReady"), []),
    "deactivated by a check": (
        PENDING,
        true("DeactivationTarget", "AdmissionCheck", "the check rejects it"),
        [("AdmissionCheckRejected", "Deactivated due to the check rejects it", True)],
    ),
    "deactivated for another reason": (
        PENDING,
        true("DeactivationTarget", "RequeuingLimitExceeded"),
        [("RequeuingLimitExceeded", "Deactivated due to said", True)],
    ),
    "deactivated after its maximum execution time": (
        replace(PENDING, spec=replace(PENDING.spec, maximum_execution_time_seconds=90)),
        true("DeactivationTarget", "MaximumExecutionTimeExceeded"),
        [("MaximumExecutionTimeExceeded", "The maximum execution time (90s) exceeded", True)],
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_that_became_true_is_an_event(name: str) -> None:
    before, condition, expected = CONDITIONS[name]
    assert events_of(before, condition) == expected


def test_quota_and_admission_at_once_are_recorded_as_one_event() -> None:
    """Metrics count both."""
    conditions = true("QuotaReserved", message="Quota reserved in ClusterQueue team-a"), true("Admitted")
    new = replace(PENDING.status, conditions=conditions)
    events = list(status_events(PENDING, new, NOW_MS))
    assert [event.reason for event in events] == ["QuotaReserved", "Admitted"]
    message = "Quota reserved in ClusterQueue team-a, wait time since queued was 60s; said"
    assert [(event.reason, event.message) for event in merged(events)] == [("Admitted", message)]
    for alone in (events[:1], events[1:], [events[0], events[0]]):
        assert list(merged(alone)) == alone


def checked(state: str, message: str = "") -> WorkloadStatus:
    status = workload(ray_job("dev"), check="Pending").status
    (check,) = status.admission_checks
    return replace(status, admission_checks=(replace(check, state=state, message=message),))


CHECKS = {
    "no other state": (checked("Pending", "still"), []),
    "another state": (checked("Ready"), [f"Admission check {CHECK} updated state from Pending to Ready"]),
    "and what the check says": (
        checked("Retry", "no capacity"),
        [f"Admission check {CHECK} updated state from Pending to Retry with message: no capacity"],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_new_state_of_a_check_is_an_event(name: str) -> None:
    new, expected = CHECKS[name]
    events = list(status_events(workload(ray_job("dev"), check="Pending"), new, NOW_MS))
    assert [event.message for event in events] == expected
    assert {event.reason for event in events} <= {"AdmissionCheckUpdated"}


def waits(reason: str, message: str = "for quota") -> WorkloadStatus:
    return replace(PENDING.status, conditions=(true("QuotaReserved", reason, message, status="False"),))


WAITS: dict[str, tuple[WorkloadStatus, WorkloadStatus, tuple[str, str, bool] | None]] = {
    "the first reason": (PENDING.status, waits("Pending"), ("Pending", "for quota", True)),
    "another reason": (waits("Pending"), waits("ExceedsMaxQuota"), ("ExceedsMaxQuota", "for quota", True)),
    "the same reason with other numbers": (waits("Pending"), waits("Pending", "for less"), None),
    "not looked at yet": (
        PENDING.status,
        waits("PendingEvaluation"),
        ("PendingEvaluation", "for quota", False),
    ),
    "no reason": (waits("Pending"), PENDING.status, None),
}


@pytest.mark.parametrize("name", WAITS)
def test_a_new_reason_to_wait_is_an_event(name: str) -> None:
    before, new, expected = WAITS[name]
    event = wait_event(replace(PENDING, status=before), new)
    assert (event and (event.reason, event.message, event.warning)) == expected


def body(event: ObjectEvent) -> Mapping[str, Any]:
    return create_event(event, NOW_MS).body


def test_an_event_is_about_its_object() -> None:
    told_of = body(on_workload(PENDING, "Pending", "waits", warning=True))
    assert told_of == {
        "metadata": {"generateName": "rayjob-dev-0b2fb.", "namespace": "team-a"},
        "involvedObject": {
            "apiVersion": WORKLOADS.api_version,
            "kind": "Workload",
            "name": "rayjob-dev-0b2fb",
            "namespace": "team-a",
            "uid": "uid-rayjob-dev-0b2fb",
        },
        "reason": "Pending",
        "message": "waits",
        "type": "Warning",
        "source": {"component": events.COMPONENT},
        "firstTimestamp": NOW,
        "lastTimestamp": NOW,
        "count": 1,
    }


def test_an_event_names_the_kind_of_its_job() -> None:
    told_of = body(on_job(job(ray_job("dev")), "Started", "runs"))
    assert (told_of["type"], told_of["involvedObject"]["kind"]) == ("Normal", RAY_JOBS.name)


def test_names_and_messages_are_cut_to_the_api_servers_limits() -> None:
    long = on_workload(replace(PENDING, metadata=replace(PENDING.metadata, name="n" * 253)), "R", "m" * 2000)
    told_of = body(long)
    assert told_of["metadata"]["generateName"] == "n" * 200 + "."
    assert told_of["involvedObject"]["name"] == "n" * 253
    assert told_of["message"] == "m" * 1024


@pytest.mark.parametrize("ends", [".", "-", "-."])
def test_a_name_is_not_cut_where_no_name_may_end(ends: str) -> None:
    """Each part between dots begins and ends with a letter or digit (RFC 1123)."""
    name = f"{'n' * (200 - len(ends))}{ends}n"
    event = on_workload(replace(PENDING, metadata=replace(PENDING.metadata, name=name)), "R", "m")
    assert body(event)["metadata"]["generateName"] == f"{'n' * (200 - len(ends))}."


def test_events_of_cluster_scoped_objects_are_in_default() -> None:
    told_of = body(on_workload(replace(PENDING, metadata=replace(PENDING.metadata, namespace="")), "R", "m"))
    assert told_of["metadata"]["namespace"] == "default"
    assert told_of["involvedObject"]["namespace"] == ""
