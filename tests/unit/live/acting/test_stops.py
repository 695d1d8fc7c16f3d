"""Tests of the writes that stop and resume jobs and queues."""

import pytest

from muster.kube import kinds
from muster.kube.writes import Overwrite
from muster.live.acting.stops import resume_job, stop_job, stop_queue
from muster.objects.names import RETRY_ANNOTATION, STOP_ANNOTATION
from tests.simulation.manifests import annotated, cluster_queue, quotas, ray_job
from tests.unit.controller.builders import job, read, stored


def annotation(name: str, value: str | None) -> Overwrite:
    body = {"metadata": {"annotations": {name: value}}}
    return Overwrite(kinds.RAY_JOBS, "team-a/dev", body, "uid-dev")


def test_a_job_is_stopped_by_its_annotation() -> None:
    assert stop_job(job(ray_job("dev"))) == annotation(STOP_ANNOTATION, "true")


@pytest.mark.parametrize(
    ("stopped", "sentence", "write"),
    [
        pytest.param(True, "is resumed", annotation(STOP_ANNOTATION, None), id="stopped"),
        pytest.param(
            False,
            "will be retried; its event Retried confirms it",
            annotation(RETRY_ANNOTATION, "17"),
            id="not stopped",
        ),
    ],
)
def test_a_job_is_resumed_or_retried(stopped: bool, sentence: str, write: Overwrite) -> None:
    body = annotated(ray_job("dev"), stop="true") if stopped else ray_job("dev")
    assert resume_job(job(body), 17) == (sentence, write)


def test_a_queue_is_stopped_by_its_policy() -> None:
    queue = read(kinds.CLUSTER_QUEUES, stored(cluster_queue("team-a", quotas("cpu", cpu=1))))
    expected = Overwrite(kinds.CLUSTER_QUEUES, "team-a", {"spec": {"stopPolicy": "Hold"}}, "uid-team-a")
    assert stop_queue(kinds.CLUSTER_QUEUES, queue, "Hold") == expected
