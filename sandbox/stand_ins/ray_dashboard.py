"""Stand-in for Ray's dashboard: a forward proxy for the unmodified KubeRay operator.

Run as `python -m sandbox.stand_ins.ray_dashboard --kubeconfig FILE --port N`, with
`HTTP_PROXY=http://127.0.0.1:N` in the operator's environment: it receives the operator's calls to
`http://<head service>:8265/api/...` and to Serve's proxy at `http://<head pod>:8000/-/healthz`. `ray_jobs.py`
simulates the jobs, `ray_serve.py` Ray Serve. With `--ray PYTHON --logs FOLDER`, a local Ray executes the jobs
(`real_jobs.py`). Ray's autoscalers (`ray_autoscaler.py`) run in the same process.

Not simulated: authentication; without `--ray`, also logs and runtime environments.
"""

import argparse
import json
import logging
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sandbox.cluster import kinds
from sandbox.stand_ins.ray_autoscaler import Autoscalers
from sandbox.stand_ins.ray_jobs import Jobs
from sandbox.stand_ins.ray_serve import Serve
from sandbox.stand_ins.real_jobs import RealJobs

JOBS_PATH = "/api/jobs/"
SERVE_PATH = "/api/serve/applications/"
HEALTH_PATH = "/-/healthz"
NO_HEAD = {"error": "no head is running at this address"}
BODY_BYTES_MAX = 1_000_000


class Handler(BaseHTTPRequestHandler):
    """Serves Ray's endpoints for jobs and Serve, by absolute URL (as a proxy) or by path."""

    jobs: Jobs
    serve: Serve
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Serves `/api/jobs/<id>` and its `/logs`, `/api/serve/applications/`, `/-/healthz`."""
        url = urlsplit(self.path)
        if url.path == SERVE_PATH:
            details = self.serve.details(url.hostname or "")
            self._answer(503 if details is None else 200, details or NO_HEAD)
        elif url.path == HEALTH_PATH:
            healthy = self.serve.proxy_answers(url.hostname or "")
            self._answer(200 if healthy else 503, {"healthy": healthy})
        else:
            self._send_job()

    def do_POST(self) -> None:
        """Submits a job at `/api/jobs/`, or stops a job at `/api/jobs/<id>/stop`."""
        submission, action = self._job()
        body = self._body()
        if body is None:
            return
        if submission:
            self._answer(200, {"stopped": action == "stop" and self.jobs.stop(submission)})
        else:
            self._submit(body)

    def do_PUT(self) -> None:
        """Deploys applications at `/api/serve/applications/`."""
        url, body = urlsplit(self.path), self._body()
        if body is None:
            return
        if url.path != SERVE_PATH:
            self._answer(404, {"error": f"{self.path} does not exist"})
            return
        try:
            deployed = self.serve.deploy(url.hostname or "", json.loads(body))
        except ValueError as error:
            self._answer(400, {"error": str(error)})
            return
        self._answer(200 if deployed else 503, {} if deployed else NO_HEAD)

    def do_DELETE(self) -> None:
        """Accepts `/api/jobs/<id>` without effect: the job ends with its RayJob."""
        self._answer(200, {"deleted": True})

    def _send_job(self) -> None:
        submission, action = self._job()
        info = self.jobs.info(submission) if submission else None
        if info is None:
            self._answer(404, {"error": f"Job {submission or self.path} does not exist"})
        elif action == "logs":
            self._answer(200, {"logs": self.jobs.logs(submission)})
        else:
            self._answer(200, info.body(submission))

    def _submit(self, body: bytes) -> None:
        try:
            submission = str(json.loads(body)["submission_id"])
        except (ValueError, KeyError, TypeError):
            self._answer(400, {"error": "expected a JSON object with submission_id"})
            return
        if self.jobs.submit(submission):
            self._answer(200, {"job_id": submission, "submission_id": submission})
        else:
            # KubeRay recognizes by this message that the job was submitted before.
            self._answer(500, {"error": f"{submission} exists. Please use a different submission_id."})

    def _job(self) -> tuple[str, str]:
        """Returns the submission id and the action in the path, each empty if missing."""
        path = urlsplit(self.path).path
        if not path.startswith(JOBS_PATH):
            return "", ""
        submission, _, action = path.removeprefix(JOBS_PATH).partition("/")
        return submission, action

    def _body(self) -> bytes | None:
        """Returns the body; None after rejecting a body that is too long."""
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_BYTES_MAX:
            self.close_connection = True
            self._answer(413, {"error": f"the body has {length} bytes; expected at most {BODY_BYTES_MAX}"})
            return None
        return self.rfile.read(length)

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing, as the operator polls every job every few seconds."""


def serve(jobs: Jobs, applications: Serve, port: int) -> ThreadingHTTPServer:
    """Returns a server on the loopback interface, which the caller runs."""
    handler = type("DashboardHandler", (Handler,), {"jobs": jobs, "serve": applications})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    return server


def main() -> None:
    """Runs the stand-in until it is killed."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.stand_ins.ray_dashboard")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="the cluster whose Ray to simulate")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1 to listen on")
    parser.add_argument("--ray", type=Path, help="a Python with Ray that executes the jobs")
    parser.add_argument("--logs", type=Path, help="folder of the logs of executed jobs")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    client = kinds.connect(arguments.kubeconfig)
    jobs = RealJobs(client, arguments.ray, arguments.logs) if arguments.ray else Jobs(client)
    applications = Serve(client)
    jobs.start()
    applications.start()
    Autoscalers(client).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        serve(jobs, applications, arguments.port).serve_forever()
    finally:
        jobs.close()


if __name__ == "__main__":
    main()
