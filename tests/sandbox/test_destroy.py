"""`pulumi destroy` while gangs run: their ClusterQueues are in use until the tenants' namespaces are gone."""

import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from sandbox.cluster import kinds
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.deployment import pulumi_cli
from sandbox.scenarios.runner import wait_for_policy
from sandbox.stack_file import STACK
from sandbox.toolchain.ensure import ensure_tools
from sandbox.toolchain.paths import RunState
from sandbox.toolchain.steps import Screen
from sandbox.up import down, up
from tests.sandbox.conftest import NAMESPACE, rayjob

# The Kubernetes provider waits ten minutes for a deletion.
DESTROY_SECONDS_MAX = 120.0
STARTS_SECONDS_MAX = 240.0  # while another cluster starts at the same time


@pytest.fixture
def state() -> Iterator[RunState]:
    state = RunState(f"e2e-destroy-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")
    try:
        up(state, "muster", scenarios=(), fresh=True)
        yield state
    finally:
        down(state)


def test_destroy_does_not_wait_for_running_gangs(state: RunState) -> None:
    tools = {name: tool.path for name, tool in ensure_tools(["pulumi", "kubectl"], Screen()).items()}
    job = rayjob("lasting", gpus=2)
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "3600"
    name = job["metadata"]["name"]
    with closing(kinds.connect(state.kubeconfig)) as client:
        wait_for_policy(client, rayjob("policy"))
        client.create(kinds.RayJob(job))

        def runs() -> bool:
            found = client.get(kinds.RayJob, name, namespace=NAMESPACE)
            return bool(found.get("status", {}).get("jobStatus") == "RUNNING")

        wait_until(f"{name} running", runs, STARTS_SECONDS_MAX)

    cli = pulumi_cli(state, tools["pulumi"])
    outcome = cli.select(STACK, state.root / f"Pulumi.{STACK}.yaml").destroy()
    assert set(outcome.counts) == {"delete"}
    assert outcome.seconds < DESTROY_SECONDS_MAX
    kubectl = Kubectl(tools["kubectl"], state.kubeconfig)
    left = kubectl.run("get", "clusterqueues,localqueues,resourceflavors,admissionchecks", "-A", "-o", "name")
    assert left == ""
