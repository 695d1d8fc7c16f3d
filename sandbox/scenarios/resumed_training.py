"""A scenario in which a training job, executed by a real Ray, is preempted and resumes from its checkpoint.

The checks read the jobs' logs, which `make logs PROCESS=job-<RayJob>` prints.
"""

import re
from functools import partial
from pathlib import Path

from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen, StepError

NAMESPACE = "team-a"
CHECKPOINTS_BEFORE = 3
SECONDS_MAX = (
    300.0  # per wait; a Ray head starts within 4 s on an idle machine, and within a minute on a busy machine
)
PAUSE_SECONDS = 0.5
STEP = re.compile(r"^step (\d+) of", re.MULTILINE)
RESUMED = re.compile(r"^resumed at step (\d+)$", re.MULTILINE)


def play(state: RunState, kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits a training job and, after its first checkpoints, a production job; waits for the success of
    both.

    Raises StepError if a wait takes too long, a job fails, or training restarts from the beginning.
    """
    processes = Processes(state)
    alive = partial(processes.check, "ray-dashboard")
    training = submit(kubectl, examples / "dev-train.rayjob.yaml")
    screen.line(f"  {training}: submitted; its log: {state.command('logs', PROCESS=f'job-{training}')}")
    wait_until(
        f"step {CHECKPOINTS_BEFORE} of {training}",
        lambda: last_step(printed(state, training)) >= CHECKPOINTS_BEFORE,
        SECONDS_MAX,
        alive,
        PAUSE_SECONDS,
    )
    production = submit(kubectl, examples / "prod-batch-inference.rayjob.yaml")
    screen.line(
        f"  {production}: submitted, and preempts training after step {last_step(printed(state, training))}"
    )
    for job in (production, training):
        done = partial(succeeded, kubectl, job)
        wait_until(f"the success of {job}", done, SECONDS_MAX, alive, PAUSE_SECONDS)
        for line in printed(state, job).splitlines()[-1:]:
            screen.line(f"  {job}: {line}")
    resumed = RESUMED.search(printed(state, training))
    if resumed is None:
        raise StepError("training restarted from the beginning", log=state.log(f"job-{training}"))
    return f"training resumed at step {resumed[1]}"


def submit(kubectl: Kubectl, file: Path) -> str:
    """Creates the objects of the file; returns the name of its RayJob."""
    created = kubectl.run("create", "-f", str(file), "-o", "name").split()
    return next(name.partition("/")[2] for name in created if name.startswith("rayjob"))


def succeeded(kubectl: Kubectl, job: str) -> bool:
    """Returns whether Ray reports the job's success. Raises StepError if Ray reports a failure."""
    path = "jsonpath={.status.jobStatus} {.status.message}"
    status, _, message = kubectl.run("get", "rayjob", job, "-n", NAMESPACE, "-o", path).partition(" ")
    if status == "FAILED":
        raise StepError(f"{job} failed: {message}")
    return status == "SUCCEEDED"


def printed(state: RunState, job: str) -> str:
    """Returns the output of all runs of the job."""
    log = state.log(f"job-{job}")
    return log.read_text() if log.exists() else ""


def last_step(text: str) -> int:
    """Returns the last step in the output of training; 0 before the first step."""
    return int((STEP.findall(text) or ["0"])[-1])
