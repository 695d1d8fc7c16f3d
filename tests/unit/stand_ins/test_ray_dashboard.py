"""The dashboard's stand-in over HTTP, with the requests of KubeRay's operator."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.stand_ins.ray_dashboard import serve
from sandbox.stand_ins.ray_jobs import JobInfo
from sandbox.stand_ins.ray_serve import read_config

STARTED = 1_900_000_000.0
HEAD = "llm-abcde-head-svc.t.svc.cluster.local"


class KnownJobs:
    """Jobs for the HTTP server, without a cluster."""

    def __init__(self) -> None:
        self.jobs = {"j-abc": JobInfo("RUNNING", STARTED, None)}

    def info(self, submission: str) -> JobInfo | None:
        return self.jobs.get(submission)

    def logs(self, submission: str) -> str:
        return f"printed by {submission}\n"

    def submit(self, submission: str) -> bool:
        new = submission not in self.jobs
        self.jobs[submission] = JobInfo("RUNNING", STARTED, None)
        return new

    def stop(self, submission: str) -> bool:
        return submission in self.jobs


class KnownServe:
    """Applications of the only cluster with a head."""

    def details(self, host: str) -> dict[str, Any] | None:
        return {"applications": {}} if host == HEAD else None

    def deploy(self, host: str, config: object) -> bool:
        read_config(config)
        return host == HEAD

    def proxy_answers(self, host: str) -> bool:
        return host == HEAD


@pytest.fixture
def port() -> Iterator[int]:
    server = serve(KnownJobs(), KnownServe(), 0)  # type: ignore[arg-type]  # the calls it makes are there
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def ask(port: int, method: str, path: str, body: Any = None, host: str = HEAD) -> tuple[int, Any]:
    """Sends a request as the operator does: to the head service's URL, with us as its proxy."""
    request = urllib.request.Request(
        f"http://{host}:8265{path}",
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
        pytest.param(
            "GET",
            "/api/serve/applications/?api_type=declarative",
            None,
            200,
            {"applications": {}},
            id="serve",
        ),
        pytest.param("PUT", "/api/serve/applications/", {"applications": []}, 200, {}, id="deploy"),
        pytest.param(
            "PUT",
            "/api/serve/applications/",
            {"apps": []},
            400,
            {"error": "expected a JSON object with a list of applications"},
            id="deploy nonsense",
        ),
        pytest.param("PUT", "/api/jobs/", {}, 404, {}, id="PUT of another path"),
        pytest.param("GET", "/-/healthz", None, 200, {"healthy": True}, id="Serve's proxy"),
        pytest.param("GET", "/api/jobs/j-abc/logs", None, 200, {"logs": "printed by j-abc\n"}, id="logs"),
        pytest.param("POST", "/api/jobs/", {"submission_id": "n"}, 200, {"submission_id": "n"}, id="submit"),
        pytest.param("POST", "/api/jobs/", {"submission_id": "j-abc"}, 500, {}, id="submitted before"),
        pytest.param("POST", "/api/jobs/", {"entrypoint": "x"}, 400, {}, id="no submission id"),
        pytest.param("POST", "/api/jobs/j-abc/stop", None, 200, {"stopped": True}, id="stop"),
        pytest.param("POST", "/api/jobs/other/stop", None, 200, {"stopped": False}, id="nothing to stop"),
        pytest.param("DELETE", "/api/jobs/j-abc", None, 200, {"deleted": True}, id="delete"),
    ],
)
def test_endpoint_answers_the_operators_request(
    port: int, method: str, path: str, body: Any, code: int, holds: dict[str, Any]
) -> None:
    answered, content = ask(port, method, path, body)
    assert answered == code
    assert holds.items() <= content.items()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/serve/applications/", None),
        ("PUT", "/api/serve/applications/", {"applications": []}),
        ("GET", "/-/healthz", None),
    ],
)
def test_requests_without_a_running_head_are_unavailable(
    port: int, method: str, path: str, body: Any
) -> None:
    assert ask(port, method, path, body, host="other-head-svc.t.svc.cluster.local")[0] == 503
