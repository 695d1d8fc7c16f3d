"""A scenario in real pods: training is preempted by production, and resumes from its checkpoint.

Everything is read as a user would: the jobs' output with `kubectl logs`, their state in their status.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.scenarios.resumed_training import (
    CHECKPOINTS_BEFORE,
    NAMESPACE,
    PAUSE_SECONDS,
    RESUMED,
    last_step,
    submit,
    succeeded,
)
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError

CLUSTER_LABEL = "ray.io/cluster"
SECONDS_MAX = 420.0
"""Per wait: a Ray head in a pod takes half a minute on a quiet machine."""


def play(state: RunState, kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits training and, after its first checkpoints, production; waits for the success of both.

    Raises StepError if a wait takes too long, a job fails, pods of both run together, or training starts from
    the beginning.
    """
    began = time.monotonic()

    def note(text: str) -> None:
        screen.line(f"  {time.monotonic() - began:5.1f} s  {text}")

    training = submit(kubectl, examples / "cpu-train.rayjob.yaml")
    note(f"{training}: submitted")
    _wait(
        f"step {CHECKPOINTS_BEFORE} of {training}",
        lambda: last_step(output(kubectl, training)) >= CHECKPOINTS_BEFORE,
    )
    first = pods(kubectl, training)
    note(f"{training}: step {last_step(output(kubectl, training))}, in {len(first)} pods")
    production = submit(kubectl, examples / "cpu-batch.rayjob.yaml")
    note(f"{production}: submitted, and preempts training")
    _wait(f"the end of the first pods of {training}", lambda: not first & pods(kubectl, training))
    note(f"{training}: all pods have terminated")
    for job in (production, training):
        _wait(f"the success of {job}", partial(succeeded, kubectl, job))
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


def pods(kubectl: Kubectl, job: str) -> set[str]:
    """Returns the UIDs of the pods of the job's Ray clusters, whose names begin with the job's."""
    listed = kubectl.objects("pods", "--namespace", NAMESPACE, "--selector", CLUSTER_LABEL)
    return {
        pod["metadata"]["uid"]
        for pod in listed
        if pod["metadata"]["labels"][CLUSTER_LABEL].startswith(f"{job}-")
    }


def _wait(what: str, done: Callable[[], bool]) -> None:
    wait_until(what, done, SECONDS_MAX, pause_seconds=PAUSE_SECONDS)
