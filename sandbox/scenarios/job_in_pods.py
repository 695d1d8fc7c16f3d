"""The first scenario in real pods: a RayJob is admitted as a gang, and its result is read from its log."""

from pathlib import Path

from sandbox.cluster.kubectl import Kubectl
from sandbox.scenarios.batch_in_pods import GANG, placed
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import NAMESPACE, submit, succeeded
from sandbox.scenarios.training_in_pods import list_pods, output, wait
from tools.toolchain.steps import Screen, StepError

RESULT = "result: "


def play(kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits a job, and waits for its success.

    Raises StepError if a wait takes too long, the job fails, or its log has no result.
    """
    note = Notes(screen).add
    job = submit(kubectl, examples / "cpu-batch.rayjob.yaml")
    note(f"{job}: submitted")
    wait(f"a node for each pod of {job}", lambda: len(placed(job, list_pods(kubectl))) == GANG)
    note(f"{job}: admitted, all {GANG} pods have nodes")
    wait(f"the success of {job}", lambda: succeeded(kubectl, job))
    results = [line for line in output(kubectl, job).splitlines() if line.startswith(RESULT)]
    if not results:
        raise StepError(
            f"{job} succeeded, but its log has no line with {RESULT.strip()!r}",
            try_this=f"{kubectl.command} logs -n {NAMESPACE} job/{job}",
        )
    note(f"{job}: succeeded; its log: {results[-1]}")
    return f"the job ran in {GANG} pods; {results[-1]}"
