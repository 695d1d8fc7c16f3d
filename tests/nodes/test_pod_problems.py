"""`muster why` explains in a sentence why pods of a gang do not run on real nodes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.scenario import EXAMPLES
from sandbox.scenarios.resumed_training import NAMESPACE
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL
from tests.nodes.gangs import container_of
from tools.toolchain.paths import CHECKOUT

SENTENCE_SECONDS_MAX = 180.0


def use_missing_image(cluster: dict[str, Any]) -> None:
    """Names an image that no node has; nodes have no way to a registry."""
    container_of(cluster["headGroupSpec"])["image"] = "registry.example/ray:missing"


def misspell_option(cluster: dict[str, Any]) -> None:
    """Makes `ray start` exit with code 2."""
    cluster["headGroupSpec"]["rayStartParams"]["no-such-option"] = "1"


def limit_memory(cluster: dict[str, Any]) -> None:
    """Gives the head less memory than Ray's command needs to start."""
    for amounts in container_of(cluster["headGroupSpec"])["resources"].values():
        amounts["memory"] = "64Mi"


@pytest.mark.parametrize(
    ("name", "change", "beginning", "cause"),
    [
        pytest.param(
            "no-image",
            use_missing_image,
            "Image registry.example/ray:missing cannot be pulled (",
            "registry.example",
            id="image pull",
        ),
        pytest.param(
            "crash-loop",
            misspell_option,
            "Container ray-head of pod crash-loop-head-",
            "is in a crash loop (CrashLoopBackOff): it last exited with code 2 (Error)",
            id="crash loop",
        ),
        pytest.param(
            "no-memory",
            limit_memory,
            "Container ray-head of pod no-memory-head-",
            "was OOM-killed (memory limit 64Mi) at ",
            id="OOM kill",
        ),
    ],
)
def test_why_explains_pods_that_do_not_run(
    kubectl: Kubectl, name: str, change: Callable[[dict[str, Any]], None], beginning: str, cause: str
) -> None:
    ray_cluster = ray_cluster_of_one_pod(name)
    change(ray_cluster["spec"])
    kubectl.create([ray_cluster])
    try:

        def explained() -> bool:
            return any(line.startswith(beginning) and cause in line for line in why(kubectl, name))

        wait_until(f"a sentence about {name}", explained, SENTENCE_SECONDS_MAX, pause_seconds=1.0)
    finally:
        kubectl.run("delete", "raycluster", name, "-n", NAMESPACE, timeout_seconds=120)
        wait_until(f"the end of {name}", lambda: not pods_of(kubectl, name), 120, pause_seconds=0.5)


def ray_cluster_of_one_pod(name: str) -> dict[str, Any]:
    """Returns a RayCluster with the head of examples/cpu-batch.rayjob.yaml and without workers."""
    job = yaml.safe_load((EXAMPLES / "cpu-batch.rayjob.yaml").read_text())
    spec = job["spec"]["rayClusterSpec"]
    spec["workerGroupSpecs"] = []
    metadata = {"name": name, "namespace": NAMESPACE, "labels": job["metadata"]["labels"]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def why(kubectl: Kubectl, name: str) -> list[str]:
    """Returns the lines that `muster why` prints about a RayCluster."""
    argv = [sys.executable, "-m", "muster", "why", f"raycluster/{name}", "-n", NAMESPACE]
    argv += ["--kubeconfig", str(kubectl.kubeconfig)]
    return subprocess.run(argv, capture_output=True, text=True, cwd=CHECKOUT).stdout.splitlines()


def pods_of(kubectl: Kubectl, name: str) -> list[Object]:
    """Returns the pods of a RayCluster."""
    return [*kubectl.objects("pods", "--namespace", NAMESPACE, "--selector", f"{CLUSTER_LABEL}={name}")]
