"""Fixtures: the real Pulumi engine, and a control plane for the Kubernetes stand-in."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from preview.plugins.choice import Choice, choose_offline, sources
from preview.pulumi_cli import SAVED_ONCE, PulumiCli, Stack
from sandbox.cluster.control_plane import start_control_plane, wait_for_quotas
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from tests.stacks.dry_runs import EFFECT_SECONDS_MAX, Manifest
from tests.stacks.job_requests import batch_job, job_set
from tests.stacks.ray_requests import (
    ADMIN,
    ALICE,
    child,
    create,
    raycluster,
    rayjob,
    rayservice,
    refusal,
    suspended,
    unqueued,
)
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen
from tools.toolchain.tools import CLUSTER_TOOLS

LOCAL = CHECKOUT / "stacks" / "Pulumi.local.yaml"
PLUGINS = ("python", "kubernetes", "gcp", "docker-build")
STAND_INS = {name: Choice(name, None, "this is what is tested") for name in PLUGINS}


def pytest_report_header() -> str:
    return f"plugins of offline previews: {sources(choose_offline())}"


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The executables, built if they are missing."""
    return {name: tool.path for name, tool in ensure_tools(["pulumi", *CLUSTER_TOOLS], Screen()).items()}


@pytest.fixture(scope="session")
def cluster(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """The administrator's kubectl for a Kubernetes without nodes, shared by all tests here."""
    state = RunState("plugins", checkout=tmp_path_factory.mktemp("cluster"))
    processes = Processes(state)
    try:
        yield start_control_plane(state, processes, tools)
    finally:
        processes.stop_everything()


@pytest.fixture(scope="session")
def local_cli(
    tools: dict[str, Path], cluster: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> PulumiCli:
    """Pulumi with the stand-in plugins, against that cluster with the CRDs that stack local needs: of Kueue's
    both versions, as in a cluster in which Kueue was installed before, and which tenants may use there."""
    cluster.create_folder(ensure_crds("kueue", "jobset", "lws"))
    established = ("--for=condition=Established", "crd", "--all")
    cluster.run("wait", *established, "--timeout=120s", timeout_seconds=150)
    env = {"KUBECONFIG": str(cluster.kubeconfig), **SAVED_ONCE}
    return PulumiCli(tools["pulumi"], tmp_path_factory.mktemp("local"), env=env, choices=STAND_INS)


@pytest.fixture(scope="session")
def local_stack(local_cli: PulumiCli) -> Stack:
    """Stack local, deployed once."""
    stack = local_cli.select("local", LOCAL)
    assert set(stack.up().counts) == {"create"}
    return stack


def wait_for_suspension(cluster: Kubectl) -> None:
    """Waits for stack local's policies for each kind: the API server enforces new ones with some delay."""
    for make in (rayjob, raycluster, rayservice, batch_job, job_set):
        wait_until("suspension at creation", partial(_is_suspended, cluster, make()), EFFECT_SECONDS_MAX)


def _is_suspended(cluster: Kubectl, manifest: Manifest) -> bool:
    """Returns whether the API server suspends it on creation; false while former policies still refuse it."""
    return not refusal(cluster, ADMIN, manifest) and suspended(create(cluster, ADMIN, manifest))


# Settings that stack local's tenants do not use, by the label of their namespace.
NAMESPACES = {
    "team-a-tokens": "muster.dev/ray-auth=token",
    "team-a-queued": "muster.dev/queue-required=true",
    "team-a-unclaimed": "muster.dev/claims=none",
}
# The Vertical Pod Autoscaler's kind; the sandbox does not install its CRD.
AUTOSCALER = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "verticalpodautoscalers.autoscaling.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"},
    },
    "spec": {
        "group": "autoscaling.k8s.io",
        "names": {"plural": "verticalpodautoscalers", "kind": "VerticalPodAutoscaler"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="session")
def server(local_stack: Stack, cluster: Kubectl) -> Kubectl:
    """Stack local with a job of each kind in team-a, which no controller changes."""
    cluster.create([AUTOSCALER])
    wait_for_quotas(cluster)
    for namespace, label in NAMESPACES.items():
        cluster.run("create", "namespace", namespace)
        cluster.run("label", "namespace", namespace, label)
    wait_for_suspension(cluster)
    queued = (
        rayjob("job"),
        raycluster("notebook"),
        rayservice("service"),
        batch_job("queued"),
        job_set("queued"),
    )
    for manifest in (*queued, unqueued("free")):
        cluster.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    uid = cluster.run("get", "rayjob/job", "--namespace=team-a", "-o", "jsonpath={.metadata.uid}")
    cluster.create([child("child", uid)])
    return cluster
