"""Removal of parts of a stack, or of all of it, from a sandbox in which gangs run."""

from collections.abc import Callable
from typing import Any

import yaml

from preview.pulumi_cli import Stack
from sandbox.deployment import pulumi_cli
from sandbox.stack_file import STACK, deployed
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

# The Kubernetes provider waits ten minutes for each object.
SECONDS_MAX = 120.0
STARTS_SECONDS_MAX = 240.0  # while another cluster starts at the same time
GROUPS = ("ray.io", "kueue.x-k8s.io", "autoscaling.x-k8s.io", "scheduling.run.ai")
POLICIES = "validatingadmissionpolicies,mutatingadmissionpolicies"

Config = dict[str, Any]


def lasting(name: str, *, namespace: str = NAMESPACE) -> Manifest:
    """Returns a RayJob with two GPU workers that runs for an hour."""
    job = rayjob(name, gpus=2, namespace=namespace)
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "3600"
    return job


def until_runs(cluster: Cluster, job: str, namespace: str = NAMESPACE) -> None:
    def runs() -> bool:
        return bool(cluster.job(job, namespace).get("status", {}).get("jobStatus") == "RUNNING")

    cluster.until(f"{job} running", runs, STARTS_SECONDS_MAX)


def deploy(state: RunState, edit: Callable[[Config], None]) -> None:
    """Runs `pulumi up` with the edited stack file."""
    file = deployed(state)
    content = yaml.safe_load(file.read_text())
    edit(content["config"])
    file.write_text(yaml.safe_dump(content))
    assert _stack(state).up().seconds < SECONDS_MAX


def destroy(cluster: Cluster) -> None:
    """Runs `pulumi destroy`, and checks that it is quick and leaves nothing."""
    before = tenants(cluster)
    outcome = _stack(cluster.state).destroy()
    assert set(outcome.counts) == {"delete"}
    assert outcome.seconds < SECONDS_MAX
    kubectl = cluster.kubectl
    served = [kubectl.run("api-resources", f"--api-group={group}", "-o", "name").split() for group in GROUPS]
    kinds = ",".join([POLICIES, *(kind for group in served for kind in group)])
    assert kubectl.run("get", kinds, "--all-namespaces", "-o", "name") == ""
    assert before
    assert tenants(cluster) == []


def tenants(cluster: Cluster) -> list[str]:
    """Returns the names of the tenants' namespaces."""
    output = cluster.kubectl.run("get", "namespaces", "-l", "muster.dev/tenant", "-o", "name")
    return [name.removeprefix("namespace/") for name in output.split()]


def _stack(state: RunState) -> Stack:
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    return pulumi_cli(state, pulumi).select(STACK, deployed(state))
