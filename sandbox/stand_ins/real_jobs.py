"""Executes Ray jobs with a real Ray, with a local head for each RayJob: `make up RAY=real`.

A head starts when a simulated job would start, and is killed when its head pod ends, as on a preemption. The
output of a job is appended to the sandbox's log `job-<RayJob>`. The files of a mounted ConfigMap are written
to a folder; a mounted claim is the folder of its volume.

Not simulated: several nodes, the loss of a node, images. Ray Serve, and RayClusters without a job, are still
simulated.
"""

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
from sandbox.stand_ins.local_ray import JobDetails, LocalRay
from sandbox.stand_ins.ray_jobs import JobInfo, Jobs, job_id
from sandbox.stand_ins.ray_serve import CLUSTER_LABEL, HEAD_LABELS
from sandbox.stand_ins.reflector import Reflector

POLL_SECONDS = 0.5
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")

log = logging.getLogger("real-jobs")


class RealJobs(Jobs):
    """The jobs of all RayJobs, as reported by their Ray heads."""

    def __init__(self, client: Client, python: Path, logs: Path) -> None:
        """Creates the jobs; `python` has Ray installed, and `logs` is the folder of the sandbox's logs."""
        super().__init__(client)
        self._python, self._logs = python, logs
        self._heads = Reflector(client, kinds.Pod, lambda *_: None, labels=HEAD_LABELS)
        self._infos: dict[str, JobInfo] = {}
        self._printed: dict[str, bytes] = {}
        self._begun: set[str] = set()
        self._rays: dict[str, LocalRay] = {}

    def start(self) -> None:
        """Starts the watches, and a thread that starts a Ray head for each job."""
        super().start()
        self._heads.start()
        threading.Thread(target=self._start_jobs, name="jobs", daemon=True).start()

    def info(self, submission: str) -> JobInfo | None:
        """Returns Ray's last report of the job; None before Ray has accepted it."""
        return self._infos.get(submission)

    def close(self) -> None:
        """Ends all Ray heads."""
        for ray in list(self._rays.values()):
            ray.stop()
            ray.remove()

    def logs(self, submission: str) -> str:
        """Returns the output of the job."""
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
        """Runs a job until its head pod is deleted."""
        name = kinds.key(rayjob)[1]
        folder = Path(tempfile.mkdtemp(prefix="muster-ray-"))
        try:
            program = ray_pod.program(rayjob, self._folders(rayjob, folder))
        except (ApiError, httpx2.HTTPError, ValueError, KeyError) as error:
            self._fail(submission, f"{name}: {error!r}")
            return
        ray = LocalRay(self._python, program, ray_pod.gpus(rayjob), folder, self._logs / "real-ray.log")
        self._rays[submission] = ray
        while not ray.ready() and not self._has_ended(ray, rayjob):
            time.sleep(POLL_SECONDS)
        ray.submit(submission, program)
        while not self._has_ended(ray, rayjob):
            self._report(submission, name, ray)
            time.sleep(POLL_SECONDS)
        if ray.ended():
            self._fail(submission, f"{name}: its Ray head has ended; see the log real-ray")
        ray.stop()
        self._print(submission, name, ray)
        ray.remove()

    def _fail(self, submission: str, message: str) -> None:
        now = time.time()
        self._infos[submission] = JobInfo("FAILED", now, now, message)

    def _has_ended(self, ray: LocalRay, rayjob: Object) -> bool:
        return ray.ended() or self._head_pod(rayjob) is None

    def _report(self, submission: str, name: str, ray: LocalRay) -> None:
        details = ray.job(submission)
        self._print(submission, name, ray)
        if details is not None:
            self._infos[submission] = job_info_of(details)

    def _print(self, submission: str, name: str, ray: LocalRay) -> None:
        """Appends the job's new output to its log."""
        printed = ray.driver_log(submission)
        before = len(self._printed.get(submission, b""))
        self._printed[submission] = printed
        with (self._logs / f"job-{name}.log").open("ab") as output:
            output.write(printed[before:])

    def _head_pod(self, rayjob: Object) -> Object | None:
        """Returns the running head pod of the RayCluster that the job had at its start; None if there is
        none."""
        namespace, cluster = kinds.key(rayjob)[0], (rayjob.get("status") or {}).get("rayClusterName")
        for pod in self._heads.objects():
            label = pod["metadata"]["labels"].get(CLUSTER_LABEL)
            deleted = pod["metadata"].get("deletionTimestamp") is not None
            if (
                (kinds.key(pod)[0], label) == (namespace, cluster)
                and not deleted
                and (pod.get("status") or {}).get("phase") == "Running"
            ):
                return pod
        return None

    def _folders(self, rayjob: Object, folder: Path) -> dict[str, Path]:
        """Creates a folder for each mount of the head, with the files of its ConfigMap. Returns the folders
        by mount path."""
        namespace, folders = kinds.key(rayjob)[0], {}
        for number, (path, volume) in enumerate(ray_pod.mounts(rayjob).items()):
            if "persistentVolumeClaim" in volume:
                name = volume["persistentVolumeClaim"]["claimName"]
                claim = self._client.get(kinds.PersistentVolumeClaim, name, namespace=namespace)
                disk = self._client.get(kinds.PersistentVolume, claim["spec"]["volumeName"])
                folders[path] = Path(disk["spec"]["hostPath"]["path"])
                continue
            folders[path] = folder / str(number)
            folders[path].mkdir()
            if "configMap" in volume:
                files = self._client.get(kinds.ConfigMap, volume["configMap"]["name"], namespace=namespace)
                for key, text in (files.get("data") or {}).items():
                    (folders[path] / key).write_text(text)
        return folders


def job_info_of(details: JobDetails) -> JobInfo:
    """Returns the state of a job from Ray's details; a PENDING job counts as running."""
    status = details["status"] if details["status"] in ENDED else "RUNNING"
    ended = details["end_time"] / 1000 if status in ENDED and details.get("end_time") else None
    started = (details.get("start_time") or 0) / 1000
    return JobInfo(status, started, ended, str(details.get("message") or ""))
