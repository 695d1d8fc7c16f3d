"""A scenario in real pods: Ray's autoscaler grows a job into free quota, and gives surplus to production.

Everything is read from the API server and from the autoscaler's log. Workers that hold quota are counted
in the job's Workload, and the autoscaler's limit is `maxReplicas` of its RayCluster.
"""

from functools import partial
from pathlib import Path

from sandbox.cluster.kubectl import Kubectl
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects, labels
from sandbox.scenarios.resumed_training import NAMESPACE, submit, succeeded
from sandbox.scenarios.training_in_pods import list_pods, output, pods_of, wait
from sandbox.scenarios.worker_sizes import WorkerSizes, worker_sizes
from tools.toolchain.steps import Screen, StepError

GROUP = "cpu"
GROWN_MIN = 4
"""Workers that show growth; how many fit depends on the queue's quota."""
STUCK = "ALLOCATION_TIMEOUT"


def play(kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits an autoscaled job and, when it has grown into all free quota, production; waits for the
    success of both.

    Raises StepError if a wait takes too long, a job fails, the head is replaced, or the autoscaler had to
    wait for a pod that did not start.
    """
    note = Notes(screen).add
    job = submit(kubectl, examples / "cpu-elastic.rayjob.yaml")
    note(f"{job}: submitted")

    def sizes() -> WorkerSizes:
        return observe(kubectl, job)[0]

    wait(f"the first worker of {job}", lambda: sizes().running >= 1)
    first, heads = observe(kubectl, job)
    note(f"{job}: {first}")
    wait(f"growth of {job} into free quota", lambda: is_grown(sizes()))
    note(f"{job}: {sizes()}")
    production = submit(kubectl, examples / "cpu-batch.rayjob.yaml")
    note(f"{production}: submitted, and preempts workers above the minimum")
    wait(f"pods of {production}", lambda: bool(pods_of(production, list_pods(kubectl))))
    shrunk, heads_now = observe(kubectl, job)
    note(f"{job}: {shrunk}")
    if heads_now != heads:
        raise StepError(f"the head of {job} was replaced, although it has enough surplus")
    wait(f"the success of {production}", partial(succeeded, kubectl, production))
    note(f"{production}: {result(kubectl, production)}")
    wait(f"growth of {job} after production", lambda: sizes().granted > shrunk.granted)
    note(f"{job}: {sizes()}")
    if STUCK in autoscaler_log(kubectl, job):
        raise StepError(f"Ray's autoscaler gave up on a worker of {job} that did not start: {STUCK}")
    wait(f"the success of {job}", partial(succeeded, kubectl, job))
    note(f"{job}: {result(kubectl, job)}")
    return "surplus made room for production, and the head stayed"


def is_grown(sizes: WorkerSizes) -> bool:
    """Returns whether all workers that fit into the queue's quota run."""
    return sizes.running == sizes.granted == sizes.limit >= GROWN_MIN


def observe(kubectl: Kubectl, job: str) -> tuple[WorkerSizes, list[str]]:
    """Returns the sizes of the job, and the names of its heads."""
    observed = ObservedObjects()
    for kind in ("RayJob", "RayCluster", "Workload", "Pod"):
        for obj in kubectl.objects(f"{kind.lower()}s", "--namespace", NAMESPACE):
            observed.apply(ObservedChange(0.0, kind, obj))
    ref = JobRef("RayJob", NAMESPACE, job)
    heads = [pod for pod in observed.gang(ref) if labels(pod).get("ray.io/node-type") == "head"]
    return worker_sizes(observed, ref), [str(head["metadata"]["name"]) for head in heads]


def autoscaler_log(kubectl: Kubectl, job: str) -> str:
    """Returns the log of the autoscaler in the job's head."""
    _, (head,) = observe(kubectl, job)
    return kubectl.run("logs", head, "--namespace", NAMESPACE, "--container", "autoscaler", "--tail=-1")


def result(kubectl: Kubectl, job: str) -> str:
    """Returns the result that the job has printed."""
    lines = [line for line in output(kubectl, job).splitlines() if line.startswith("result:")]
    return lines[-1] if lines else "no result"
