"""A scenario in which a dev job is preempted by a production job and resumed, with seven ordered milestones.

The checks are the same for all engines: they read the Workload conditions of Kueue's API, KubeRay's status,
pods and nodes.
"""

from sandbox.cluster import kinds
from sandbox.cluster.kinds import condition, is_true
from sandbox.scenarios.gangs import admitted_whole, gpu_workers, not_ended, running_gang
from sandbox.scenarios.milestones import JobsByRole, Milestone, Scenario, is_suspended
from sandbox.scenarios.observations import JobRef, ObservedObjects, job_status, seconds, why_waiting

ONE_STEP_SECONDS = 2.0
"""The maximum time between nodes that were created in one step; creation times are whole seconds."""


def dev_runs_on_gpus(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the whole dev gang runs, with GPU workers on GPU nodes, and that Ray runs the job."""
    workers = gpu_workers(observed, running_gang(observed, jobs["dev"]))
    if job_status(observed.job(jobs["dev"]))[0] != "RUNNING" or not workers:
        return ""
    return f"{len(workers)} workers on GPU nodes, job RUNNING"


def prod_waits(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the production Workload waits for quota; returns the reason."""
    return why_waiting(observed.workload(jobs["prod"]))


def dev_is_preempted(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the Workload is preempted, that KubeRay has suspended the job, and that its pods have
    ended."""
    dev = jobs["dev"]
    evicted = condition(observed.workload(dev), "Evicted")
    if evicted.get("status") != "True" or evicted.get("reason") != "Preempted":
        return ""
    if job_status(observed.job(dev))[1] != "Suspended" or not_ended(observed.pods(dev)):
        return ""
    return "Workload Evicted (Preempted), RayJob Suspended, its pods have ended"


def prod_is_provisioned(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the request is Provisioned, and that all its nodes are ready and were created in one
    step."""
    request = observed.request(jobs["prod"])
    if not request or not is_true(request, "Provisioned"):
        return ""
    name = request["status"]["provisioningClassDetails"]["ResizeRequestName"]
    nodes = observed.nodes(name)
    if not nodes or not all(is_true(n, "Ready") for n in nodes):
        return ""
    created = [seconds(n["metadata"]["creationTimestamp"]) for n in nodes]
    if max(created) - min(created) > ONE_STEP_SECONDS:
        return ""
    return f"{len(nodes)} nodes in one step for {name}"


def prod_is_admitted_whole(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the Workload is Admitted, that its whole gang runs, and that no pod is older than the
    admission."""
    return admitted_whole(observed, jobs["prod"])


def prod_succeeds(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the production job succeeded, according to Ray and KubeRay."""
    return _succeeded(observed, jobs["prod"])


def dev_succeeds(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the dev job succeeded, which requires a second run after its suspension."""
    return _succeeded(observed, jobs["dev"])


def _succeeded(observed: ObservedObjects, ref: JobRef) -> str:
    job = observed.job(ref)
    if job_status(job) != ("SUCCEEDED", "Complete"):
        return ""
    return f"SUCCEEDED as {job['status']['jobId']}"


JOBS = Scenario(
    name="jobs",
    summary="a dev job, then a production job that does not fit",
    kinds=(
        kinds.Node,
        kinds.RayJob,
        kinds.Workload,
        kinds.ClusterQueue,
        kinds.ProvisioningRequest,
        kinds.Pod,
    ),
    policies_active=is_suspended,
    examples={"dev": "dev-finetune.rayjob.yaml", "prod": "prod-batch-inference.rayjob.yaml"},
    milestones=(
        Milestone("dev job runs on GPUs", dev_runs_on_gpus, submit="prod"),
        Milestone("production job arrives and does not fit", prod_waits),
        Milestone("dev job is preempted", dev_is_preempted),
        Milestone("production gang is provisioned in one step", prod_is_provisioned),
        Milestone("production gang is admitted whole", prod_is_admitted_whole),
        Milestone("production job succeeds", prod_succeeds),
        Milestone("dev job is resumed and succeeds", dev_succeeds),
    ),
)
