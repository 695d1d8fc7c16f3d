"""Creates a Workload for each job, and updates it after changes of the job."""

from collections.abc import Container, Iterable

from muster.cluster import job_workload
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import Job
from muster.cluster.ownership import Owner
from muster.controller.gangs.planned_write import DEFERRABLE_WRITES_MAX, PlannedWrite, round_robin
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.workload.events import on_job
from muster.objects import workload_status
from muster.objects.kueue import Workload


def sync_jobs(
    plan: PassPlan, owners: Iterable[Owner], cluster: ClusterState, backing_off: Container[str]
) -> list[Owner]:
    """Adds the writes that create and update the Workloads of jobs. Returns the jobs that need a write,
    including jobs that back off, and jobs that are postponed to the next pass, as a pass creates a limited
    number of Workloads."""
    unsettled, without_workload = list[Owner](), list[Job]()
    writes = plan.writes.before_reservations
    for owner in owners:
        job = cluster.job(owner)
        if job is None or not job.managed:
            continue
        workload = cluster.workload_of(job)
        if workload is not None:
            planned = _update(workload, job, cluster)
            if planned is not None:
                unsettled.append(owner)
                if planned.subject not in backing_off:
                    writes.append(planned)
        elif job.outcome is None and not job.metadata.deletion_timestamp:
            unsettled.append(owner)
            if job.metadata.uid not in backing_off:
                without_workload.append(job)
    chosen = _first(without_workload, cluster)
    writes += (_creation(job, cluster) for job in chosen)
    plan.postponed = len(without_workload) > len(chosen)
    return unsettled


def _first(jobs: list[Job], cluster: ClusterState) -> list[Job]:
    """Returns the jobs whose Workloads this pass creates: round-robin by namespace, so that no namespace
    delays another; within a namespace, in the order in which a queue would admit them."""

    def order(job: Job) -> tuple[int, str, str]:
        priority, _ = job_workload.priority_of(job, cluster)
        return -priority, job.metadata.creation_timestamp, job.metadata.name

    return round_robin(sorted(jobs, key=order), lambda job: job.metadata.namespace, DEFERRABLE_WRITES_MAX)


def _creation(job: Job, cluster: ClusterState) -> PlannedWrite:
    create = job_workload.make_workload(job, cluster)
    cluster.latest_pod_refusal(create.key, job)  # starts the check early
    message = f"Created Workload {create.body['metadata']['name']}"
    created = on_job(job, "CreatedWorkload", message, in_status=True)
    return PlannedWrite(job.metadata.uid, create, (created,), deferrable=True)


def _update(workload: Workload, job: Job, cluster: ClusterState) -> PlannedWrite | None:
    if workload_status.is_finished(workload.status):
        return None
    if workload_status.holds_quota(workload.status):
        change = job_workload.update_priority(workload, cluster)
    else:
        change = job_workload.update_workload(workload, job, cluster)
    if change is None:
        return None
    event = on_job(job, "UpdatedWorkload", f"Updated Workload {workload.metadata.name}")
    return PlannedWrite(workload.key, change, (event,), deferrable=True)
