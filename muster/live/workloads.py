"""The Workloads of a cluster that are queued or hold quota, and the runs that their statuses record."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster import admission as core
from muster.cluster.candidates import WorkloadInfo, candidate
from muster.cluster.cluster_state import ClusterState
from muster.cluster.eligibility import MISCONFIGURED, SUSPENDED
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import (
    ADMITTED,
    FINISHED,
    PODS_READY,
    QUOTA_RESERVED,
    admitted_at_ms,
    holds_quota,
    is_evicted,
    is_finished,
)

ENDLESS = tuple(str(job_kind) for job_kind in JOB_KINDS if job_kind.endless)
"""Kinds that end only when they are deleted."""


@dataclass(frozen=True, slots=True)
class LiveWorkload:
    """A Workload that is queued or holds quota."""

    workload: core.Workload
    kind: str = ""  # the kind of the owner
    priority_class: str = ""
    admitted_ms: int | None = None  # None until its admission checks are ready
    ready_ms: int | None = None  # None until its pods are ready
    reports_ready: bool = False
    ended: bool = False  # finished, while its pods still hold quota

    @property
    def is_endless(self) -> bool:
        """True if it runs until it is deleted, such as a RayService."""
        return self.kind in ENDLESS and self.workload.run_time_ms is None


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished Workload with the time from its last start to its end."""

    workload: core.Workload
    priority_class: str
    run_ms: int


@dataclass(slots=True)
class LiveWorkloads:
    """All Workloads of a cluster, by key."""

    current: dict[str, LiveWorkload] = field(default_factory=dict)
    finished: list[Finished] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)  # ignored Workloads, with the reason


def live_workloads(cluster: ClusterState, rules: core.Rules) -> LiveWorkloads:
    """Converts all Workloads that may be queued or hold quota now, sorted by key."""
    workloads = LiveWorkloads()
    for key, workload in sorted(cluster.workloads.items()):
        considered = None if _is_ineligible(workload) else candidate(workload, workload.status, cluster)
        if considered is None:
            continue
        try:
            converted = considered.whole(rules)
            core.check_workload(converted)  # one invalid workload would make the core reject the snapshot
        except ValueError as error:
            workloads.unreadable[key] = str(error)
        else:
            workloads.current[key] = _live(considered, converted)
    workloads.finished += _finished(cluster, rules)
    return workloads


def _is_ineligible(workload: Workload) -> bool:
    """Returns whether the Workload may not be queued, according to the controller's condition."""
    reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
    refused = reserved is not None and reserved.status == "False"
    refused = refused and reserved is not None and reserved.reason in (MISCONFIGURED, SUSPENDED)
    return not holds_quota(workload.status) and (refused or not workload.spec.active)


def _live(candidate: WorkloadInfo, converted: core.Workload) -> LiveWorkload:
    workload, status = candidate.workload, candidate.status
    owner, ref = workload.metadata.controller, workload.spec.priority_class_ref
    return LiveWorkload(
        workload=converted,
        kind=owner.kind if owner is not None else "",
        priority_class=ref.name if ref is not None else "",
        admitted_ms=admitted_at_ms(status),
        ready_ms=_since(status, PODS_READY),
        reports_ready=find_condition(status.conditions, PODS_READY) is not None,
        ended=is_finished(status) or bool(workload.metadata.deletion_timestamp and not is_evicted(status)),
    )


def _since(status: WorkloadStatus, kind: str) -> int | None:
    condition = find_condition(status.conditions, kind)
    return (
        millis(condition.last_transition_time)
        if condition is not None and condition.status == "True"
        else None
    )


def _finished(cluster: ClusterState, rules: core.Rules) -> Iterator[Finished]:
    """Yields finished Workloads whose conditions record their run time."""
    ended: Mapping[str, Workload] = {k: w for k, w in cluster.workloads.items() if is_finished(w.status)}
    for key in sorted(ended):
        workload, status = ended[key], ended[key].status
        began_ms, ended_ms = _since(status, PODS_READY) or _since(status, ADMITTED), _since(status, FINISHED)
        if began_ms is None or ended_ms is None or status.admission is None or ended_ms < began_ms:
            continue
        ref = workload.spec.priority_class_ref
        candidate = WorkloadInfo(workload, status, status.admission.cluster_queue)
        try:
            converted = candidate.whole(rules)
        except ValueError:
            continue
        yield Finished(converted, ref.name if ref is not None else "", ended_ms - began_ms)
