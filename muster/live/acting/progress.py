"""The progress of a submitted job, from the job itself: its user may lack permission to read Workloads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from muster.cluster.jobs.job import Job
from muster.objects.names import ETA_ANNOTATION, WAIT_ANNOTATION

REFUSED = frozenset({"Misconfigured", "NoMatchingFlavor", "ExceedsMaxQuota"})
"""Reasons that hold a job back until it or its queue is changed."""


class JobStage(IntEnum):
    """The stages of a job, in order."""

    QUEUED = 0
    ADMITTED = 1
    RUNNING = 2
    ENDED = 3


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job, as a stage and a sentence."""

    stage: JobStage
    sentence: str
    refused: bool = False  # it cannot be admitted in its current form
    failed: bool = False  # it ended without success


def progress(job: Job) -> JobProgress:
    """Returns the progress of a job."""
    outcome, rejected = job.outcome, job.kuberay_rejection
    if outcome is not None:
        word = "succeeded" if outcome.succeeded else "failed"
        return JobProgress(JobStage.ENDED, f"{word}: {outcome.message}", failed=not outcome.succeeded)
    if rejected is not None:
        return JobProgress(JobStage.QUEUED, f"refused: {rejected.message}", refused=True)
    if job.suspended:
        return _queued(job)
    if job.reports_running:
        return JobProgress(JobStage.RUNNING, "running")
    return JobProgress(JobStage.ADMITTED, "admitted, pods are starting")


def _queued(job: Job) -> JobProgress:
    waiting = _json(job, WAIT_ANNOTATION)
    reason, message = waiting.get("reason"), waiting.get("message")
    if not isinstance(reason, str) or not isinstance(message, str):
        return JobProgress(JobStage.QUEUED, "queued")
    position, queue, start = (
        waiting.get("position"),
        waiting.get("queue"),
        _json(job, ETA_ANNOTATION).get("p50"),
    )
    where = f", position {position} in ClusterQueue {queue}" if position else ""
    expected = f"; expected start {start}" if start else ""
    sentence = f"queued{where}: {reason}: {message}{expected}"
    return JobProgress(JobStage.QUEUED, sentence, refused=reason in REFUSED)


def _json(job: Job, annotation: str) -> Mapping[str, Any]:
    """Returns the value of an annotation; empty if it is not a JSON object."""
    try:
        value = json.loads(job.metadata.annotations.get(annotation, "{}"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
