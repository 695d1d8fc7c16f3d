"""How far a submitted job is, by its own object: its user need not be able to read Workloads."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from muster.controller.jobs.annotations import WAIT
from muster.controller.jobs.job import Job
from muster.live.eta.start_range import ANNOTATION as ETA
from muster.objects.meta import is_true
from muster.objects.ray import RayService

REFUSED = frozenset({"Misconfigured", "NoMatchingFlavor", "ExceedsMaxQuota"})
"""Reasons for which a job waits until it or its queue is changed."""


class Stage(IntEnum):
    """The stages of a job, in order."""

    QUEUED = 0
    ADMITTED = 1
    RUNNING = 2
    ENDED = 3


@dataclass(frozen=True, slots=True)
class Progress:
    """`sentence` says more about the stage. `refused`: it will not be admitted as it is; `failed`: it ended
    without success."""

    stage: Stage
    sentence: str
    refused: bool = False
    failed: bool = False


def progress(job: Job) -> Progress:
    """Returns how far the job is."""
    outcome, rejected = job.outcome, job.kuberay_rejection
    if outcome is not None:
        word = "succeeded" if outcome.succeeded else "failed"
        return Progress(Stage.ENDED, f"{word}: {outcome.message}", failed=not outcome.succeeded)
    if rejected is not None:
        return Progress(Stage.QUEUED, f"refused: {rejected.message}", refused=True)
    if job.suspended:
        return _queued(job)
    if _runs(job):
        return Progress(Stage.RUNNING, "running")
    return Progress(Stage.ADMITTED, "admitted, its pods start")


def _runs(job: Job) -> bool:
    if isinstance(job.obj, RayService):
        return is_true(job.obj.status.conditions, "Ready")
    return job.running


def _queued(job: Job) -> Progress:
    told = _json(job, WAIT)
    reason, message = told.get("reason"), told.get("message")
    if not isinstance(reason, str) or not isinstance(message, str):
        return Progress(Stage.QUEUED, "queued")
    position, queue, start = told.get("position"), told.get("queue"), _json(job, ETA).get("p50")
    where = f", position {position} in ClusterQueue {queue}" if position else ""
    expected = f"; expected start {start}" if start else ""
    sentence = f"queued{where}: {reason}: {message}{expected}"
    return Progress(Stage.QUEUED, sentence, refused=reason in REFUSED)


def _json(job: Job, annotation: str) -> Mapping[str, Any]:
    """Returns the annotation, empty if it is no JSON object."""
    try:
        found = json.loads(job.metadata.annotations.get(annotation, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
