"""Tests of the retries that users request by an annotation of their job."""

from typing import Any

import pytest

from muster.admission.lifecycle import Backoff
from muster.cluster import retries
from muster.cluster.jobs.job import Job
from muster.cluster.retries import Granted
from muster.kube import kinds
from muster.objects.meta import rfc3339
from muster.objects.names import RETRIED
from tests.simulation.manifests import annotated, ray_job
from tests.unit.controller.builders import NOW_MS, Body, condition, job, read, workload_body

BACKOFF = Backoff(60, 600)
ENDS = rfc3339(NOW_MS + 300_000)
LATER = rfc3339(NOW_MS + 120_000)
LIMIT = "DeactivatedDueToRequeuingLimitExceeded"


def away(reason: str, requeued: bool = False, active: bool = True, granted: Granted | None = None) -> Body:
    """Returns a Workload without quota since an eviction, in its back-off."""
    body = workload_body(ray_job("dev"), active=active)
    body["status"]["conditions"] = [condition("Requeued", status=requeued, reason=reason)]
    body["status"]["requeueState"] = {"count": 1, "requeueAt": ENDS}
    if granted is not None:
        body["metadata"]["annotations"][RETRIED] = retries.annotation(granted)
    return body


def asking(value: str = "1", **annotations: str) -> Job:
    return job(annotated(ray_job("dev"), retry=value, **annotations))


def first() -> Granted:
    """The grant of a first retry with the value 1."""
    retry = retries.requested(read(kinds.WORKLOADS, away("AdmissionCheck")), asking(), NOW_MS, BACKOFF)
    assert retry is not None
    return retry.granted


# Workload, job -> when the retry is due, the number of the retry, whether it activates; None: no retry
CASES: dict[str, tuple[Body, Job, tuple[int, int, bool] | None]] = {
    "in a back-off": (away("AdmissionCheck"), asking(), (0, 1, False)),
    "late pods": (away("PodsReadyTimeout"), asking(), (0, 1, False)),
    "deactivated after too many attempts": (away(LIMIT, active=False), asking(), (0, 1, True)),
    "no annotation": (away("AdmissionCheck"), job(ray_job("dev")), None),
    "granted before": (away("AdmissionCheck", granted=first()), asking(), None),
    "a second one comes later": (
        away("AdmissionCheck", granted=Granted("other", 1, "", LATER)),
        asking(),
        (NOW_MS + 120_000, 2, False),
    ),
    "stopped by its user": (away("AdmissionCheck"), asking(stop="true"), None),
    "back in its queue": (away("AdmissionCheck", requeued=True), asking(), None),
    "its queue is stopped": (away("LocalQueueStopped"), asking(), None),
    "deactivated by an administrator": (away("Deactivated", active=False), asking(), None),
    "deactivated by an administrator in its back-off": (away("AdmissionCheck", active=False), asking(), None),
    "deactivated again": (away(LIMIT, requeued=True, active=False), asking(), None),
    "out of time": (
        away("DeactivatedDueToMaximumExecutionTimeExceeded", active=False),
        asking(),
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_requests_for_a_retry(name: str) -> None:
    body, of, expected = CASES[name]
    retry = retries.requested(read(kinds.WORKLOADS, body), of, NOW_MS, BACKOFF)
    assert (retry and (retry.due_ms, retry.granted.count, retry.activates)) == expected


def test_the_next_retry_follows_after_the_back_off() -> None:
    assert first() == Granted(first().value, 1, ENDS, rfc3339(NOW_MS + 60_999))


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param(retries.annotation(first()), first(), id="own"),
        pytest.param("soon", Granted(), id="no JSON"),
        pytest.param('{"next": "soon"}', Granted(), id="no time"),
        pytest.param('{"count": "many"}', Granted(), id="no number"),
    ],
)
def test_what_was_granted_is_read_from_the_workload(annotation: Any, expected: Granted) -> None:
    body = away("AdmissionCheck")
    body["metadata"]["annotations"][RETRIED] = annotation
    assert retries.granted(read(kinds.WORKLOADS, body)) == expected


def test_a_granted_retry_cuts_its_own_back_off_short() -> None:
    granted = read(kinds.WORKLOADS, away("AdmissionCheck", granted=first()))
    assert retries.cuts_short(granted, granted.status)
    earlier = read(kinds.WORKLOADS, away("AdmissionCheck", granted=Granted("x", 1, LATER, LATER)))
    assert not retries.cuts_short(earlier, earlier.status)
