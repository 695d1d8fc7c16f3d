"""A scenario in real pods: training is preempted by production, and resumes from its checkpoint.

Everything is read as a user would: the jobs' output with `kubectl logs`, their state in their status.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import (
    CHECKPOINTS_BEFORE,
    NAMESPACE,
    PAUSE_SECONDS,
    RESUMED,
    last_step,
    submit,
    succeeded,
)
from tools.toolchain.steps import Screen, StepError

CLUSTER_LABEL = "ray.io/cluster"
FINAL_PHASES = ("Succeeded", "Failed")
SECONDS_MAX = 420.0
"""Per wait: a Ray head in a pod takes half a minute on a quiet machine."""


def play(kubectl: Kubectl, examples: Path, screen: Screen, *, exclusive: bool = True) -> str:
    """Submits training and, after its first checkpoints, production; waits for the success of both.

    `exclusive`: production has no pods before those of training have terminated. With Kueue it may: the quota
    is free once KubeRay reports the RayJob as Suspended (pkg/controller/jobs/rayjob: IsActive).
    Raises StepError if a wait takes too long, a job fails, production has pods before those of training have
    terminated, or training starts from the beginning.
    """
    note = Notes(screen).add
    training = submit(kubectl, examples / "cpu-train.rayjob.yaml")
    note(f"{training}: submitted")
    wait(
        f"step {CHECKPOINTS_BEFORE} of {training}",
        lambda: last_step(output(kubectl, training)) >= CHECKPOINTS_BEFORE,
    )
    first = pods_of(training, list_pods(kubectl))
    note(f"{training}: step {last_step(output(kubectl, training))}, in {len(first)} pods")
    production = submit(kubectl, examples / "cpu-batch.rayjob.yaml")
    note(f"{production}: submitted, and preempts training")
    wait(
        f"the end of the first pods of {training}",
        lambda: are_gone(first, training, production if exclusive else None, list_pods(kubectl)),
    )
    note(f"{training}: all pods have terminated")
    for job in (production, training):
        wait(f"the success of {job}", partial(succeeded, kubectl, job))
        lines = output(kubectl, job).strip().splitlines()
        note(f"{job}: {lines[-1] if lines else 'no output'}")
    resumed = RESUMED.search(output(kubectl, training))
    if resumed is None:
        raise StepError(
            "training restarted from the beginning",
            try_this=f"{kubectl.command} logs -n {NAMESPACE} job/{training}",
        )
    return f"training resumed at step {resumed[1]}"


def output(kubectl: Kubectl, job: str) -> str:
    """Returns what the job's current submitter has printed; empty while it has no pod."""
    try:
        return kubectl.run("logs", f"job/{job}", "-n", NAMESPACE)
    except StepError:  # no Job, no pod, or a container that is being created
        return ""


def list_pods(kubectl: Kubectl) -> list[Object]:
    """Returns the pods of all Ray clusters."""
    return kubectl.objects("pods", "--namespace", NAMESPACE, "--selector", CLUSTER_LABEL)


def pods_of(job: str, pods: Iterable[Object]) -> set[str]:
    """Returns the UIDs of the pods of the job's Ray clusters, whose names begin with the job's."""
    return {
        pod["metadata"]["uid"]
        for pod in pods
        if pod["metadata"]["labels"][CLUSTER_LABEL].startswith(f"{job}-")
    }


def are_gone(first: set[str], training: str, production: str | None, pods: Sequence[Object]) -> bool:
    """Returns whether none of the first pods of training exists.

    Raises StepError if production is named, and has pods while containers of these run: their quota is not
    free.
    A kubelet deletes a pod some time after its phase has become final.
    """
    running = [pod for pod in pods if pod["status"]["phase"] not in FINAL_PHASES]
    remaining = first & pods_of(training, running)
    if production and remaining and pods_of(production, pods):
        raise StepError(f"{production} has pods, and {len(remaining)} pods of {training} have not terminated")
    return not first & pods_of(training, pods)


def wait(what: str, done: Callable[[], bool]) -> None:
    """Waits for something that takes minutes at most. Raises StepError."""
    wait_until(what, done, SECONDS_MAX, pause_seconds=PAUSE_SECONDS)
