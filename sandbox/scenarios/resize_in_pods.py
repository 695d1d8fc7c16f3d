"""A scenario in real pods: a worker is resized in place, up to the size for which its job holds quota.

Ray 2.52 does not resize pods yet, so the scenario resizes one itself, with the account of the job's
autoscaler.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from sandbox.cluster.kinds import Object, condition
from sandbox.cluster.kubectl import Kubectl
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import NAMESPACE
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL, list_pods, wait
from tools.toolchain.steps import Screen, StepError

JOB = "cpu-resize"
GROUP = "cpu"
MAXIMA = {"cpu": "600m", "memory": "1536Mi"}
LARGE, BEYOND = {"cpu": "550m", "memory": "1536Mi"}, {"cpu": "550m", "memory": "2Gi"}
"""Sizes with less CPU than its limit, MAXIMA, as a resize cannot change the class of service of a pod."""
POLICY = "muster-pods-of-gangs-do-not-grow"
_PATCH = """
import sys, requests
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
headers = {
    "Authorization": "Bearer " + open(folder + "token").read(),
    "Content-Type": "application/strategic-merge-patch+json",
}
url = "https://kubernetes.default.svc" + sys.argv[1]
answer = requests.patch(url, data=sys.argv[2], headers=headers, verify=folder + "ca.crt", timeout=30)
print("" if answer.ok else answer.json()["message"])
"""


def play(kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits a job whose workers may grow, resizes a worker, and deletes the job.

    Raises StepError if a wait takes too long, a resize restarts the container, or a resize beyond the quota
    is not refused.
    """
    note = Notes(screen).add
    kubectl.create([resizable(yaml.safe_load((examples / "cpu-elastic.rayjob.yaml").read_text()))])
    note(f"{JOB}: submitted; its worker may grow to {_text(MAXIMA)}")
    try:
        wait(f"the worker of {JOB}", lambda: bool(_running(kubectl)))
        (worker,) = _running(kubectl)
        small = dict(_container(worker)["resources"]["requests"])
        note(f"{JOB}: the worker runs with {_text(small)}, and {counted(kubectl)} of CPU are reserved")
        for size in (LARGE, small):
            if error := resize(kubectl, size):
                raise StepError(f"{_text(size)} is refused: {error}")
            wait(f"the size {_text(size)}", partial(is_enacted, kubectl, size))
            note(f"{JOB}: the kubelet has resized the worker to {_text(size)}, without a restart")
        error = resize(kubectl, BEYOND)
        if POLICY not in error:
            raise StepError(f"{_text(BEYOND)}, more than the quota, is not refused by {POLICY}: {error}")
        note(f"{JOB}: {_text(BEYOND)} is refused: {error.rpartition('denied request: ')[2]}")
    finally:
        kubectl.run("delete", "rayjob", JOB, "-n", NAMESPACE, "--ignore-not-found", timeout_seconds=120)
        wait(f"the end of {JOB}", lambda: not _pods(kubectl))
    return "a worker was resized within its quota, and not beyond"


def resizable(job: dict[str, Any]) -> dict[str, Any]:
    """Returns the job with one worker, which sleeps and may be resized up to MAXIMA."""
    largest = {"max-cpu": MAXIMA["cpu"], "max-memory": MAXIMA["memory"], "resize-timeout": 60}
    job["metadata"] |= {
        "name": JOB,
        "annotations": {"ray.io/ippr": json.dumps({"groups": {GROUP: largest}})},
    }
    del job["metadata"]["generateName"]
    job["spec"]["entrypoint"] = "sleep 3600"
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    # Ray refuses to resize a group whose CPUs differ from its pods' requests.
    workers |= {"maxReplicas": 1, "rayStartParams": {}}
    return job


def resize(kubectl: Kubectl, size: Mapping[str, str]) -> str:
    """Resizes the worker from the autoscaler's container; returns the error, or an empty string."""
    (worker,) = _running(kubectl)
    resources = {"requests": dict(size), "limits": {**size, "cpu": MAXIMA["cpu"]}}
    patch = {"spec": {"containers": [{"name": _container(worker)["name"], "resources": resources}]}}
    (head,) = (pod for pod in _pods(kubectl) if pod["metadata"]["labels"]["ray.io/node-type"] == "head")
    arguments = ["exec", head["metadata"]["name"], "-n", NAMESPACE, "-c", "autoscaler", "--", "python", "-c"]
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{worker['metadata']['name']}/resize"
    return kubectl.run(*arguments, _PATCH, path, json.dumps(patch)).strip()


def is_enacted(kubectl: Kubectl, size: Mapping[str, str]) -> bool:
    """Returns whether the kubelet reports the size. Raises StepError if the container has restarted."""
    (worker,) = _running(kubectl)
    (status,) = worker["status"]["containerStatuses"]
    if status["restartCount"]:
        raise StepError(f"{worker['metadata']['name']} was restarted for the size {_text(size)}")
    under_way = any(condition(worker, name) for name in ("PodResizePending", "PodResizeInProgress"))
    return not under_way and bool(status.get("resources", {}).get("requests") == size)


def counted(kubectl: Kubectl) -> str:
    """Returns the CPU that is reserved for the worker."""
    workloads = kubectl.objects("workloads", "--namespace", NAMESPACE)
    (ours,) = (w for w in workloads if w["metadata"]["ownerReferences"][0]["name"] == JOB)
    assigned = ours["status"]["admission"]["podSetAssignments"]
    (usage,) = (a["resourceUsage"] for a in assigned if a["name"] == GROUP)
    return str(usage["cpu"])


def _pods(kubectl: Kubectl) -> list[Object]:
    pods = list_pods(kubectl)
    return [pod for pod in pods if pod["metadata"]["labels"][CLUSTER_LABEL].startswith(f"{JOB}-")]


def _running(kubectl: Kubectl) -> list[Object]:
    return [
        pod
        for pod in _pods(kubectl)
        if pod["metadata"]["labels"]["ray.io/node-type"] == "worker" and pod["status"]["phase"] == "Running"
    ]


def _container(pod: Object) -> Object:
    (container,) = pod["spec"]["containers"]
    of_ray: Object = container
    return of_ray


def _text(size: Mapping[str, str]) -> str:
    return f"{size['cpu']} of CPU and {size['memory']} of memory"
