"""The end of pods on real nodes: as simulated nodes report it, and of a worker without its grace period."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.cluster.kinds import Object, is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import NAMESPACE
from tests.nodes.gangs import START_SECONDS_MAX, Gang, is_worker, training, uids
from tests.nodes.observed_pods import check_final_phase_before_removal, end_of_a_pod
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen


def delete_by_force(kubectl: Kubectl, pod: str) -> None:
    """Deletes the pod's object immediately, as an administrator does for a node that does not answer."""
    kubectl.run("delete", "pod", pod, "-n", NAMESPACE, "--force", "--grace-period=0")


def kill_raylet(kubectl: Kubectl, pod: str) -> None:
    """Kills Ray's process with SIGKILL, as the kernel does if memory is short; its container exits."""
    kubectl.run("exec", "-n", NAMESPACE, pod, "--", "pkill", "-KILL", "raylet")


def replaced(gang: Gang, worker: Object) -> bool:
    """Returns whether another pod than the worker is there in its place."""
    return uids([worker]).isdisjoint(uids(gang.pods())) and workers_are_ready(gang)


def restarted(gang: Gang, worker: Object) -> bool:
    """Returns whether the worker's container has restarted, or its pod was replaced."""
    same = [pod for pod in gang.pods() if uids([pod]) == uids([worker])]
    restarts = [status["restartCount"] for pod in same for status in pod["status"]["containerStatuses"]]
    return restarts != [0] and workers_are_ready(gang)


def workers_are_ready(gang: Gang) -> bool:
    """Returns whether both workers are ready."""
    return [is_true(pod, "Ready") for pod in gang.pods() if is_worker(pod)] == [True, True]


@pytest.mark.parametrize(
    ("name", "end", "recovered"),
    [
        pytest.param("forced-end", delete_by_force, replaced, id="deletion by force"),
        pytest.param("killed-raylet", kill_raylet, restarted, id="SIGKILL"),
    ],
)
def test_training_continues_after_a_worker_ended_ungracefully(
    kubectl: Kubectl,
    tmp_path: Path,
    name: str,
    end: Callable[[Kubectl, str], None],
    recovered: Callable[[Gang, Object], bool],
) -> None:
    with training(kubectl, tmp_path, name, steps=600) as gang:
        gang.wait_for_step(3)
        others = uids(pod for pod in gang.pods() if not is_worker(pod))
        worker = next(pod for pod in gang.pods() if is_worker(pod))
        note = Notes(Screen()).add
        end(kubectl, worker["metadata"]["name"])
        note(f"{gang.job}: step {gang.step()}, a worker has ended")
        gang.wait("both workers again", lambda: recovered(gang, worker), START_SECONDS_MAX)
        step = gang.step()
        note(f"{gang.job}: step {step}, both workers are ready")
        gang.wait_for_step(step + 3)
        assert others <= uids(gang.pods()), "the head and the submitter run on"
        assert is_true(gang.workload(), "Admitted")
        assert not is_true(gang.workload(), "Evicted")


def test_a_deleted_pod_has_a_final_phase_before_it_is_removed(state: RunState) -> None:
    check_final_phase_before_removal(end_of_a_pod(state.kubeconfig, "deleted-on-real-node"))
