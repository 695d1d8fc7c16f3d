"""Ray's own autoscaler under preemption: a notice, surplus that goes, an eviction, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sandbox.cluster.kinds import Object, condition, is_true
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.scenario import EXAMPLES
from sandbox.scenarios.elastic_in_pods import STUCK, autoscaler_log, observe
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import NAMESPACE, RESUMED, submit
from sandbox.scenarios.training_in_pods import output
from tests.nodes.gangs import Gang, is_worker, release_volumes
from tests.nodes.pods import created, job
from tools.toolchain.steps import Screen

EXAMPLE = EXAMPLES / "cpu-elastic-train.rayjob.yaml"
SECONDS_MAX = 300.0
PENDING_SECONDS_MAX = 10
SAVED = re.compile(r"^workers go at \S+Z: saved step (\d+)$", re.MULTILINE)


def production(name: str, *, pods: int, cpus: str) -> Object:
    """Returns a Job of production whose pods request these CPUs."""
    whole = job(name, pods=pods, command=["sleep", "3600"])
    whole["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "prod-priority"
    container = whole["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["requests"]["cpu"] = container["resources"]["limits"]["cpu"] = cpus
    return whole


def head_of(gang: Gang) -> dict[str, Any]:
    """Returns the identity, the restarts and the starts of the containers of the gang's head."""
    (head,) = (p for p in gang.pods() if p["metadata"]["labels"].get("ray.io/node-type") == "head")
    states = head["status"]["containerStatuses"]
    return {
        "uid": head["metadata"]["uid"],
        "containers": [(s["name"], s["restartCount"], s["state"]["running"]["startedAt"]) for s in states],
    }


def slowest_start(gang: Gang) -> float:
    """Returns the longest time in seconds from the creation of a worker until it had a node."""
    return max((_seconds_to_node(pod) for pod in gang.pods() if is_worker(pod)), default=0.0)


def _seconds_to_node(pod: Object) -> float:
    created_at = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") != "True":
        return (datetime.now(created_at.tzinfo) - created_at).total_seconds()
    return (datetime.fromisoformat(scheduled["lastTransitionTime"]) - created_at).total_seconds()


def test_training_shrinks_is_evicted_and_comes_back(kubectl: Kubectl) -> None:
    gang = Gang(kubectl, submit(kubectl, EXAMPLE))
    note = Notes(Screen()).add
    slowest = 0.0

    def wait(what: str, done: Callable[[], bool]) -> None:
        def watched() -> bool:
            nonlocal slowest
            slowest = max(slowest, slowest_start(gang))
            return done()

        wait_until(f"{gang.job}: {what}", watched, SECONDS_MAX, pause_seconds=1.0)
        note(f"{gang.job}: {what}; {observe(kubectl, gang.job)[0]}")

    def granted() -> int:
        return observe(kubectl, gang.job)[0].granted

    try:
        wait("more than two workers run", lambda: observe(kubectl, gang.job)[0].running > 2)
        wait("training runs", lambda: bool(output(kubectl, gang.job)))
        head = head_of(gang)
        with created(kubectl, [production("surplus", pods=1, cpus="1")]):
            wait("the file shows the notice", lambda: SAVED.search(output(kubectl, gang.job)) is not None)
            wait("production runs", lambda: running(kubectl, "surplus"))
            assert head_of(gang) == head, "the head continues"
            assert granted() < 4
            assert not is_true(gang.workload(), "Evicted")
            assert STUCK not in autoscaler_log(kubectl, gang.job)
        wait("growth after production", lambda: granted() > 2)
        assert head_of(gang) == head
        with created(kubectl, [production("everything", pods=2, cpus="1200m")]):
            wait("eviction", lambda: is_true(gang.workload(), "Evicted") and not gang.pods())
            wait("production runs", lambda: running(kubectl, "everything"))
        wait("admission again", lambda: is_true(gang.workload(), "Admitted"))
        wait("training resumes", lambda: RESUMED.search(output(kubectl, gang.job)) is not None)
        assert STUCK not in autoscaler_log(kubectl, gang.job)
        assert slowest <= PENDING_SECONDS_MAX
    finally:
        kubectl.run("delete", "--ignore-not-found", "rayjob", gang.job, "-n", NAMESPACE, timeout_seconds=120)
        wait_until("the end of its pods", lambda: not gang.pods(), SECONDS_MAX, pause_seconds=1.0)
        for obj in ("configmap/cpu-elastic-train-script", "pvc/cpu-elastic-train-checkpoints"):
            kubectl.run("delete", "--ignore-not-found", obj, "-n", NAMESPACE, timeout_seconds=120)
        release_volumes(kubectl)


def running(kubectl: Kubectl, name: str) -> bool:
    """Returns whether all pods of a Job run."""
    (of_job,) = kubectl.objects("jobs", "--namespace", NAMESPACE, f"--field-selector=metadata.name={name}")
    return bool(of_job.get("status", {}).get("ready") == of_job["spec"]["parallelism"])
