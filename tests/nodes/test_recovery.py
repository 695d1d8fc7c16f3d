"""A gang survives the loss of a node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sandbox.cluster.kinds import Object, condition, is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from sandbox.realnodes.cluster import boot
from sandbox.scenarios.notes import Notes
from sandbox.stack_file import RECOVERY
from tests.nodes.gangs import (
    container_of,
    head_of,
    is_worker,
    training,
    workers_of,
)
from tests.simulation.cluster import READY_ON_LOST_NODE
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

RELEASED_SECONDS_MAX = 80
"""Time until Kubernetes deletes the pods of a deleted node (pkg/controller/podgc: every 20 s, after a
quarantine of 40 s), and Muster releases their quota."""
SLACK_SECONDS = 40
"""Additional time on a busy machine."""
NOTICED_MAX = 55 + SLACK_SECONDS
"""Kubernetes' time until it reports a node as lost: the grace period, and a period between two looks."""
READY_SECONDS_MAX = 60.0


def fit_one_node(job: dict[str, Any]) -> None:
    """Lets the gang fit the CPUs that the platform's pods leave on one node."""
    for group, cpus in ((head_of(job), "400m"), (workers_of(job), "150m")):
        container_of(group)["resources"]["requests"]["cpu"] = cpus


def test_a_gang_on_a_lost_node_is_requeued_whole_and_runs_on_the_other(
    state: RunState, kubectl: Kubectl, tmp_path: Path
) -> None:
    with training(kubectl, tmp_path, "lost-node", steps=600, change=fit_one_node) as gang:
        gang.wait_for_step(3)
        lost = next(pod["spec"]["nodeName"] for pod in gang.pods() if is_worker(pod))
        try:
            Processes(state).kill(lost)
            note = Notes(Screen()).add
            gang.wait(
                "the report of the loss", lambda: not is_true(node_of(kubectl, lost), "Ready"), NOTICED_MAX
            )
            reported = note(f"{lost}: reported as lost")
            evicted_max = RECOVERY["recoveryTimeoutSeconds"] + SLACK_SECONDS
            gang.wait("the eviction", lambda: is_true(gang.workload(), "Evicted"), evicted_max)
            assert condition(gang.workload(), "Evicted")["reason"] == "PodsReadyTimeout"
            assert note(f"{gang.job}: evicted") - reported >= RECOVERY["recoveryTimeoutSeconds"] - 1

            check_pods_of_lost_node([pod for pod in gang.pods() if pod["spec"]["nodeName"] == lost])
            gang.wait("the end of all pods elsewhere", lambda: {*gang.nodes()} <= {lost}, SLACK_SECONDS * 2)
            note(f"{gang.job}: no pods on other nodes")
            assert is_true(gang.workload(), "QuotaReserved"), "pods of the lost node may still run"

            kubectl.run("delete", "node", lost)  # as GKE does once the node's machine is deleted
            note(f"{lost}: Node deleted")
            gang.wait("the end of its pods", lambda: lost not in gang.nodes(), RELEASED_SECONDS_MAX)
            note(f"{gang.job}: no pods on {lost}")
            gang.wait_to_resume()
            note(f"{gang.job}: resumed on {', '.join({*gang.nodes()})}")
            assert lost not in gang.nodes()
        finally:
            boot(state, lost)

        def ready() -> bool:
            return {n["metadata"]["name"] for n in kubectl.objects("nodes") if is_true(n, "Ready")} >= {lost}

        wait_until(f"{lost} Ready again", ready, READY_SECONDS_MAX)


def check_pods_of_lost_node(pods: Sequence[Object]) -> None:
    """Checks that these pods have the state of pods on a lost node in the simulation."""
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    for pod in pods:
        ready = condition(pod, "Ready")
        assert {key: ready[key] for key in ("type", "status", "reason") if key in ready} == READY_ON_LOST_NODE


def node_of(kubectl: Kubectl, name: str) -> Object:
    """Returns the Node of this name."""
    (node,) = kubectl.objects("nodes", f"--field-selector=metadata.name={name}")
    return node
