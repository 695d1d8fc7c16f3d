"""Gangs survive the loss of a node and restarts of the platform's programs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from muster.objects.meta import millis
from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object, condition, is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from sandbox.realnodes.cluster import boot
from sandbox.scenario import EXAMPLES
from sandbox.scenarios.resumed_training import RESUMED, submit, succeeded
from sandbox.scenarios.training_in_pods import output
from sandbox.stack_file import RECOVERY
from tests.nodes.containers import is_controller, is_kuberay, kill
from tests.nodes.gangs import START_SECONDS_MAX, container_of, head_of, training, workers_of
from tests.storm import verdict
from tests.storm.recorder import Event, Recorder
from tests.storm.storm import CONFIGURATION
from tools.toolchain.paths import RunState

NOTICED_SECONDS_MAX = 55
"""Kubernetes' time until it reports a node as lost: the grace period, and a period between two looks."""
RELEASED_SECONDS_MAX = 80
"""Time until Kubernetes deletes the pods of a deleted node (pkg/controller/podgc: every 20 s, after a
quarantine of 40 s), and Muster releases their quota."""
GRACE_SECONDS = 10
"""The part of their grace period that workers use."""
SLACK_SECONDS = 40
"""Additional time on a busy machine."""
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
        lost = next(pod["spec"]["nodeName"] for pod in gang.pods() if "-worker-" in pod["metadata"]["name"])
        try:
            Processes(state).kill(lost)
            at = time.monotonic()
            evicted_max = NOTICED_SECONDS_MAX + RECOVERY["recoveryTimeoutSeconds"] + SLACK_SECONDS
            gang.wait("the eviction", lambda: is_true(gang.workload(), "Evicted"), evicted_max)
            assert condition(gang.workload(), "Evicted")["reason"] == "PodsReadyTimeout"
            assert time.monotonic() - at > RECOVERY["recoveryTimeoutSeconds"]

            gang.wait("the end of all pods elsewhere", lambda: {*gang.nodes()} <= {lost}, SLACK_SECONDS * 2)
            assert is_true(gang.workload(), "QuotaReserved"), "pods of the lost node may still run"

            kubectl.run("delete", "node", lost)  # as GKE does once the node's machine is deleted
            gang.wait("the end of its pods", lambda: lost not in gang.nodes(), RELEASED_SECONDS_MAX)
            gang.wait_for_step(3)
            assert RESUMED.search(output(kubectl, gang.job))
            assert lost not in gang.nodes()
        finally:
            boot(state, lost)

        def ready() -> bool:
            return {n["metadata"]["name"] for n in kubectl.objects("nodes") if is_true(n, "Ready")} >= {lost}

        wait_until(f"{lost} Ready again", ready, READY_SECONDS_MAX)


def end_slowly(job: dict[str, Any]) -> None:
    """Makes the workers use some of their grace period."""
    container_of(workers_of(job))["lifecycle"] = {"preStop": {"sleep": {"seconds": GRACE_SECONDS}}}


def test_restarts_of_muster_and_kuberay_lose_no_gang_and_exceed_no_quota(
    state: RunState, kubectl: Kubectl, tmp_path: Path
) -> None:
    def restart_all() -> None:
        assert kill(state, is_controller) == 2
        assert kill(state, is_kuberay) == 1

    with (
        closing(kinds.connect(state.kubeconfig)) as client,
        training(kubectl, tmp_path, "restarts", change=end_slowly) as gang,
    ):
        recorder = Recorder(client).start()
        gang.wait_for_step(2)
        first = gang.pods()
        restart_all()
        gang.wait_for_step(4)
        assert uids(gang.pods()) == uids(first), "training continues in the same pods"

        production = submit(kubectl, EXAMPLES / "cpu-batch.rayjob.yaml")
        gang.wait("the preemption", lambda: is_true(gang.workload(), "Evicted"), START_SECONDS_MAX)
        restart_all()
        for job in (production, gang.job):
            gang.wait(f"the success of {job}", partial(succeeded, kubectl, job), START_SECONDS_MAX)
        assert RESUMED.search(output(kubectl, gang.job))
        configuration = [
            (kind, dict(obj))
            for kind, resource in CONFIGURATION.items()
            for obj in client.list(resource, namespace="*" if kind.namespaced else None)
        ]
        events = recorder.stop()
    assert verdict.judge(events, configuration).violations == []
    assert verdict.duplicates(events) == []
    ended = [seconds_of_deletion(events, uid) for uid in uids(p for p in first if is_worker(p))]
    assert min(ended) >= GRACE_SECONDS


def is_worker(pod: Object) -> bool:
    """Returns whether a pod is a worker's."""
    return "-worker-" in str(pod["metadata"]["name"])


def uids(pods: Iterable[Object]) -> set[str]:
    """Returns the UIDs of the pods."""
    return {str(pod["metadata"]["uid"]) for pod in pods}


def seconds_of_deletion(events: Iterable[Event], uid: str) -> float:
    """Returns the time from a pod's deletion to the end of its last container."""
    bodies = [event.body for event in events if event.body["metadata"]["uid"] == uid]
    body = next(b for b in reversed(bodies) if "deletionTimestamp" in b["metadata"])
    meta = body["metadata"]
    requested_ms = millis(meta["deletionTimestamp"]) - 1000 * int(meta["deletionGracePeriodSeconds"])
    ended = [
        millis(status["state"]["terminated"]["finishedAt"])
        for status in body["status"]["containerStatuses"]
        if "terminated" in status["state"]
    ]
    return (max(ended) - requested_ms) / 1000
