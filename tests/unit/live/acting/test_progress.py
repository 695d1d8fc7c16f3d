"""Tests of the progress of a submitted job, by its own object."""

import json
from typing import Any

import pytest

from muster.live.acting.progress import JobProgress, JobStage, progress
from muster.objects.names import ETA_ANNOTATION, WAIT_ANNOTATION
from tests.simulation.manifests import ray_cluster, ray_job, ray_service
from tests.unit.controller.builders import Body, condition, job

RUNS: dict[str, Any] = {"suspend": False}
WAITS = {"reason": "WaitingForQuota", "message": "needs 4 GPUs", "queue": "team-a", "position": 2}
REFUSED = {**WAITS, "reason": "ExceedsMaxQuota", "position": None}


def annotated_job(wait: Any, **eta: str) -> Body:
    body = ray_job("dev")
    body["metadata"]["annotations"] = {WAIT_ANNOTATION: json.dumps(wait), ETA_ANNOTATION: json.dumps(eta)}
    return body


def with_status(body: Body, **status: Any) -> Body:
    return {**body, "status": status}


def service(ready: bool) -> Body:
    body = ray_service("dev")
    body["spec"]["rayClusterConfig"]["suspend"] = False
    return with_status(body, conditions=[condition("Ready", status=ready)])


CASES: dict[str, tuple[Body, JobProgress]] = {
    "just created": (ray_job("dev"), JobProgress(JobStage.QUEUED, "queued")),
    "it waits": (
        annotated_job(WAITS),
        JobProgress(
            JobStage.QUEUED, "queued, position 2 in ClusterQueue team-a: WaitingForQuota: needs 4 GPUs"
        ),
    ),
    "it waits, with an estimate": (
        annotated_job(WAITS, p50="2026-11-22T12:00:00Z"),
        JobProgress(
            JobStage.QUEUED,
            "queued, position 2 in ClusterQueue team-a: WaitingForQuota: needs 4 GPUs; expected start "
            "2026-11-22T12:00:00Z",
        ),
    ),
    "it will not be admitted": (
        annotated_job(REFUSED),
        JobProgress(JobStage.QUEUED, "queued: ExceedsMaxQuota: needs 4 GPUs", refused=True),
    ),
    "an annotation of a user": (annotated_job(["soon"]), JobProgress(JobStage.QUEUED, "queued")),
    "it starts": (ray_job("dev", **RUNS), JobProgress(JobStage.ADMITTED, "admitted, pods are starting")),
    "it runs": (
        with_status(ray_job("dev", **RUNS), jobDeploymentStatus="Running"),
        JobProgress(JobStage.RUNNING, "running"),
    ),
    "it succeeded": (
        with_status(ray_job("dev"), jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"),
        JobProgress(JobStage.ENDED, "succeeded: Ray job SUCCEEDED"),
    ),
    "it failed": (
        with_status(ray_job("dev"), jobDeploymentStatus="Failed", jobStatus="FAILED", message="no space"),
        JobProgress(JobStage.ENDED, "failed: no space", failed=True),
    ),
    "a cluster that is ready": (
        with_status({**ray_cluster("dev"), "spec": {**ray_cluster("dev")["spec"], **RUNS}}, state="ready"),
        JobProgress(JobStage.RUNNING, "running"),
    ),
    "a service that is not ready": (
        service(False),
        JobProgress(JobStage.ADMITTED, "admitted, pods are starting"),
    ),
    "a service that is ready": (service(True), JobProgress(JobStage.RUNNING, "running")),
}


@pytest.mark.parametrize("name", CASES)
def test_progress_of_a_job(name: str) -> None:
    body, expected = CASES[name]
    assert progress(job(body)) == expected
