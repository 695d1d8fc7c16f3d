"""Status of a simulated job, and the end of its submitter."""

from typing import Any

import pytest

from sandbox.cluster.kinds import Object
from sandbox.stand_ins.ray_jobs import JobInfo, container_start, ended_status, job_info, submission_id

STARTED = 1_900_000_000.0


def rayjob(**annotations: str) -> Object:
    named = {f"sandbox.muster.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}
    return {"metadata": {"namespace": "t", "name": "j", "annotations": named}}


def submitter(state: dict[str, Any] | None = None) -> Object:
    env = [{"name": "PYTHONUNBUFFERED", "value": "1"}, {"name": "RAY_JOB_SUBMISSION_ID", "value": "j-abc"}]
    statuses = [{"name": "submit", "state": state}] if state is not None else []
    return {
        "spec": {"containers": [{"name": "submit", "image": "ray", "env": env}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready"}], "containerStatuses": statuses},
    }


@pytest.mark.parametrize(
    ("job", "after", "status", "ran"),
    [
        pytest.param(rayjob(run_seconds="5"), 0, "RUNNING", None, id="just started"),
        pytest.param(rayjob(run_seconds="5"), 4.9, "RUNNING", None, id="not finished"),
        pytest.param(rayjob(run_seconds="5"), 5, "SUCCEEDED", 5, id="finished"),
        pytest.param(rayjob(run_seconds="5"), 99, "SUCCEEDED", 5, id="finished long ago: same end"),
        pytest.param(rayjob(run_seconds="0.5", outcome="FAILED"), 1, "FAILED", 0.5, id="failed"),
        pytest.param(rayjob(), 9.9, "RUNNING", None, id="default of ten seconds"),
        pytest.param(rayjob(), 10, "SUCCEEDED", 10, id="ten seconds passed"),
        pytest.param(rayjob(run_seconds="soon"), 10, "SUCCEEDED", 10, id="not a number: the default"),
        pytest.param(rayjob(run_seconds="-1"), 0, "SUCCEEDED", 0, id="negative: immediately"),
    ],
)
def test_job_runs_for_its_seconds_and_ends_with_its_outcome(
    job: Object, after: float, status: str, ran: float | None
) -> None:
    ended = None if ran is None else STARTED + ran
    assert job_info(job, STARTED, STARTED + after) == JobInfo(status, STARTED, ended)


@pytest.mark.parametrize(
    ("state", "started"),
    [
        pytest.param(None, None, id="no container yet"),
        pytest.param({"waiting": {}}, None, id="waiting"),
        pytest.param({"running": {"startedAt": "2030-03-17T17:46:40Z"}}, STARTED, id="running"),
        pytest.param({"terminated": {"startedAt": "2030-03-17T17:46:40Z"}}, STARTED, id="ended"),
    ],
)
def test_start_of_the_submitter_is_its_containers(
    state: dict[str, Any] | None, started: float | None
) -> None:
    assert container_start(submitter(state)) == started


@pytest.mark.parametrize(
    ("outcome", "phase", "code"),
    [("SUCCEEDED", "Succeeded", 0), ("FAILED", "Failed", 1), ("STOPPED", "Succeeded", 0)],
)
def test_submitter_ends_as_ray_job_submit_would(outcome: str, phase: str, code: int) -> None:
    status = ended_status(
        submitter({"running": {"startedAt": "2030-03-17T17:46:40Z"}}), JobInfo(outcome, STARTED, 1)
    )
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
    assert [c["status"] for c in status["conditions"]] == ["False"]


def test_submission_id_is_in_the_submitters_environment() -> None:
    assert submission_id(submitter()) == "j-abc"
    assert submission_id({"spec": {"containers": [{}]}}) == ""
