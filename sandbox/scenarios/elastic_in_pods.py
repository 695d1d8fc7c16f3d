"""A scenario in real pods: Ray's autoscaler grows a job into free quota, and gives surplus to production.

Everything is read from the API server and from the autoscaler's log. Workers that hold quota are counted
in the job's Workload, and the autoscaler's limit is `maxReplicas` of its RayCluster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import wait_until
from sandbox.scenarios.notes import Notes
from sandbox.scenarios.resumed_training import NAMESPACE, PAUSE_SECONDS, submit, succeeded
from sandbox.scenarios.training_in_pods import CLUSTER_LABEL, SECONDS_MAX, list_pods, output, pods_of
from tools.toolchain.steps import Screen, StepError

GROUP = "cpu"
GROWN_MIN = 4
"""Workers that show growth; how many fit depends on the queue's quota."""
STUCK = "ALLOCATION_TIMEOUT"


@dataclass(frozen=True)
class Elastic:
    """The state of an autoscaled RayJob with one worker group."""

    granted: int
    limit: int
    running: int
    heads: frozenset[str]


def play(kubectl: Kubectl, examples: Path, screen: Screen) -> str:
    """Submits an autoscaled job and, when it has grown into all free quota, production; waits for the
    success of both.

    Raises StepError if a wait takes too long, a job fails, the head is replaced, or the autoscaler had to
    wait for a pod that did not start.
    """
    note = Notes(screen).add
    job = submit(kubectl, examples / "cpu-elastic.rayjob.yaml")
    note(f"{job}: submitted")
    look = partial(observe, kubectl, job)
    _wait(f"the first worker of {job}", lambda: look().running >= 1)
    first = look()
    note(f"{job}: {describe(first)}")
    _wait(f"growth of {job} into free quota", lambda: is_grown(look()))
    note(f"{job}: {describe(look())}")
    production = submit(kubectl, examples / "cpu-batch.rayjob.yaml")
    note(f"{production}: submitted, and preempts workers above the minimum")
    _wait(f"pods of {production}", lambda: bool(pods_of(production, list_pods(kubectl))))
    shrunk = look()
    note(f"{job}: {describe(shrunk)}")
    if shrunk.heads != first.heads:
        raise StepError(f"the head of {job} was replaced, although surplus was enough")
    _wait(f"the success of {production}", partial(succeeded, kubectl, production))
    note(f"{production}: {result(kubectl, production)}")
    _wait(f"growth of {job} after production", lambda: look().granted > shrunk.granted)
    note(f"{job}: {describe(look())}")
    log = autoscaler_log(kubectl, job)
    if STUCK in log:
        raise StepError(
            f"Ray's autoscaler gave up on a worker of {job} that did not start: {STUCK} in its log"
        )
    _wait(f"the success of {job}", partial(succeeded, kubectl, job))
    note(f"{job}: {result(kubectl, job)}")
    return "surplus made room for production, and the head stayed"


def describe(elastic: Elastic) -> str:
    """Returns the workers of a group in words."""
    return f"{elastic.granted} workers granted, {elastic.running} running, maxReplicas {elastic.limit}"


def is_grown(elastic: Elastic) -> bool:
    """Returns whether all workers that fit into the queue's quota run."""
    return elastic.running == elastic.granted == elastic.limit >= GROWN_MIN


def observe(kubectl: Kubectl, job: str) -> Elastic:
    """Returns the state of the job; all zero while it has no RayCluster."""
    workloads = kubectl.objects("workloads", "--namespace", NAMESPACE)
    clusters = kubectl.objects("rayclusters", "--namespace", NAMESPACE)
    pods = list_pods(kubectl)
    return state(job, workloads, clusters, pods)


def state(job: str, workloads: list[Object], clusters: list[Object], pods: list[Object]) -> Elastic:
    """Returns the state of the job from these objects."""
    assigned = [
        assignment
        for workload in workloads
        if _owner(workload) == job
        for assignment in workload.get("status", {}).get("admission", {}).get("podSetAssignments", ())
        if assignment["name"] == GROUP
    ]
    groups = [
        group
        for cluster in clusters
        if _owner(cluster) == job
        for group in cluster["spec"]["workerGroupSpecs"]
        if group["groupName"] == GROUP
    ]
    own = [pod for pod in pods if pod["metadata"]["labels"][CLUSTER_LABEL].startswith(f"{job}-")]
    workers = [pod for pod in own if pod["metadata"]["labels"].get("ray.io/group") == GROUP]
    heads = [pod for pod in own if pod["metadata"]["labels"].get("ray.io/node-type") == "head"]
    return Elastic(
        granted=sum(assignment.get("count", 0) for assignment in assigned),
        limit=sum(group.get("maxReplicas", 0) for group in groups),
        running=sum(pod["status"]["phase"] == "Running" for pod in workers),
        heads=frozenset(pod["metadata"]["uid"] for pod in heads),
    )


def autoscaler_log(kubectl: Kubectl, job: str) -> str:
    """Returns the log of the autoscaler in the job's head."""
    (head,) = observe(kubectl, job).heads
    (name,) = (p["metadata"]["name"] for p in list_pods(kubectl) if p["metadata"]["uid"] == head)
    return kubectl.run("logs", name, "--namespace", NAMESPACE, "--container", "autoscaler", "--tail=-1")


def result(kubectl: Kubectl, job: str) -> str:
    """Returns the result that the job has printed."""
    lines = [line for line in output(kubectl, job).splitlines() if line.startswith("result:")]
    return lines[-1] if lines else "no result"


def _owner(resource: Object) -> str:
    owners = resource["metadata"].get("ownerReferences", ())
    return next((owner["name"] for owner in owners if owner.get("controller")), "")


def _wait(what: str, done: Callable[[], bool]) -> None:
    wait_until(what, done, SECONDS_MAX, pause_seconds=PAUSE_SECONDS)
