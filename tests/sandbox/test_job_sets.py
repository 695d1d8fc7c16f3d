"""The real JobSet controller on a real API server, with Muster's controller and simulated nodes."""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client

from muster.kube.kinds import CLUSTER_QUEUES, Kind
from sandbox.cluster import job_operators, kinds
from sandbox.cluster.control_plane import create_crds, create_nodes, start_control_plane
from sandbox.cluster.nodes import node
from sandbox.cluster.processes import Processes, wait_until
from tests.sandbox.conftest import NAMESPACE, Manifest
from tests.simulation.manifests import job_set, local_stack, replicated_job
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen
from tools.toolchain.tools import CLUSTER_TOOLS

SECONDS_MAX = 60.0
JobSet, Job = kinds.JOBS["JobSet"], kinds.JOBS["Job"]
AMOUNTS = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
RESOURCES = {"requests": AMOUNTS, "limits": AMOUNTS}
POD = {
    "restartPolicy": "Never",
    "containers": [{"name": "main", "image": "busybox", "resources": RESOURCES}],
}


@dataclass(frozen=True)
class Cluster:
    client: Client

    def submit(self, name: str, priority: str, restarts: int = 0) -> str:
        """Creates a JobSet of a leader and two workers, which take three of the queue's four GPUs."""
        jobs = [replicated_job("leader", replicas=1, pods=1), replicated_job("workers", pods=1)]
        for job in jobs:
            spec = job["template"]["spec"]
            spec |= {"completions": 1, "completionMode": "Indexed", "backoffLimit": 0}
            spec["template"] = {"spec": POD}
        policy: Manifest = {"failurePolicy": {"maxRestarts": restarts}} if restarts else {}
        body = job_set(name, *jobs, priority=priority, **policy)
        return str(self.client.create(JobSet(body))["metadata"]["name"])

    def jobset(self, name: str) -> Manifest:
        return dict(self.client.get(JobSet, name, namespace=NAMESPACE))

    def jobs(self, name: str) -> list[Manifest]:
        labels: dict[str, Any] = {"jobset.sigs.k8s.io/jobset-name": name}
        return [dict(job) for job in self.client.list(Job, namespace=NAMESPACE, labels=labels)]

    def pods(self, name: str) -> list[Manifest]:
        labels: dict[str, Any] = {"jobset.sigs.k8s.io/jobset-name": name}
        return [dict(pod) for pod in self.client.list(kinds.Pod, namespace=NAMESPACE, labels=labels)]

    def running(self, name: str) -> list[Manifest]:
        """Returns the pods that run: those of an earlier start are Failed before they are removed."""
        return [pod for pod in self.pods(name) if pod["status"].get("phase") == "Running"]

    def runs(self, name: str) -> bool:
        """Returns whether all of its pods run, of which there are never more than quota."""
        phases = [pod["status"].get("phase") for pod in self.pods(name)]
        live = [phase for phase in phases if phase not in ("Succeeded", "Failed")]
        assert len(live) <= 3, live
        return phases.count("Running") == 3

    def workload(self, name: str) -> Manifest:
        workloads = [dict(w) for w in self.client.list(kinds.Workload, namespace=NAMESPACE)]
        (own,) = [w for w in workloads if w["metadata"]["ownerReferences"][0]["name"] == name]
        return own

    def end(self, pods: list[Manifest], phase: str) -> None:
        for pod in pods:
            body = {"status": {"phase": phase}}
            self.client.patch(kinds.Pod.Status, pod["metadata"]["name"], body, namespace=NAMESPACE)

    def ended(self, name: str) -> str:
        return str(self.jobset(name).get("status", {}).get("terminalState", ""))


def typed(kind: Kind[Any], body: Manifest) -> Manifest:
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Cluster]:
    state = RunState("jobsets", checkout=tmp_path)
    tools = {name: tool.path for name, tool in ensure_tools([*CLUSTER_TOOLS, "jobset"], Screen()).items()}
    processes = Processes(state)
    try:
        kubectl = start_control_plane(state, processes, tools)
        create_crds(kubectl, ensure_crds("muster", "jobset"))
        stack = local_stack(check=False)
        for queue in stack[CLUSTER_QUEUES]:
            del queue["spec"]["admissionChecksStrategy"]  # the API server refuses an empty list
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}}
        kubectl.create([system, *(typed(kind, body) for kind, bodies in stack.items() for body in bodies)])
        capacity = {"cpu": "64", "memory": "256Gi", "pods": "100", "nvidia.com/gpu": "8"}
        create_nodes(kubectl, [node("l4-0", {"cloud.google.com/gke-nodepool": "l4"}, (), capacity)])
        job_operators.start(processes, job_operators.JOB_OPERATORS["jobset"], tools["jobset"], kubectl)
        argv = [sys.executable, "-m", "muster", "controller", "--http-address=127.0.0.1:0"]
        processes.start("controller", argv, {"KUBECONFIG": str(state.kubeconfig)})
        with closing(kinds.connect(state.kubeconfig)) as client:
            yield Cluster(client)
        processes.check("controller")
        processes.check("jobset")
    finally:
        processes.stop_everything()


def until(what: str, holds: Any) -> None:
    wait_until(what, holds, SECONDS_MAX)


@pytest.mark.thorough
def test_job_sets_are_preempted_restarted_and_finished(plane: Cluster) -> None:
    dev = plane.submit("dev", "dev-priority", restarts=1)
    until("dev to run", lambda: plane.runs(dev))
    prod = plane.submit("prod", "prod-priority")
    until("prod to run", lambda: plane.runs(prod))
    assert {pod["status"]["phase"] for pod in plane.pods(dev)} <= {"Failed"}, "none runs"
    assert all(job["spec"]["suspend"] for job in plane.jobs(dev))
    assert kinds.is_true(plane.workload(dev), "Evicted")
    plane.end(plane.running(prod), "Succeeded")
    until("prod to complete", lambda: plane.ended(prod) == "Completed")
    until("dev to run again", lambda: plane.runs(dev))
    plane.end(plane.running(dev)[:1], "Failed")
    until("a restart", lambda: plane.jobset(dev)["status"]["restarts"] == 1)
    until("dev to run after its restart", lambda: plane.runs(dev))
    plane.end(plane.running(dev), "Succeeded")
    until("dev to complete", lambda: plane.ended(dev) == "Completed")
    until("its Workload to finish", lambda: kinds.is_true(plane.workload(dev), "Finished"))
    workloads = plane.client.list(kinds.Workload, namespace=NAMESPACE)
    assert {w["metadata"]["ownerReferences"][0]["kind"] for w in workloads} == {"JobSet"}
