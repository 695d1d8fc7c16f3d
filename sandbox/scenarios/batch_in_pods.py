"""A scenario in real pods: of two production jobs, the queue fits one, so the second waits as a whole.

It plays with every engine: with Kueue's API the second job has no pods before the first ends, with KAI all of
its pods are pending.
"""

from functools import partial
from pathlib import Path

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import submit, succeeded
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL, list_pods, wait
from tools.toolchain.steps import Screen, StepError

GANG = 2
"""The head and the worker of examples/cpu-batch.rayjob.yaml."""


def play(kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits the same job twice, and waits for the success of both.

    Raises StepError if a wait takes too long, a job fails, or a pod of the second job has a node before the
    first job has ended.
    """
    note = Notes(screen).add
    first, second = (submit(kubectl, examples / "cpu-batch.rayjob.yaml") for _ in range(2))
    note(f"{first} and {second}: submitted")
    jobs = [first, second]

    def running() -> list[str]:
        pods = list_pods(kubectl)
        return [job for job in jobs if len(placed(job, pods)) == GANG]

    wait("a gang that runs whole", lambda: bool(running()))
    (ahead,) = running()
    (waiting,) = (job for job in jobs if job != ahead)
    note(f"{ahead}: all pods have nodes")

    def ended() -> bool:
        pods = placed(waiting, list_pods(kubectl))
        success = succeeded(kubectl, ahead)  # read after the pods: the job may just have ended
        if pods and not success:
            raise StepError(f"{waiting} has {len(pods)} pods on nodes, and {ahead} has not ended")
        return success

    wait(f"the success of {ahead}", ended)
    note(f"{ahead}: succeeded; before, {waiting} had no pod on a node")
    wait(f"the success of {waiting}", partial(succeeded, kubectl, waiting))
    note(f"{waiting}: succeeded")
    return "the second job waited whole, and both succeeded"


def placed(job: str, pods: list[Object]) -> list[Object]:
    """Returns the job's pods that have a node."""
    return [
        pod
        for pod in pods
        if pod["metadata"]["labels"][CLUSTER_LABEL].startswith(f"{job}-") and pod["spec"].get("nodeName")
    ]
