"""etcd of a real API server is restored from an older copy while the controller runs."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from lightkube import Client
from lightkube.core.exceptions import ApiError

from muster.kube.kinds import CLUSTER_QUEUES, Kind
from muster.objects.names import WORKLOAD_UID_LABEL
from muster.objects.ray import CLUSTER_LABEL, HEAD_TYPE, NODE_TYPE_LABEL
from sandbox.cluster import kinds
from sandbox.cluster.control_plane import create_crds, start_control_plane
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from tests.sandbox.conftest import NAMESPACE, Manifest, rayjob
from tests.simulation.manifests import local_stack
from tests.storm.services import Services
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import CLUSTER_TOOLS

CPUS = "2"  # of each flavor in each of two queues
LOST_JOBS = 12  # of a CPU or more each: there is no quota for all
LISTED_AGAIN_S_MAX = 30.0  # after the API server answers again
SECONDS_MAX = 120.0


@dataclass(frozen=True)
class ControlPlane:
    """etcd, the API server and the controller: nothing else watches objects, or remembers lost ones."""

    kubectl: Kubectl
    processes: Processes
    services: Services
    client: Client
    copy: Path

    @property
    def data(self) -> Path:
        """Returns etcd's folder."""
        process = self.processes.table()["etcd"].process()
        assert process is not None
        return Path(next(a.partition("=")[2] for a in process.cmdline() if a.startswith("--data-dir=")))

    def copy_etcd(self) -> None:
        data = self.data
        self.services.kill("etcd")  # its files are consistent then
        shutil.copytree(data, self.copy)
        self.services.keep()
        self.wait()

    def restore_etcd(self) -> None:
        data = self.data
        for name in ("kube-apiserver", "etcd"):
            self.services.kill(name)
        shutil.rmtree(data)
        shutil.copytree(self.copy, data)
        self.services.keep()
        self.wait()

    def wait(self) -> None:
        """Waits until the API server serves jobs and Workloads."""
        wait_until("an API server", self._serves, SECONDS_MAX)

    def _serves(self) -> bool:
        try:
            for kind in (kinds.RayJob, kinds.Workload):
                list(self.client.list(kind, namespace=NAMESPACE))
        except (ApiError, httpx2.HTTPError):
            return False
        return True

    def workloads(self) -> dict[str, Manifest]:
        """Returns the Workloads by the names of their jobs."""
        workloads = self.client.list(kinds.Workload, namespace=NAMESPACE)
        return {w["metadata"]["ownerReferences"][0]["name"]: dict(w) for w in workloads}

    def pods(self) -> list[str]:
        """Returns the UIDs of pods that are not being deleted."""
        pods = (pod["metadata"] for pod in self.client.list(kinds.Pod, namespace=NAMESPACE))
        return [meta["uid"] for meta in pods if "deletionTimestamp" not in meta]

    def is_admitted(self, job: str) -> bool:
        return kinds.is_true(self.workloads().get(job, {}), "Admitted")

    def waits(self, job: str) -> bool:
        reserved = kinds.condition(self.workloads().get(job, {}), "QuotaReserved")
        return bool(reserved.get("status") == "False")

    def submit(self, name: str) -> str:
        job = rayjob(name)
        job["spec"]["suspend"] = True
        return str(self.client.create(kinds.RayJob(job))["metadata"]["name"])

    def log(self) -> str:
        return self.processes.state.log("controller").read_text()


def typed(kind: Kind[Any], body: Manifest) -> Manifest:
    return {"apiVersion": kind.api_version, "kind": kind.name, **body}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    state = RunState("restore", checkout=tmp_path)
    tools = {name: tool.path for name, tool in ensure_tools(CLUSTER_TOOLS, Screen()).items()}
    processes = Processes(state)
    try:
        kubectl = start_control_plane(state, processes, tools)
        create_crds(kubectl, ensure_crds("muster"))
        stack = local_stack(check=False)
        for queue in stack[CLUSTER_QUEUES]:
            del queue["spec"]["admissionChecksStrategy"]  # the API server refuses an empty list
            for flavor in queue["spec"]["resourceGroups"][0]["flavors"]:
                flavor["resources"][0]["nominalQuota"] = CPUS
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}}
        kubectl.create([system, *(typed(kind, body) for kind, bodies in stack.items() for body in bodies)])
        wait_until(
            "the default ServiceAccount",
            lambda: succeeds(kubectl, "get", "serviceaccount", "default", "-n", NAMESPACE),
            SECONDS_MAX,
        )
        for name in ("kube-controller-manager", "kube-scheduler", "kwok-controller"):
            processes.kill(name)
        services = Services(processes)
        argv = [sys.executable, "-m", "muster", "controller", "--http-address=127.0.0.1:0"]
        processes.start("controller", argv, {"KUBECONFIG": str(state.kubeconfig)})
        with closing(kinds.connect(state.kubeconfig)) as client:
            plane = ControlPlane(kubectl, processes, services, client, tmp_path / "copy")
            plane.wait()
            yield plane
    finally:
        processes.stop_everything()


@pytest.mark.thorough
def test_the_controller_lists_everything_again_after_a_restore(plane: ControlPlane) -> None:
    surviving_job = plane.submit("kept")
    until("admission", lambda: plane.is_admitted(surviving_job))
    until(
        "a start",
        lambda: (
            plane.client.get(kinds.RayJob, surviving_job, namespace=NAMESPACE)["spec"]["suspend"] is False
        ),
    )
    workload = plane.workloads()[surviving_job]
    run_a_pod(plane, workload)
    pods = plane.pods()
    assert len(pods) == 1
    plane.copy_etcd()
    lost = [plane.submit(f"lost-{n}") for n in range(LOST_JOBS)]
    until("quota that is used up", lambda: any(map(plane.waits, lost)))
    plane.restore_etcd()
    assert plane.workloads().keys() == {surviving_job}
    new = plane.submit("new")
    wait_until("admission of a new job", lambda: plane.is_admitted(new), LISTED_AGAIN_S_MAX)
    assert plane.log().count("history went back") == 1
    assert plane.workloads().keys() == {surviving_job, new}
    after = plane.workloads()[surviving_job]
    assert after["metadata"]["uid"] == workload["metadata"]["uid"]
    assert kinds.is_true(after, "Admitted")
    assert not kinds.is_true(after, "Evicted")
    assert plane.client.get(kinds.RayJob, surviving_job, namespace=NAMESPACE)["spec"]["suspend"] is False
    assert plane.pods() == pods
    plane.processes.check("controller")


def succeeds(kubectl: Kubectl, *arguments: str) -> bool:
    try:
        kubectl.run(*arguments)
    except StepError:
        return False
    return True


def run_a_pod(plane: ControlPlane, workload: Manifest) -> None:
    """Creates the head of the gang, as KubeRay would."""
    name = f"{NAMESPACE}-head"
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": name, "uid": name, "controller": True}
    labels = {
        WORKLOAD_UID_LABEL: workload["metadata"]["uid"],
        CLUSTER_LABEL: name,
        NODE_TYPE_LABEL: HEAD_TYPE,
    }
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels, "ownerReferences": [owner]}
    container = {"name": "ray-head", "image": "ray", "resources": {"requests": {"cpu": "1"}}}
    plane.kubectl.create(
        [{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}]
    )


def until(what: str, done: Callable[[], bool]) -> None:
    wait_until(what, done, SECONDS_MAX)
