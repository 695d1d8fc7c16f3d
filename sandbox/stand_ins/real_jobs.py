"""Ray jobs that a real Ray executes, one local head for each RayJob: `make up RAY=real`.

A head starts when the simulated jobs would begin, and is killed with its head pod, as on a preemption. What a
job prints is appended to the log `job-<RayJob>` of the sandbox. A mounted ConfigMap's files are written to a
folder; a mounted claim is the folder of its volume.

Not simulated: several nodes and the loss of one, images. Ray Serve, and RayClusters without a job, stay
simulated.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from pathlib import Path

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.stand_ins import ray_pod
from sandbox.stand_ins.local_ray import Answer, LocalRay
from sandbox.stand_ins.ray_jobs import JobInfo, Jobs, job_id
from sandbox.stand_ins.ray_serve import CLUSTER_LABEL, HEAD_LABELS
from sandbox.stand_ins.reflector import Reflector

POLL_SECONDS = 0.5
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")

log = logging.getLogger("real-jobs")


class RealJobs(Jobs):
    """The jobs of all RayJobs, as their own Rays report them."""

    def __init__(self, client: Client, python: Path, logs: Path) -> None:
        """`python` has Ray installed; `logs` is the folder of the sandbox's logs."""
        super().__init__(client)
        self._python, self._logs = python, logs
        self._heads = Reflector(client, kinds.Pod, lambda *_: None, labels=HEAD_LABELS)
        self._infos: dict[str, JobInfo] = {}
        self._printed: dict[str, bytes] = {}
        self._begun: set[str] = set()
        self._rays: dict[str, LocalRay] = {}

    def start(self) -> None:
        """Starts the watches, and a thread that starts a Ray for each job that begins."""
        super().start()
        self._heads.start()
        threading.Thread(target=self._start_jobs, name="jobs", daemon=True).start()

    def info(self, submission: str) -> JobInfo | None:
        """Returns the job as Ray last reported it; None before Ray has accepted it."""
        return self._infos.get(submission)

    def close(self) -> None:
        """Ends every Ray."""
        for ray in list(self._rays.values()):
            ray.stop()
            ray.remove()

    def logs(self, submission: str) -> str:
        """Returns what the job has printed."""
        return self._printed.get(submission, b"").decode(errors="replace")

    def _start_jobs(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            for rayjob in self._rayjobs.objects():
                submission = job_id(rayjob)
                begins = submission not in self._begun and self.began(submission) is not None
                if begins and self._head_pod(rayjob) is not None:
                    self._begun.add(submission)
                    threading.Thread(target=self._run, args=(rayjob, submission), daemon=True).start()

    def _run(self, rayjob: Object, submission: str) -> None:
        """Runs one job until its head pod is gone."""
        name = kinds.key(rayjob)[1]
        folder = Path(tempfile.mkdtemp(prefix="muster-ray-"))
        try:
            program = ray_pod.program(rayjob, self._folders(rayjob, folder))
        except (ApiError, httpx2.HTTPError, ValueError, KeyError) as error:
            self._fail(submission, f"{name}: {error!r}")
            return
        ray = LocalRay(self._python, program, ray_pod.gpus(rayjob), folder, self._logs / "real-ray.log")
        self._rays[submission] = ray
        while not ray.ready() and not self._is_over(ray, rayjob):
            time.sleep(POLL_SECONDS)
        ray.submit(submission, program)
        while not self._is_over(ray, rayjob):
            self._report(submission, name, ray)
            time.sleep(POLL_SECONDS)
        if ray.ended():
            self._fail(submission, f"{name}: its Ray has ended; see the log real-ray")
        ray.stop()
        self._print(submission, name, ray)
        ray.remove()

    def _fail(self, submission: str, message: str) -> None:
        now = time.time()
        self._infos[submission] = JobInfo("FAILED", now, now, message)

    def _is_over(self, ray: LocalRay, rayjob: Object) -> bool:
        return ray.ended() or self._head_pod(rayjob) is None

    def _report(self, submission: str, name: str, ray: LocalRay) -> None:
        details = ray.job(submission)
        self._print(submission, name, ray)
        if details is not None:
            self._infos[submission] = job_info_of(details)

    def _print(self, submission: str, name: str, ray: LocalRay) -> None:
        """Appends to the job's log what it has printed since the last time."""
        printed = ray.driver_log(submission)
        before = len(self._printed.get(submission, b""))
        self._printed[submission] = printed
        with (self._logs / f"job-{name}.log").open("ab") as output:
            output.write(printed[before:])

    def _head_pod(self, rayjob: Object) -> Object | None:
        """Returns the running head pod of the RayCluster that the job had when it began."""
        namespace, cluster = kinds.key(rayjob)[0], (rayjob.get("status") or {}).get("rayClusterName")
        for pod in self._heads.objects():
            mine = kinds.key(pod)[0] == namespace and pod["metadata"]["labels"].get(CLUSTER_LABEL) == cluster
            deleted = pod["metadata"].get("deletionTimestamp") is not None
            if mine and not deleted and (pod.get("status") or {}).get("phase") == "Running":
                return pod
        return None

    def _folders(self, rayjob: Object, folder: Path) -> dict[str, Path]:
        """Returns a folder for each mount of the head, with the files of its ConfigMap."""
        namespace, found = kinds.key(rayjob)[0], {}
        for number, (path, volume) in enumerate(ray_pod.mounts(rayjob).items()):
            if "persistentVolumeClaim" in volume:
                name = volume["persistentVolumeClaim"]["claimName"]
                claim = self._client.get(kinds.PersistentVolumeClaim, name, namespace=namespace)
                disk = self._client.get(kinds.PersistentVolume, claim["spec"]["volumeName"])
                found[path] = Path(disk["spec"]["hostPath"]["path"])
                continue
            found[path] = folder / str(number)
            found[path].mkdir()
            if "configMap" in volume:
                files = self._client.get(kinds.ConfigMap, volume["configMap"]["name"], namespace=namespace)
                for key, text in (files.get("data") or {}).items():
                    (found[path] / key).write_text(text)
        return found


def job_info_of(details: Answer) -> JobInfo:
    """Returns the state of a job from Ray's details; PENDING counts as running until Ray says more."""
    status = details["status"] if details["status"] in ENDED else "RUNNING"
    ended = details["end_time"] / 1000 if status in ENDED and details.get("end_time") else None
    started = (details.get("start_time") or 0) / 1000
    return JobInfo(status, started, ended, str(details.get("message") or ""))
