"""A dev job is preempted by a production job and resumed: seven milestones in this order.

The checks do not depend on the engine: they read Workload conditions of Kueue's API, KubeRay's status, pods
and nodes.
"""

from __future__ import annotations

from sandbox.cluster import kinds
from sandbox.cluster.kinds import condition, is_true
from sandbox.scenarios.gangs import admitted_whole, gpu_workers, running_gang
from sandbox.scenarios.milestones import Cast, Chapter, Scenario, is_suspended
from sandbox.scenarios.observations import JobRef, World, job_status, seconds, why_waiting

ONE_STEP_SECONDS = 2.0
"""Nodes created within this time count as one step; creation times are whole seconds."""


def dev_runs_on_gpus(world: World, cast: Cast) -> str:
    """Checks that the whole dev gang runs, its GPU workers on nodes with GPUs, and Ray runs the job."""
    workers = gpu_workers(world, running_gang(world, cast["dev"]))
    if job_status(world.job(cast["dev"]))[0] != "RUNNING" or not workers:
        return ""
    return f"{len(workers)} workers on GPU nodes, job RUNNING"


def prod_waits(world: World, cast: Cast) -> str:
    """Checks that the production Workload waits for quota; returns its reason."""
    return why_waiting(world.workload(cast["prod"]))


def dev_is_preempted(world: World, cast: Cast) -> str:
    """Checks that the Workload is preempted, KubeRay has suspended the job, and no pods are left."""
    dev = cast["dev"]
    evicted = condition(world.workload(dev), "Evicted")
    if evicted.get("status") != "True" or evicted.get("reason") != "Preempted":
        return ""
    if job_status(world.job(dev))[1] != "Suspended" or world.pods(dev):
        return ""
    return "Workload Evicted (Preempted), RayJob Suspended, no pods left"


def prod_is_provisioned(world: World, cast: Cast) -> str:
    """Checks that the request is Provisioned, and all its nodes were created at once and are ready."""
    request = world.request(cast["prod"])
    if not request or not is_true(request, "Provisioned"):
        return ""
    name = request["status"]["provisioningClassDetails"]["ResizeRequestName"]
    nodes = world.nodes(name)
    if not nodes or not all(is_true(n, "Ready") for n in nodes):
        return ""
    made = [seconds(n["metadata"]["creationTimestamp"]) for n in nodes]
    if max(made) - min(made) > ONE_STEP_SECONDS:
        return ""
    return f"{len(nodes)} nodes at once for {name}"


def prod_is_admitted_whole(world: World, cast: Cast) -> str:
    """Checks that the Workload is Admitted, its whole gang runs, and no pod is older than the admission."""
    return admitted_whole(world, cast["prod"])


def prod_succeeds(world: World, cast: Cast) -> str:
    """Checks that the production job succeeded, for Ray and KubeRay."""
    return _succeeded(world, cast["prod"])


def dev_succeeds(world: World, cast: Cast) -> str:
    """Checks that the dev job succeeded, which after its suspension requires a second run."""
    return _succeeded(world, cast["dev"])


def _succeeded(world: World, ref: JobRef) -> str:
    job = world.job(ref)
    if job_status(job) != ("SUCCEEDED", "Complete"):
        return ""
    return f"SUCCEEDED as {job['status']['jobId']}"


JOBS = Scenario(
    name="jobs",
    says="a dev job, then a production job that does not fit",
    kinds=(
        kinds.Node,
        kinds.RayJob,
        kinds.Workload,
        kinds.ClusterQueue,
        kinds.ProvisioningRequest,
        kinds.Pod,
    ),
    taken_up=is_suspended,
    examples={"dev": "dev-finetune.rayjob.yaml", "prod": "prod-batch-inference.rayjob.yaml"},
    chapters=(
        Chapter("dev job runs on GPUs", dev_runs_on_gpus, submit="prod"),
        Chapter("production job arrives and does not fit", prod_waits),
        Chapter("dev job is preempted", dev_is_preempted),
        Chapter("production gang is provisioned in one step", prod_is_provisioned),
        Chapter("production gang is admitted whole", prod_is_admitted_whole),
        Chapter("production job succeeds", prod_succeeds),
        Chapter("dev job is resumed and succeeds", dev_succeeds),
    ),
)
