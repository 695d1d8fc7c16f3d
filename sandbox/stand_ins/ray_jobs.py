"""Simulates Ray jobs for the dashboard's stand-in, based on their RayJobs and submitter pods.

The RayJob's annotations `sandbox.muster.dev/run-seconds` (default 10) and `sandbox.muster.dev/outcome`
(SUCCEEDED or FAILED) set the duration and the outcome of a job. In K8sJobMode it starts when its submitter
pod runs, and ends that pod like `ray job submit`; both are read from the API server, so a restart loses no
state. In HTTPMode it starts when it is POSTed; a restart loses that.
"""

import datetime
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.types import PatchType

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.stand_ins.reflector import Reflector

RUN_SECONDS = "sandbox.muster.dev/run-seconds"
OUTCOME = "sandbox.muster.dev/outcome"
RUN_SECONDS_DEFAULT = 10.0
SUBMITTED_MAX = 10_000
LOOK_SECONDS = 0.25
SUBMITTER_LABEL = "batch.kubernetes.io/job-name"

log = logging.getLogger("ray-jobs")


@dataclass(frozen=True)
class JobInfo:
    """The state of a Ray job; times are in seconds since the epoch."""

    status: str
    started: float
    ended: float | None
    message: str = "The sandbox's job is simulated."

    def body(self, submission_id: str) -> dict[str, Any]:
        """Returns the response of the REST API: the fields of ray.dashboard's JobDetails that KubeRay
        reads."""
        return {
            "submission_id": submission_id,
            "status": self.status,
            "message": self.message,
            "start_time": int(self.started * 1000),
            **({"end_time": int(self.ended * 1000)} if self.ended is not None else {}),
        }


def run_seconds(rayjob: Object) -> float:
    """Returns the job's duration; the default if the annotation is absent or not a number."""
    text = (rayjob["metadata"].get("annotations") or {}).get(RUN_SECONDS, "")
    try:
        return max(0.0, float(text))
    except ValueError:
        if text:
            log.warning("%s: %s: expected seconds, got %r", "/".join(kinds.key(rayjob)), RUN_SECONDS, text)
        return RUN_SECONDS_DEFAULT


def job_info(rayjob: Object, started: float, now: float) -> JobInfo:
    """Returns the state at `now` of a job that began at `started`."""
    ends = started + run_seconds(rayjob)
    if now < ends:
        return JobInfo("RUNNING", started, None)
    outcome = (rayjob["metadata"].get("annotations") or {}).get(OUTCOME, "SUCCEEDED")
    return JobInfo("FAILED" if outcome == "FAILED" else "SUCCEEDED", started, ends)


def submission_id(pod: Object) -> str:
    """Returns the submission id in the environment of a submitter pod, which KubeRay sets."""
    env = pod["spec"]["containers"][0].get("env") or []
    return next((str(e.get("value", "")) for e in env if e["name"] == "RAY_JOB_SUBMISSION_ID"), "")


def container_start(pod: Object) -> float | None:
    """Returns the start time of the submitter's container, even if it has ended; None before its start."""
    for status in (pod.get("status") or {}).get("containerStatuses") or []:
        state = status.get("state") or {}
        since = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if since:
            return datetime.datetime.fromisoformat(since).timestamp()
    return None


def ended_status(pod: Object, info: JobInfo) -> Object:
    """Returns the pod's status after `ray job submit` has exited with the job's outcome."""
    failed = info.status == "FAILED"
    finished = _rfc3339(time.time())
    container = pod["spec"]["containers"][0]
    terminated = {
        "exitCode": int(failed),
        "reason": "Error" if failed else "Completed",
        "startedAt": _rfc3339(container_start(pod) or info.started),
        "finishedAt": finished,
    }
    ended = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"terminated": terminated},
    }
    not_ready = {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": finished}
    conditions = [c for c in pod["status"].get("conditions") or [] if c["type"] != "Ready"]
    return {
        "phase": "Failed" if failed else "Succeeded",
        "conditions": [*conditions, not_ready],
        "containerStatuses": [ended],
    }


def _rfc3339(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Jobs:
    """The simulated Ray jobs, based on their RayJobs and submitter pods."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.time) -> None:
        self._client, self._clock = client, clock
        self._rayjobs = Reflector(client, kinds.RayJob, lambda *_: None)
        self._submitters = Reflector(client, kinds.Pod, lambda *_: None, labels={SUBMITTER_LABEL: None})
        self._lock = threading.Lock()
        self._posted: OrderedDict[str, float] = OrderedDict()
        self._stopped: OrderedDict[str, JobInfo] = OrderedDict()

    def start(self) -> None:
        """Starts the watches, and a thread that ends the submitter pods of finished jobs."""
        for reflector in (self._rayjobs, self._submitters):
            reflector.start()
        threading.Thread(target=self._end_submitters, name="submitters", daemon=True).start()

    def close(self) -> None:
        """Ends the execution of jobs; does nothing for simulated jobs."""

    def info(self, submission: str) -> JobInfo | None:
        """Returns the job, or None before it is submitted."""
        with self._lock:
            if submission in self._stopped:
                return self._stopped[submission]
        rayjob = next((j for j in self._rayjobs.objects() if job_id(j) == submission), None)
        began = self.began(submission)
        return job_info(rayjob, began, self._clock()) if rayjob and began is not None else None

    def began(self, submission: str) -> float | None:
        """Returns the time at which the job was POSTed or its submitter started; None before that."""
        with self._lock:
            posted = self._posted.get(submission)
        # The earliest start, as the job of a retried submitter is already running.
        starts = [container_start(p) for p in self._submitters.objects() if submission_id(p) == submission]
        return min((s for s in (*starts, posted) if s is not None), default=None)

    def logs(self, submission: str) -> str:
        """Returns the output of the job; that of a simulated job is its status."""
        info = self.info(submission)
        return f"The sandbox's job is {info.status}.\n" if info else ""

    def submit(self, submission: str) -> bool:
        """Starts a POSTed job; returns False if the submission already exists."""
        if self.info(submission) is not None:
            return False
        with self._lock:
            self._posted[submission] = self._clock()
            while len(self._posted) > SUBMITTED_MAX:
                self._posted.popitem(last=False)
        return True

    def stop(self, submission: str) -> bool:
        """Stops a running job; returns False if it does not run."""
        info = self.info(submission)
        if info is None or info.status != "RUNNING":
            return False
        with self._lock:
            self._stopped[submission] = JobInfo("STOPPED", info.started, self._clock())
            while len(self._stopped) > SUBMITTED_MAX:
                self._stopped.popitem(last=False)
        return True

    def _end_submitters(self) -> None:
        while True:
            time.sleep(LOOK_SECONDS)
            for pod in self._submitters.objects():
                running = (pod.get("status") or {}).get("phase") == "Running"
                info = self.info(submission_id(pod)) if running else None
                if info is not None and info.status != "RUNNING":
                    self._end(pod, info)

    def _end(self, pod: Object, info: JobInfo) -> None:
        namespace, name = kinds.key(pod)
        patch = {"status": ended_status(pod, info)}
        try:
            self._client.patch(kinds.Pod.Status, name, patch, namespace=namespace, patch_type=PatchType.MERGE)
            log.info("%s/%s: submitter ended, job %s", namespace, name, info.status)
        except (ApiError, httpx2.HTTPError) as error:
            log.info("%s/%s: submitter not ended yet: %s", namespace, name, error)


def job_id(rayjob: Object) -> str:
    """Returns the submission id that KubeRay chose for the job's current start; empty before that."""
    return str((rayjob.get("status") or {}).get("jobId", ""))
