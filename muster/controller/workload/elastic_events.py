"""Events about the size of elastic gangs, on the Workload and on its job."""

from collections.abc import Iterator

from muster.cluster.elasticity import granted_counts
from muster.cluster.jobs.job import Job
from muster.cluster.jobs.scaling import stored_sizes
from muster.controller.workload.events import ObjectEvent, on_job, on_workload
from muster.controller.workload.growth_messages import grown
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition
from muster.objects.workload_status import GROWTH_LIMITED, SHRINKING, holds_quota, is_evicted

GREW = "Grew"


def elastic_events(workload: Workload, job: Job | None, new: WorkloadStatus) -> Iterator[ObjectEvent]:
    """Yields events for growth, for limits with a new reason, and for the start and the end of shrinking. A
    job gets its event about a limit with its annotation."""
    sizes = stored_sizes(workload)
    if not sizes:
        return
    if holds_quota(workload.status) and holds_quota(new) and not is_evicted(new):
        message = grown(sizes, granted_counts(workload.status), granted_counts(new))
        if message:
            yield from _on_both(workload, job, GREW, message)
    for kind in (GROWTH_LIMITED, SHRINKING):
        before, now = (find_condition(status.conditions, kind) for status in (workload.status, new))
        if now is None or (before is not None and (before.status, before.reason) == (now.status, now.reason)):
            continue
        if kind == SHRINKING and (now.status == "True" or before is not None):
            yield from _on_both(workload, job, kind if now.status == "True" else now.reason, now.message)
        elif kind == GROWTH_LIMITED and now.status == "True":
            yield on_workload(workload, kind, now.message, in_status=True)


def _on_both(workload: Workload, job: Job | None, reason: str, message: str) -> Iterator[ObjectEvent]:
    yield on_workload(workload, reason, message, in_status=True)
    if job is not None:
        yield on_job(job, reason, message, in_status=True)
