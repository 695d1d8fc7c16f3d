"""The real LeaderWorkerSet controller on a real API server, with Muster's controller and simulated nodes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.types import PatchType

from muster.kube.kinds import CLUSTER_QUEUES, Kind
from sandbox.cluster import job_operators, kinds
from sandbox.cluster.control_plane import create_crds, create_nodes, start_control_plane
from sandbox.cluster.nodes import node
from sandbox.cluster.processes import Processes, wait_until
from tests.sandbox.conftest import NAMESPACE, Manifest
from tests.simulation.manifests import leader_worker_set, local_stack
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen
from tools.toolchain.tools import CLUSTER_TOOLS

SECONDS_MAX = 90.0
LWS = kinds.JOBS["LeaderWorkerSet"]
AMOUNTS = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
POD: Manifest = {
    "containers": [
        {"name": "main", "image": "busybox", "resources": {"requests": AMOUNTS, "limits": AMOUNTS}}
    ]
}
NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"


@dataclass(frozen=True)
class Cluster:
    client: Client

    def submit(self, name: str, priority: str, max_surge: int = 0, groups: int = 2) -> str:
        """Creates groups of a leader and a worker; the queue has four GPUs."""
        body = leader_worker_set(name, priority=priority, groups=groups, max_surge=max_surge)
        group = body["spec"]["leaderWorkerTemplate"]
        group |= {"leaderTemplate": {"spec": POD}, "workerTemplate": {"spec": POD}}
        return str(self.client.create(LWS(body))["metadata"]["name"])

    def lws(self, name: str) -> Manifest:
        return dict(self.client.get(LWS, name, namespace=NAMESPACE))

    def pods(self, name: str) -> list[Manifest]:
        labels: dict[str, Any] = {NAME_LABEL: name}
        return [dict(pod) for pod in self.client.list(kinds.Pod, namespace=NAMESPACE, labels=labels)]

    def serves(self, name: str, pods: int = 4) -> bool:
        """Returns whether all of its pods run, of which there are never more than quota."""
        phases = [pod["status"].get("phase") for pod in self.pods(name)]
        live = [phase for phase in phases if phase not in ("Succeeded", "Failed")]
        assert len(live) <= 4, live
        return live.count("Running") == len(live) == pods

    def workload(self, name: str) -> Manifest:
        workloads = [dict(w) for w in self.client.list(kinds.Workload, namespace=NAMESPACE)]
        (own,) = [w for w in workloads if w["metadata"]["ownerReferences"][0]["name"] == name]
        return own

    def patch(self, name: str, body: Manifest) -> None:
        self.client.patch(LWS, name, body, namespace=NAMESPACE, patch_type=PatchType.MERGE)


def typed(kind: Kind[Any], body: Manifest) -> Manifest:
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Cluster]:
    state = RunState("lws", checkout=tmp_path)
    tools = {name: tool.path for name, tool in ensure_tools([*CLUSTER_TOOLS, "lws"], Screen()).items()}
    processes = Processes(state)
    try:
        kubectl = start_control_plane(state, processes, tools)
        create_crds(kubectl, ensure_crds("muster", "lws"))
        stack = local_stack(check=False)
        for queue in stack[CLUSTER_QUEUES]:
            del queue["spec"]["admissionChecksStrategy"]  # the API server refuses an empty list
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}}
        kubectl.create([system, *(typed(kind, body) for kind, bodies in stack.items() for body in bodies)])
        capacity = {"cpu": "64", "memory": "256Gi", "pods": "100", "nvidia.com/gpu": "8"}
        create_nodes(kubectl, [node("l4-0", {"cloud.google.com/gke-nodepool": "l4"}, (), capacity)])
        job_operators.start(processes, job_operators.JOB_OPERATORS["lws"], tools["lws"], kubectl)
        argv = [sys.executable, "-m", "muster", "controller", "--http-address=127.0.0.1:0"]
        processes.start("controller", argv, {"KUBECONFIG": str(state.kubeconfig)})
        with closing(kinds.connect(state.kubeconfig)) as client:
            yield Cluster(client)
        processes.check("controller")
        processes.check("lws")
    finally:
        processes.stop_everything()


def until(what: str, holds: Callable[[], bool]) -> None:
    wait_until(what, holds, SECONDS_MAX)


@pytest.mark.thorough
def test_leader_worker_sets_are_preempted_restarted_and_updated(plane: Cluster) -> None:
    dev = plane.submit("dev", "dev-priority")
    until("dev to serve", lambda: plane.serves(dev))
    pods = {pod["metadata"]["name"]: pod for pod in plane.pods(dev)}
    assert sorted(pods) == ["dev-0", "dev-0-1", "dev-1", "dev-1-1"]
    assert {p["spec"]["nodeSelector"]["cloud.google.com/gke-nodepool"] for p in pods.values()} == {"l4"}
    # RecreateGroupOnPodRestart: a deleted worker takes its group with it, and no other.
    plane.client.delete(kinds.Pod, "dev-0-1", namespace=NAMESPACE)
    uid = pods["dev-0"]["metadata"]["uid"]
    until("the group to restart", lambda: uid not in {p["metadata"]["uid"] for p in plane.pods(dev)})
    until("dev to serve again", lambda: plane.serves(dev))
    assert pods["dev-1"]["metadata"]["uid"] in {p["metadata"]["uid"] for p in plane.pods(dev)}

    prod = plane.submit("prod", "prod-priority", groups=1, max_surge=1)
    until("prod to serve", lambda: plane.serves(prod, pods=2))
    assert {pod["status"]["phase"] for pod in plane.pods(dev)} <= {"Failed"}, "none runs"
    assert plane.lws(dev)["spec"]["replicas"] == 0
    assert kinds.is_true(plane.workload(dev), "Evicted")
    counts = {p["name"]: p["count"] for p in plane.workload(prod)["spec"]["podSets"]}
    assert counts == {"leader": 2, "worker": 2}

    image = {"spec": {"containers": [{**POD["containers"][0], "image": "busybox:new"}]}}
    plane.patch(prod, {"spec": {"leaderWorkerTemplate": {"leaderTemplate": image}}})

    def is_updated() -> bool:
        images = {p["spec"]["containers"][0]["image"] for p in plane.pods(prod)}
        return plane.serves(prod, pods=2) and "busybox:new" in images

    until("prod to be updated", is_updated)
    plane.client.delete(LWS, prod, namespace=NAMESPACE)
    until("dev to start again", lambda: plane.serves(dev))
    assert plane.lws(dev)["spec"]["replicas"] == 2
