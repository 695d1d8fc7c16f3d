"""What the stand-in for Ray's dashboard says of a job, and how its submitter ends."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.kinds import Object
from sandbox.ray_dashboard import serve
from sandbox.ray_jobs import JobInfo, container_start, ended_status, job_info, submission_id

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
        pytest.param(rayjob(run_seconds="5"), 0, "RUNNING", None, id="just begun"),
        pytest.param(rayjob(run_seconds="5"), 4.9, "RUNNING", None, id="not yet over"),
        pytest.param(rayjob(run_seconds="5"), 5, "SUCCEEDED", 5, id="over"),
        pytest.param(rayjob(run_seconds="5"), 99, "SUCCEEDED", 5, id="asked late: the end stays"),
        pytest.param(rayjob(run_seconds="0.5", outcome="FAILED"), 1, "FAILED", 0.5, id="failed"),
        pytest.param(rayjob(), 9.9, "RUNNING", None, id="ten seconds unless stated"),
        pytest.param(rayjob(), 10, "SUCCEEDED", 10, id="ten seconds over"),
        pytest.param(rayjob(run_seconds="soon"), 10, "SUCCEEDED", 10, id="no number: the default"),
        pytest.param(rayjob(run_seconds="-1"), 0, "SUCCEEDED", 0, id="negative: at once"),
    ],
)
def test_job_over_time(job: Object, after: float, status: str, ran: float | None) -> None:
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
def test_when_the_submitter_began(state: dict[str, Any] | None, started: float | None) -> None:
    assert container_start(submitter(state)) == started


@pytest.mark.parametrize(
    ("outcome", "phase", "code"),
    [("SUCCEEDED", "Succeeded", 0), ("FAILED", "Failed", 1), ("STOPPED", "Succeeded", 0)],
)
def test_the_submitter_ends_as_ray_job_submit_would(outcome: str, phase: str, code: int) -> None:
    status = ended_status(
        submitter({"running": {"startedAt": "2030-03-17T17:46:40Z"}}), JobInfo(outcome, STARTED, 1)
    )
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
    assert [c["status"] for c in status["conditions"]] == ["False"]


def test_the_submitter_names_its_submission() -> None:
    assert submission_id(submitter()) == "j-abc"
    assert submission_id({"spec": {"containers": [{}]}}) == ""


class KnownJobs:
    """Jobs as the HTTP server asks for them, without a cluster."""

    def __init__(self) -> None:
        self.known = {"j-abc": JobInfo("RUNNING", STARTED, None)}

    def info(self, submission: str) -> JobInfo | None:
        return self.known.get(submission)

    def submit(self, submission: str) -> bool:
        new = submission not in self.known
        self.known[submission] = JobInfo("RUNNING", STARTED, None)
        return new

    def stop(self, submission: str) -> bool:
        return submission in self.known


@pytest.fixture
def port() -> Iterator[int]:
    server = serve(KnownJobs(), 0)  # type: ignore[arg-type]  # the three calls it makes are there
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def ask(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """The way the operator asks: by the head service's URL, with us as its proxy."""
    request = urllib.request.Request(
        f"http://head.t.svc.cluster.local:8265{path}",
        method=method,
        data=json.dumps(body).encode() if body else None,
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{port}"}))
    try:
        with opener.open(request, timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "holds"),
    [
        pytest.param("GET", "/api/jobs/j-abc", None, 200, {"status": "RUNNING"}, id="known job"),
        pytest.param(
            "GET", "/api/jobs/j-abc", None, 200, {"start_time": 1_900_000_000_000}, id="milliseconds"
        ),
        pytest.param("GET", "/api/jobs/other", None, 404, {}, id="not submitted yet"),
        pytest.param("GET", "/api/serve/applications/", None, 404, {}, id="Ray Serve is not played"),
        pytest.param(
            "GET", "/api/jobs/j-abc/logs", None, 200, {"logs": "The sandbox's job is RUNNING.\n"}, id="logs"
        ),
        pytest.param("POST", "/api/jobs/", {"submission_id": "n"}, 200, {"submission_id": "n"}, id="submit"),
        pytest.param("POST", "/api/jobs/", {"submission_id": "j-abc"}, 500, {}, id="submitted before"),
        pytest.param("POST", "/api/jobs/", {"entrypoint": "x"}, 400, {}, id="no submission id"),
        pytest.param("POST", "/api/jobs/j-abc/stop", None, 200, {"stopped": True}, id="stop"),
        pytest.param("POST", "/api/jobs/other/stop", None, 200, {"stopped": False}, id="nothing to stop"),
        pytest.param("DELETE", "/api/jobs/j-abc", None, 200, {"deleted": True}, id="delete"),
    ],
)
def test_endpoints(port: int, method: str, path: str, body: Any, code: int, holds: dict[str, Any]) -> None:
    answered, content = ask(port, method, path, body)
    assert answered == code
    assert holds.items() <= content.items()
