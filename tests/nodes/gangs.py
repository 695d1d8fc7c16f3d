"""Gangs on real nodes: training of any size, and the state of its pods and its Workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.scenario import EXAMPLES
from sandbox.scenarios.resumed_training import NAMESPACE, RESUMED, last_step, submit
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL, output

START_SECONDS_MAX = 300.0
"""Time from the admission of a gang to its first output, on a busy machine."""
JOB_LABEL = "batch.kubernetes.io/job-name"
_STEPS = "STEPS, RATE, WORKERS = 20,"


@dataclass(frozen=True)
class Gang:
    """A training job like examples/cpu-train.rayjob.yaml."""

    kubectl: Kubectl
    job: str

    def step(self) -> int:
        """Returns the last step that the job's current submitter has printed."""
        return last_step(output(self.kubectl, self.job))

    def wait_for_step(self, step: int, seconds_max: float = START_SECONDS_MAX) -> None:
        """Waits until training has reached the step."""
        self.wait(f"step {step} of {self.job}", lambda: self.step() >= step, seconds_max)

    def wait_to_resume(self) -> None:
        """Waits until training runs again from its checkpoint."""

        def resumed() -> bool:
            return RESUMED.search(output(self.kubectl, self.job)) is not None

        self.wait(f"{self.job} to resume", resumed, START_SECONDS_MAX)

    def pods(self) -> list[Object]:
        """Returns the pods of its heads, workers and submitters."""
        pods = self.kubectl.objects("pods", "--namespace", NAMESPACE)
        return [pod for pod in pods if self._owns(pod["metadata"].get("labels", {}))]

    def _owns(self, labels: Mapping[str, str]) -> bool:
        ray_cluster, job = labels.get(CLUSTER_LABEL, ""), labels.get(JOB_LABEL, "")
        return job == self.job or ray_cluster.startswith(f"{self.job}-")

    def nodes(self) -> list[str]:
        """Returns the node of each of its pods."""
        return [pod["spec"].get("nodeName", "") for pod in self.pods()]

    def workload(self) -> Object:
        """Returns its Workload. Raises StopIteration if it has none yet."""
        workloads = self.kubectl.objects("workloads", "--namespace", NAMESPACE)
        return next(w for w in workloads if w["metadata"]["ownerReferences"][0]["name"] == self.job)

    def wait(self, what: str, done: Callable[[], bool], seconds_max: float) -> None:
        """Waits for something that takes seconds. Raises StepError."""
        wait_until(what, done, seconds_max, pause_seconds=0.5)


@contextmanager
def training(
    kubectl: Kubectl,
    folder: Path,
    name: str,
    *,
    steps: int = 20,
    change: Callable[[dict[str, Any]], None] = lambda job: None,
) -> Iterator[Gang]:
    """Submits training under this name, and deletes it at the end; `change` edits its RayJob."""
    text = (EXAMPLES / "cpu-train.rayjob.yaml").read_text()
    assert _STEPS in text
    documents = list(yaml.safe_load_all(text.replace(_STEPS, f"STEPS, RATE, WORKERS = {steps},")))
    for document in documents:
        meta = document["metadata"]
        meta["name"] = f"{name}-{document['kind'].lower()}" if "name" in meta else name
        meta.pop("generateName", None)
        if document["kind"] == "RayJob":
            script, checkpoints = head_of(document)["template"]["spec"]["volumes"]
            script["configMap"]["name"] = f"{name}-configmap"
            checkpoints["persistentVolumeClaim"]["claimName"] = f"{name}-persistentvolumeclaim"
            change(document)
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    gang = Gang(kubectl, submit(kubectl, file))
    try:
        yield gang
    finally:
        kubectl.run("delete", "--ignore-not-found", "-f", str(file), timeout_seconds=120)
        gang.wait(f"the end of {name}", lambda: not gang.pods(), 120)
        release_volumes(kubectl)


def release_volumes(kubectl: Kubectl) -> None:
    """Makes volumes of deleted claims available to others: a sandbox has only a few."""
    for volume in kubectl.objects("persistentvolumes"):
        if volume["status"]["phase"] == "Released":
            patch = '[{"op": "remove", "path": "/spec/claimRef"}]'
            kubectl.run("patch", "pv", volume["metadata"]["name"], "--type=json", "-p", patch)


def head_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the head group of a RayJob."""
    head: dict[str, Any] = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    return head


def workers_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the worker group of a RayJob."""
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    workers: dict[str, Any] = group
    return workers


def container_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the container of a head or worker group."""
    (container,) = group["template"]["spec"]["containers"]
    ray: dict[str, Any] = container
    return ray


def is_worker(pod: Object) -> bool:
    """Returns whether a pod is a worker's."""
    return bool(pod["metadata"].get("labels", {}).get("ray.io/node-type") == "worker")


def uids(pods: Iterable[Object]) -> set[str]:
    """Returns the UIDs of the pods."""
    return {str(pod["metadata"]["uid"]) for pod in pods}
