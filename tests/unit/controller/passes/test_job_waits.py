"""Tests the reasons that jobs show while they wait."""

import json
from typing import Any

import pytest

from muster.controller.passes.job_waits import (
    ANNOTATION_LENGTH_MAX,
    MESSAGE_LENGTH_MAX,
    JobWait,
    annotate,
    annotated_wait,
    wait_of,
)
from muster.kube import kinds
from muster.kube.writes import Overwrite
from muster.objects.names import WAIT_ANNOTATION
from tests.simulation.manifests import ray_job
from tests.unit.controller.builders import (
    NOW_MS,
    Body,
    condition,
    job,
    make_cluster,
    read,
    workload_body,
)

NO_QUOTA = condition("QuotaReserved", status=False, reason="WaitingForQuota", message="needs 4 GPUs")


def waiting(name: str = "dev", priority: str = "dev-priority", **meta: Any) -> Body:
    body = workload_body(ray_job(name, priority=priority), **meta)
    body["status"]["conditions"] = [NO_QUOTA]
    return body


def evicted() -> Body:
    body = workload_body(ray_job("dev"), "QuotaReserved", "Admitted")
    message = "Preempted to accommodate workload team-a/prod"
    body["status"]["conditions"].append(condition("Evicted", reason="Preempted", message=message))
    return body


def checked() -> Body:
    body = workload_body(ray_job("dev"), "QuotaReserved", check="Pending")
    body["status"]["admissionChecks"][0]["message"] = "waits for capacity"
    return body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(waiting(), JobWait("WaitingForQuota", "needs 4 GPUs", "team-a"), id="without quota"),
        pytest.param(
            checked(),
            JobWait(
                "WaitingForAdmissionChecks",
                "has its quota, and waits for admission checks: queued-provisioning: waits for capacity",
                "team-a",
            ),
            id="with quota, before its checks are ready",
        ),
        pytest.param(
            evicted(),
            JobWait(
                "Preempted",
                "is being stopped: Preempted to accommodate workload team-a/prod",
                "team-a",
            ),
            id="preempted, while its pods are stopped",
        ),
        pytest.param(workload_body(ray_job("dev")), None, id="not decided on yet"),
        pytest.param(workload_body(ray_job("dev"), "QuotaReserved", "Admitted"), None, id="admitted"),
        pytest.param(workload_body(ray_job("dev"), "Finished"), None, id="finished"),
    ],
)
def test_a_job_waits_for_the_reason_of_its_workload(body: Body, expected: JobWait | None) -> None:
    wait = wait_of(read(kinds.WORKLOADS, body), job(ray_job("dev")), make_cluster())
    assert wait == expected


def test_long_messages_are_cut() -> None:
    body = waiting()
    body["status"]["conditions"] = [{**NO_QUOTA, "message": '"' * 5000}]
    wait = wait_of(read(kinds.WORKLOADS, body), job(ray_job("dev")), make_cluster())
    assert wait is not None
    assert len(wait.message) == MESSAGE_LENGTH_MAX
    assert len(wait.annotation(NOW_MS)) < ANNOTATION_LENGTH_MAX


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, "", id="none"),
        pytest.param(JobWait("Suspended", "is stopped").annotation(NOW_MS), "Suspended", id="own"),
        pytest.param("soon", "?", id="of a user"),
        pytest.param('{"reason": 3}', "?", id="of a user, in JSON"),
        pytest.param(json.dumps({"reason": "x" * 9000}), "?", id="long"),
    ],
)
def test_the_reason_is_read_from_the_annotation(text: str | None, reason: str) -> None:
    annotations = {} if text is None else {WAIT_ANNOTATION: text}
    assert annotated_wait(job(ray_job("dev"), annotations=annotations)).reason == reason


@pytest.mark.parametrize(
    ("wait", "events"),
    [
        pytest.param(
            JobWait("WaitingForQuota", "needs 4 GPUs", "team-a", 2),
            [("WaitingForQuota", "position 2 in ClusterQueue team-a: needs 4 GPUs", False)],
            id="in its queue",
        ),
        pytest.param(
            JobWait("ExceedsMaxQuota", "asks for too much", "team-a"),
            [("ExceedsMaxQuota", "asks for too much", True)],
            id="forever",
        ),
        pytest.param(JobWait("Misconfigured", "has no requests"), [], id="written when its status changed"),
        pytest.param(None, [], id="no longer"),
    ],
)
def test_an_annotation_comes_with_an_event(wait: JobWait | None, events: list[tuple[str, str, bool]]) -> None:
    planned = annotate(job(ray_job("dev")), wait, NOW_MS, with_event=True)
    assert [(e.reason, e.message, e.warning) for e in planned.events] == events
    assert isinstance(planned.write, Overwrite)
    text = planned.write.body["metadata"]["annotations"][WAIT_ANNOTATION]
    assert (text is None) == (wait is None)
    assert annotate(job(ray_job("dev")), wait, NOW_MS, with_event=False).events == ()
