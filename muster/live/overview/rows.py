"""Workloads as rows of a list: position, age, class, size and status."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.cluster.elasticity import granted_counts
from muster.cluster.phases import Phase, phase
from muster.live.eta.growth_range import GrowthRange, current_growth
from muster.live.eta.start_range import StartRange, announced
from muster.live.named import job_name
from muster.live.overview.document import Amounts
from muster.live.overview.overview import Overview
from muster.live.overview.tree import requested
from muster.live.overview.worker_groups import ElasticRow, elastic_row, size_messages
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import EVICTED, QUOTA_RESERVED, holds_quota
from muster.translation.core_workload import queued_at_ms

CHECKS_PENDING = "AdmissionChecks"
"""The reason shown for a workload that holds quota and waits for its checks; Kueue defines none."""


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """A workload in a list."""

    namespace: str
    name: str
    job: str  # KIND/NAME
    local_queue: str
    cluster_queue: str
    phase: Phase
    position: int | None  # in its ClusterQueue; None if it is not queued
    priority: int
    priority_class: str
    pods: int
    requests: Amounts  # of all pods together
    flavors: tuple[str, ...]  # of the quota that it holds
    created_ms: int
    queued_ms: int
    since_ms: int  # when its phase began
    reason: str = ""  # why it waits or does not grow, from its status
    message: str = ""
    eta: StartRange | None = field(default=None)  # from the annotation of its job
    elastic: ElasticRow | None = None  # None: its size is fixed
    growth: tuple[GrowthRange, ...] = ()  # expected, from an annotation of its job

    @property
    def key(self) -> str:
        """The key of its Workload: namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def runs(self) -> bool:
        """Returns whether the workload holds quota."""
        return self.phase in (Phase.ADMITTED, Phase.QUOTA_RESERVED, Phase.EVICTED)


def row(overview: Overview, workload: Workload, cluster_queue: str) -> WorkloadRow:
    """Returns the row of a Workload that is queued in this ClusterQueue or holds its quota."""
    meta, spec, status = workload.metadata, workload.spec, workload.status
    live, current, queued_ms = (
        overview.state.workloads.get(workload.key),
        phase(status),
        queued_of(overview, workload),
    )
    reason, message, since_ms = _why(workload, current)
    elastic = elastic_row(workload, overview.cluster)
    ref = spec.priority_class_ref
    return WorkloadRow(
        namespace=meta.namespace,
        name=meta.name,
        job=job_name(workload),
        local_queue=spec.queue_name,
        cluster_queue=cluster_queue,
        phase=current,
        position=overview.positions(cluster_queue).get(workload.key),
        priority=spec.priority or 0 if live is None else live.workload.priority,
        priority_class=ref.name if ref is not None else "",
        pods=_pods(workload, elastic),
        requests=Amounts() if live is None else requested(live.workload),
        flavors=tuple(dict.fromkeys(_flavors(workload))),
        created_ms=millis(meta.creation_timestamp),
        queued_ms=queued_ms,
        since_ms=since_ms or queued_ms,
        reason=reason,
        message=message,
        eta=announced(workload, overview.cluster) if current in (Phase.PENDING, Phase.BACK_OFF) else None,
        elastic=elastic,
        growth=current_growth(workload, overview.cluster) if current is Phase.ADMITTED else (),
    )


def _pods(workload: Workload, elastic: ElasticRow | None) -> int:
    """Returns the pods that hold quota, or are requested."""
    if elastic is not None and holds_quota(workload.status):
        return sum(granted_counts(workload.status).values())
    return sum(pod_set.count for pod_set in workload.spec.pod_sets)


def queued_of(overview: Overview, workload: Workload) -> int:
    """Returns the time from which the workload counts as queued."""
    return queued_at_ms(workload, workload.status, overview.state.configuration.rules)


def _flavors(workload: Workload) -> Iterator[str]:
    admission = workload.status.admission
    for assigned in admission.pod_set_assignments if admission is not None else ():
        yield from assigned.flavors.values()


def _why(workload: Workload, now: Phase) -> tuple[str, str, int]:
    """Returns the reason and message of the wait, and since when the workload is in its phase."""
    status = workload.status
    kind = {Phase.ADMITTED: "Admitted", Phase.EVICTED: EVICTED}.get(now, QUOTA_RESERVED)
    condition = find_condition(status.conditions, kind)
    since_ms = millis(condition.last_transition_time) if condition is not None else 0
    match now:
        case Phase.ADMITTED:
            reason, message = next(size_messages(workload), ("", ""))
            return reason, message, since_ms
        case Phase.FINISHED:
            return "", "", since_ms
        case Phase.QUOTA_RESERVED:
            waits = [check for check in status.admission_checks if check.state != "Ready"]
            messages = "; ".join(f"{c.name}: {c.message or c.state}" for c in waits)
            return CHECKS_PENDING if waits else "", messages, since_ms
    if not workload.spec.active and now is not Phase.EVICTED:
        return "Deactivated", condition.message if condition is not None else "", since_ms
    return (condition.reason, condition.message, since_ms) if condition is not None else ("", "", since_ms)
