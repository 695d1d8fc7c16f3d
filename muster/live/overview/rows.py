"""Workloads as rows of lists: their place, age, class, size and status."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.controller.workload.phases import Phase, phase
from muster.live.eta.start_range import ANNOTATION, StartRange, read_annotation
from muster.live.named import job_name
from muster.live.overview.document import Amounts
from muster.live.overview.overview import Overview
from muster.live.overview.tree import requested
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import EVICTED, QUOTA_RESERVED
from muster.translation.core_workload import queued_at_ms

CHECKS_PENDING = "AdmissionChecks"
"""The reason of a workload that holds quota and waits for its checks; Kueue has no word for it."""


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """A workload, and its job as KIND/NAME. `position` is its place in its ClusterQueue, None if it is not
    queued; `requests` is what its pods ask for together, and `flavors` are those of its quota. `reason` and
    `message` say why it waits, as its status has them. `since_ms` is when its phase began, `eta` when it is
    expected to start."""

    namespace: str
    name: str
    job: str
    local_queue: str
    cluster_queue: str
    phase: Phase
    position: int | None
    priority: int
    priority_class: str
    pods: int
    requests: Amounts
    flavors: tuple[str, ...]
    created_ms: int
    queued_ms: int
    since_ms: int
    reason: str = ""
    message: str = ""
    eta: StartRange | None = field(default=None)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def runs(self) -> bool:
        """Whether it holds quota."""
        return self.phase in (Phase.ADMITTED, Phase.QUOTA_RESERVED, Phase.EVICTED)


def row(seen: Overview, workload: Workload, cluster_queue: str) -> WorkloadRow:
    """Returns the row of a Workload that is queued in this ClusterQueue, or holds its quota."""
    meta, spec, status = workload.metadata, workload.spec, workload.status
    known, now, queued_ms = seen.state.workloads.get(workload.key), phase(status), queued_of(seen, workload)
    reason, message, since_ms = _why(workload, now)
    ref = spec.priority_class_ref
    return WorkloadRow(
        namespace=meta.namespace,
        name=meta.name,
        job=job_name(workload),
        local_queue=spec.queue_name,
        cluster_queue=cluster_queue,
        phase=now,
        position=seen.positions(cluster_queue).get(workload.key),
        priority=spec.priority or 0 if known is None else known.workload.priority,
        priority_class=ref.name if ref is not None else "",
        pods=sum(pod_set.count for pod_set in spec.pod_sets),
        requests=Amounts() if known is None else requested(known.workload),
        flavors=tuple(dict.fromkeys(_flavors(workload))),
        created_ms=millis(meta.creation_timestamp),
        queued_ms=queued_ms,
        since_ms=since_ms or queued_ms,
        reason=reason,
        message=message,
        eta=_announced(seen, workload) if now in (Phase.PENDING, Phase.BACK_OFF) else None,
    )


def queued_of(seen: Overview, workload: Workload) -> int:
    return queued_at_ms(workload, workload.status, seen.state.configuration.rules)


def _flavors(workload: Workload) -> Iterator[str]:
    held = workload.status.admission
    for assigned in held.pod_set_assignments if held is not None else ():
        yield from assigned.flavors.values()


def _why(workload: Workload, now: Phase) -> tuple[str, str, int]:
    """Returns reason and message of what it waits for, and since when it is in its phase."""
    status = workload.status
    kind = {Phase.ADMITTED: "Admitted", Phase.EVICTED: EVICTED}.get(now, QUOTA_RESERVED)
    found = find_condition(status.conditions, kind)
    since_ms = millis(found.last_transition_time) if found is not None else 0
    match now:
        case Phase.ADMITTED | Phase.FINISHED:
            return "", "", since_ms
        case Phase.QUOTA_RESERVED:
            waits = [check for check in status.admission_checks if check.state != "Ready"]
            said = "; ".join(f"{c.name}: {c.message or c.state}" for c in waits)
            return CHECKS_PENDING if waits else "", said, since_ms
    if not workload.spec.active and now is not Phase.EVICTED:
        return "Deactivated", found.message if found is not None else "", since_ms
    return (found.reason, found.message, since_ms) if found is not None else ("", "", since_ms)


def _announced(seen: Overview, workload: Workload) -> StartRange | None:
    job = seen.cluster.job_of(workload)
    text = job.metadata.annotations.get(ANNOTATION) if job is not None else None
    return read_annotation(text) if text else None
