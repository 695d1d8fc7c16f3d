"""Jobs and pods of a tenant, and connections between pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from tools.toolchain.steps import StepError

IMAGE = "rayproject/ray:2.52.0-py311"
SECONDS_MAX = 120.0
_SMALL = {"cpu": "50m", "memory": "64Mi"}
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)"


def pod_spec(command: Sequence[str]) -> dict[str, Any]:
    """Returns a small pod that the Pod Security Standard `restricted` allows."""
    container = {
        "name": "main",
        "image": IMAGE,
        "command": list(command),
        "resources": {"requests": _SMALL, "limits": {"cpu": "500m", "memory": "256Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "containers": [container],
        "restartPolicy": "Never",
        "securityContext": security,
        "terminationGracePeriodSeconds": 1,
    }


def pod(name: str, namespace: str, command: Sequence[str], labels: Mapping[str, str] | None = None) -> Object:
    """Returns a pod without a queue, as only administrators may create it."""
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(command)}


def job(name: str, *, pods: int, command: Sequence[str], claim: str = "") -> Object:
    """Returns a queued Job of team-a whose pods each claim devices by a template."""
    spec = pod_spec(command)
    if claim:
        spec["resourceClaims"] = [{"name": "devices", "resourceClaimTemplateName": claim}]
        spec["containers"][0]["resources"]["claims"] = [{"name": "devices"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "labels": {"kueue.x-k8s.io/queue-name": "user-queue"},
        },
        "spec": {"parallelism": pods, "completions": pods, "template": {"spec": spec}},
    }


@contextmanager
def created(kubectl: Kubectl, objects: Sequence[Object]) -> Iterator[None]:
    """Creates the objects, and deletes them at the end."""
    try:
        kubectl.create(objects)
        yield
    finally:
        for obj in reversed(objects):
            meta = obj["metadata"]
            where = ["-n", meta["namespace"]] if "namespace" in meta else []
            argv = ["delete", obj["kind"], meta["name"], *where, "--ignore-not-found"]
            kubectl.run(*argv, timeout_seconds=SECONDS_MAX)


def pods_of_job(kubectl: Kubectl, name: str) -> list[Object]:
    """Returns the pods of a Job of team-a."""
    selector = f"batch.kubernetes.io/job-name={name}"
    return kubectl.objects("pods", "--namespace", "team-a", "--selector", selector)


def wait_running(kubectl: Kubectl, namespace: str, names: Sequence[str]) -> None:
    """Waits until these pods run."""

    def running() -> bool:
        pods = kubectl.objects("pods", "--namespace", namespace)
        phases = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in pods}
        return all(phases.get(name) == "Running" for name in names)

    wait_until(f"{', '.join(names)} running", running, SECONDS_MAX, pause_seconds=0.5)


def connects(kubectl: Kubectl, client: tuple[str, str], host: str, port: int) -> bool:
    """Returns whether a TCP connection from a pod, (namespace, name), opens within 5 s."""
    namespace, name = client
    argv = ["exec", name, "-n", namespace, "--", "python", "-c", _CONNECT, host, str(port)]
    try:
        kubectl.run(*argv)
    except StepError as error:
        if "timed out" in str(error) or "refused" in str(error):
            return False
        raise
    return True
