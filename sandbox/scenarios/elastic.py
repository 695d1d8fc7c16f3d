"""A scenario in which an autoscaled job grows into free quota, and gives workers to production.

The head and the minimum continue; only workers above the minimum are preempted, after a notice. The
annotation of the job says how many workers it has work for (sandbox/stand_ins/ray_autoscaler.py).
"""

from sandbox.cluster import kinds
from sandbox.cluster.kinds import condition, is_true
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.jobs import prod_is_admitted_whole, prod_succeeds
from sandbox.scenarios.milestones import JobsByRole, Milestone, Scenario, is_suspended
from sandbox.scenarios.observations import ObservedObjects, job_status, labels, seconds
from sandbox.scenarios.worker_sizes import worker_sizes
from sandbox.stand_ins.ray_autoscaler import work_of

RUNS_WHOLE = "production gang runs whole"
SUCCEEDS = "production job succeeds"


def starts_at_its_minimum(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the Workload is admitted with the minimum of its workers."""
    job, workload = observed.job(jobs["elastic"]), observed.workload(jobs["elastic"])
    if not job or not workload or not is_true(workload, "Admitted"):
        return ""
    (group,) = cluster_spec(job)["workerGroupSpecs"]
    granted = worker_sizes(observed, jobs["elastic"]).granted
    if granted != group["minReplicas"]:
        return ""
    return f"Workload Admitted with {granted} of {_workers_needed(observed, jobs)} workers"


def has_grown(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that all workers run that the job has work for."""
    sizes, needed = worker_sizes(observed, jobs["elastic"]), _workers_needed(observed, jobs)
    return str(sizes) if sizes.granted == sizes.running == needed > 0 else ""


def surplus_is_preempted(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that workers above the minimum are preempted for production."""
    shrinking = condition(observed.workload(jobs["elastic"]), "Shrinking")
    if shrinking.get("status") != "True" or "Preempted" not in shrinking.get("message", ""):
        return ""
    sizes = worker_sizes(observed, jobs["elastic"])
    return f"notice to {sizes.running - sizes.granted} of {sizes.running} workers"


def elastic_job_continues(observed: ObservedObjects, jobs: JobsByRole) -> str:
    """Checks that the job still runs, on the head that it started with."""
    elastic, workload = jobs["elastic"], observed.workload(jobs["elastic"])
    heads = [pod for pod in observed.gang(elastic) if labels(pod).get("ray.io/node-type") == "head"]
    admitted = condition(workload, "Admitted")
    if job_status(observed.job(elastic))[0] != "RUNNING" or condition(workload, "Evicted") or not heads:
        return ""
    production = condition(observed.workload(jobs["prod"]), "Admitted")
    created = min(seconds(head["metadata"]["creationTimestamp"]) for head in heads)
    if not seconds(admitted["lastTransitionTime"]) <= created < seconds(production["lastTransitionTime"]):
        return ""
    return f"the same head, {worker_sizes(observed, elastic)}"


def _workers_needed(observed: ObservedObjects, jobs: JobsByRole) -> int:
    """Returns the number of workers that the job has work for."""
    job = observed.job(jobs["elastic"])
    return sum(work_of(job).values()) if job else 0


ELASTIC = Scenario(
    name="elastic",
    summary="an autoscaled job that grows, then a production job that needs some of its workers",
    kinds=(kinds.RayJob, kinds.RayCluster, kinds.Workload, kinds.Pod),
    policies_active=is_suspended,
    examples={"elastic": "cpu-elastic.rayjob.yaml", "prod": "cpu-batch.rayjob.yaml"},
    milestones=(
        Milestone("elastic job starts at its minimum", starts_at_its_minimum),
        Milestone("it grows into free quota", has_grown, submit="prod"),
        Milestone("workers above its minimum are preempted", surplus_is_preempted),
        Milestone(RUNS_WHOLE, prod_is_admitted_whole),
        Milestone("elastic job continues", elastic_job_continues, after=RUNS_WHOLE),
        Milestone(SUCCEEDS, prod_succeeds),
        Milestone("elastic job grows again", has_grown, after=SUCCEEDS),
    ),
)
