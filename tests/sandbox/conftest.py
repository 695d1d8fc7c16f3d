"""A sandbox that the tests share, a second one for tests that damage it, and access to both."""

import copy
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import Client

from sandbox.cluster import kinds
from sandbox.cluster.controller_process import start_controller
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from sandbox.scenarios.runner import wait_for_policy
from sandbox.up import down, up
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen

SECONDS_MAX = 60.0
NAMESPACE = "team-a"

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    """A running sandbox."""

    state: RunState
    client: Client
    kubectl: Kubectl

    @property
    def processes(self) -> Processes:
        return Processes(self.state)

    def submit(self, job: Manifest) -> str:
        """Creates a RayJob; returns its name."""
        return str(self.client.create(kinds.RayJob(job))["metadata"]["name"])

    def job(self, name: str, namespace: str = NAMESPACE) -> Manifest:
        return dict(self.client.get(kinds.RayJob, name, namespace=namespace))

    def workload(self, job: str, namespace: str = NAMESPACE) -> Manifest:
        """Returns the job's Workload, empty if there is none."""
        return next(
            (
                dict(w)
                for w in self.client.list(kinds.Workload, namespace=namespace)
                if w["metadata"]["ownerReferences"][0]["name"] == job
            ),
            {},
        )

    def requests(self, job: str) -> list[Manifest]:
        """Returns the job's ProvisioningRequests, oldest first."""
        owner = self.workload(job).get("metadata", {}).get("uid")
        requests = self.client.list(kinds.ProvisioningRequest, namespace=NAMESPACE)
        mine = (r for r in requests if r["metadata"]["ownerReferences"][0]["uid"] == owner)
        return sorted(mine, key=lambda r: str(r["metadata"]["name"]))

    def pods(self, job: str) -> list[Manifest]:
        pods = self.client.list(kinds.Pod, namespace=NAMESPACE)
        return [p for p in pods if p["metadata"]["name"].startswith(job)]

    def gpu_nodes(self) -> list[Manifest]:
        return list(self.client.list(kinds.Node, labels={"cloud.google.com/gke-nodepool": "l4"}))

    def zone(self, **data: str) -> None:
        """Sets the simulated zone's capacity (sandbox/stand_ins/zone.py); without data, that of the pools."""
        body = {"metadata": {"name": "sandbox-zone", "namespace": "kube-system"}, "data": dict(data)}
        kinds.delete(self.client, kinds.ConfigMap, body)
        self.client.create(kinds.ConfigMap(body))

    def until(self, what: str, done: Callable[[], bool], seconds_max: float = SECONDS_MAX) -> None:
        wait_until(what, done, seconds_max)

    def until_succeeded(self, name: str, namespace: str = NAMESPACE) -> None:
        def succeeded() -> bool:
            return bool(self.job(name, namespace).get("status", {}).get("jobStatus") == "SUCCEEDED")

        self.until(f"success of {name}", succeeded)

    def until_waits(self, name: str) -> Mapping[str, Any]:
        """Waits for QuotaReserved=False of the job's Workload, and returns the condition."""

        def waits() -> bool:
            return bool(kinds.condition(self.workload(name), "QuotaReserved").get("status") == "False")

        self.until(f"a reason why {name} waits", waits)
        return kinds.condition(self.workload(name), "QuotaReserved")

    def restart_controller(self) -> None:
        start_controller(self.state, self.kubectl)


@contextmanager
def connected(state: RunState) -> Iterator[Cluster]:
    kubectl = Kubectl(ensure_tools(["kubectl"], Screen())["kubectl"].path, state.kubeconfig)
    with closing(kinds.connect(state.kubeconfig)) as client:
        yield Cluster(state, client, kubectl)


@contextmanager
def _running(name: str) -> Iterator[Cluster]:
    """A sandbox with engine muster."""
    # One for each worker of pytest-xdist.
    state = RunState(f"{name}-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")
    try:
        up(state, "muster", scenarios=(), fresh=True)
        with connected(state) as cluster:
            wait_for_policy(cluster.client, rayjob("policy"))
            yield cluster
    finally:
        down(state)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with _running("e2e") as cluster:
        yield cluster


class Second:
    """A second cluster. A test may stop it; the next test gets a new one."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._cluster: Cluster | None = None

    def cluster(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._open.enter_context(_running("e2e-second"))
        return self._cluster

    def stop(self) -> None:
        self._cluster = None
        self._open.close()


@pytest.fixture(scope="session")
def second() -> Iterator[Second]:
    second = Second()
    yield second
    second.stop()


@pytest.fixture(autouse=True)
def empty(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test leaves the shared cluster without jobs and with the whole zone."""
    yield
    if "cluster" not in request.fixturenames:
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    cluster.zone()
    for name, obj in kinds.jobs(cluster.client):
        kinds.delete(cluster.client, kinds.JOBS[name], obj)

    def clean() -> bool:
        return not any(cluster.client.list(kinds.Workload, namespace="*")) and not cluster.gpu_nodes()

    cluster.until("an empty cluster after the test", clean)


def rayjob(name: str, *, gpus: int = 0, queue: str = "user-queue", namespace: str = NAMESPACE) -> Manifest:
    """Returns the dev example with this many GPU workers (0: head only); it runs for two seconds."""
    text = Path(CHECKOUT / "examples" / "dev-finetune.rayjob.yaml").read_text()
    job: Manifest = copy.deepcopy(yaml.safe_load(text))
    meta = job["metadata"]
    del meta["generateName"]
    meta["name"], meta["namespace"] = f"{name}-{secrets.token_hex(2)}", namespace
    meta["labels"]["kueue.x-k8s.io/queue-name"] = queue
    meta["annotations"]["sandbox.muster.dev/run-seconds"] = "2"
    groups = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    if gpus == 0:
        groups.clear()
    for group in groups:
        group["replicas"] = group["minReplicas"] = group["maxReplicas"] = gpus
    return job
