"""Drift on a real API server: all kinds of tampering are found and reverted; what controllers own is not."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from lightkube import KubeConfig

from drift.check import Clusters
from drift.comparison import Drift
from drift.deployed import Deployed, read_state
from preview import plan_text
from preview.pulumi_cli import Stack
from preview.resources.kubernetes_objects import imported
from preview.resources.kubernetes_writes import MANAGER
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.conftest import wait_for_suspension
from tests.stacks.tampering import TAMPERING, Object, queue
from tools.kubernetes import ApiServer

REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture(scope="module")
def api(cluster: Kubectl) -> Iterator[ApiServer]:
    config = KubeConfig.from_file(str(cluster.kubeconfig)).get()
    assert config is not None
    with closing(ApiServer(config)) as api:
        yield api


@pytest.fixture(scope="module")
def deployed(local_stack: Stack) -> Deployed:
    return read_state(local_stack.exported())


def drift(deployed: Deployed) -> list[Drift]:
    with Clusters(deployed, {}) as clusters:
        return clusters.drift()


def lines(drifts: list[Drift]) -> list[str]:
    return [line for _, line in plan_text.table([drift.change for drift in drifts])]


def stored(api: ApiServer, target: Object) -> Object | None:
    """Returns what users can set of the live object, without the number of its last rollout; None if there
    is none."""
    live = api.get(target)
    if live and REVISION in live["metadata"].get("annotations", {}):
        del live["metadata"]["annotations"][REVISION]
    return live and imported(live)


@dataclass(frozen=True)
class Run:
    """The objects before the tampering and after the fix, and the lines of the drift found then."""

    before: dict[str, Object | None]
    drifts: list[str]
    after: dict[str, Object | None]
    remaining: list[str]


@pytest.fixture(scope="module")
def run(deployed: Deployed, api: ApiServer, cluster: Kubectl) -> Iterator[Run]:
    """Tampers in every way, then looks for drift, reverts it, and looks again."""
    before = {name: stored(api, tampering.target) for name, tampering in TAMPERING.items()}
    assert lines(drift(deployed)) == []
    for tampering in TAMPERING.values():
        tampering.act(api, tampering.target)
    with Clusters(deployed, {}) as clusters:
        drifts = clusters.drift()
        assert clusters.fix(drifts) == []
    after = {name: stored(api, tampering.target) for name, tampering in TAMPERING.items()}
    yield Run(before, lines(drifts), after, lines(drift(deployed)))
    wait_for_suspension(cluster)  # policies were changed: the API server enforces them with some delay


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found(name: str, run: Run) -> None:
    tampering = TAMPERING[name]
    metadata = tampering.target["metadata"]
    title = f"{tampering.sign} {tampering.target['kind']} "
    own = [
        line for line in run.drifts if line.startswith(title) and metadata["name"] in line.split("  ", 1)[0]
    ]
    assert any(tampering.line in line for line in own), "\n".join(own or run.drifts)


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_reverted(name: str, run: Run) -> None:
    assert run.after[name] == run.before[name]


def test_nothing_is_left_after_the_fix(run: Run) -> None:
    assert run.remaining == []


WRITTEN = {
    "Kueue keeps a queue that is in use": (
        "patch clusterqueue/team-a --type=merge --patch",
        '{"metadata": {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}}',
    ),
    "Kueue counts workloads": (
        "patch clusterqueue/team-b --subresource=status --type=merge --patch",
        '{"status": {"pendingWorkloads": 7}}',
    ),
    "kubectl restarts a rollout": (
        "rollout restart --namespace=muster-system",
        "deployment/muster-controller",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_controllers_own_is_no_drift(name: str, run: Run, deployed: Deployed, cluster: Kubectl) -> None:
    command, last = WRITTEN[name]
    cluster.run(*command.split(), last)
    assert lines(drift(deployed)) == []


def test_pulumi_owns_what_it_declares_after_the_fix(run: Run, api: ApiServer) -> None:
    """No entry of the client that changed it is left, nor one of the fix."""
    live = api.get(queue("team-b"))
    assert live is not None
    entries = live["metadata"]["managedFields"]
    managers = [entry["manager"] for entry in entries if "subresource" not in entry]
    assert managers == [MANAGER]
