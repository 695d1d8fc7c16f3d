"""The Workloads of a cluster that are queued or hold quota."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster import admission as core
from muster.admission.lifecycle import Readiness
from muster.cluster.candidates import WorkloadInfo, candidate
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import elastic_pod_sets, granted_counts, may_grow
from muster.cluster.eligibility import MISCONFIGURED, SUSPENDED
from muster.cluster.jobs.kinds import JOB_KINDS
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.queued_growth import nodes_by_group
from muster.forecast.observed_state import ObservedWorkload
from muster.forecast.simulation.worker_group import NextNodes, WorkerGroup
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis
from muster.objects.workload_status import (
    PODS_READY,
    QUOTA_RESERVED,
    admitted_at_ms,
    holds_quota,
    is_admitted,
    is_evicted,
    is_finished,
)
from muster.translation.elastic import ElasticPodSet, at_granted_size

ENDLESS = tuple(str(job_kind) for job_kind in JOB_KINDS if job_kind.endless)
"""Kinds that end only when they are deleted."""


@dataclass(slots=True)
class LiveWorkloads:
    """All Workloads of a cluster, by key."""

    current: dict[str, ObservedWorkload] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)  # ignored Workloads, with the reason


@dataclass(frozen=True, slots=True)
class ElasticSize:
    """The size of an autoscaled gang with quota, by pod set."""

    pod_sets: Mapping[str, ElasticPodSet] = field(default_factory=dict)
    nodes: Mapping[str, NextNodes] = field(default_factory=dict)  # that growth waits for


ElasticSizes = Mapping[str, ElasticSize]
"""The sizes of autoscaled gangs with quota, by key."""
_FIXED = ElasticSize()


def elastic_sizes(cluster: ClusterState, now_ms: int) -> ElasticSizes:
    """Returns the sizes of autoscaled gangs, which depend on their RayClusters, pods and
    ProvisioningRequests."""
    pod_sets = {
        key: elastic_pod_sets(workload, workload.status, cluster, now_ms)
        for key, workload in cluster.workloads.items()
    }
    return {
        key: ElasticSize(elastic, dict(_next_nodes(cluster.workloads[key], cluster, now_ms)))
        for key, elastic in pod_sets.items()
        if elastic
    }


def _next_nodes(workload: Workload, cluster: ClusterState, now_ms: int) -> Iterator[tuple[str, NextNodes]]:
    """Yields the nodes for which the groups of a gang wait, by pod set."""
    if not may_grow(workload, workload.status, cluster):
        return
    for pod_set, nodes in nodes_by_group(workload, workload.status, cluster, now_ms).items():
        if nodes.pending is not None:
            request = nodes.pending
            yield pod_set, NextNodes(request.count, now_ms - request.elapsed_ms, request.name)
        elif nodes.failed is not None:
            yield pod_set, NextNodes(0, nodes.retry_at_ms, nodes.failed.name)


def live_workloads(
    cluster: ClusterState, rules: core.Rules, now_ms: int, sizes: ElasticSizes | None = None
) -> LiveWorkloads:
    """Converts all Workloads that may be queued or hold quota now, sorted by key. `sizes` has the
    sizes of autoscaled gangs, if the cluster lacks the objects that they depend on."""
    workloads = LiveWorkloads()
    sizes = elastic_sizes(cluster, now_ms) if sizes is None else sizes
    for key, workload in sorted(cluster.workloads.items()):
        if _is_ineligible(workload):
            continue
        size = sizes.get(key, _FIXED)
        considered = candidate(workload, workload.status, cluster, size.pod_sets)
        if considered is None:
            continue
        try:
            converted = considered.whole(rules)
            core.check_workload(converted)  # one invalid workload would make the core reject the snapshot
        except ValueError as error:
            workloads.unreadable[key] = str(error)
        else:
            workloads.current[key] = _live(considered, converted, rules, cluster, size.nodes)
    return workloads


def _is_ineligible(workload: Workload) -> bool:
    """Returns whether the Workload may not be queued, according to the controller's condition."""
    reserved = find_condition(workload.status.conditions, QUOTA_RESERVED)
    refused = reserved is not None and reserved.status == "False"
    refused = refused and reserved is not None and reserved.reason in (MISCONFIGURED, SUSPENDED)
    return not holds_quota(workload.status) and (refused or not workload.spec.active)


def _live(
    candidate: WorkloadInfo,
    converted: core.Workload,
    rules: core.Rules,
    cluster: ClusterState,
    nodes: Mapping[str, NextNodes],
) -> ObservedWorkload:
    """Returns the candidate with the surplus that it holds, and its groups with what they ask for."""
    parts = candidate.converted(rules) if candidate.elastic else ()
    workload, status = candidate.workload, candidate.status
    owner, ref = workload.metadata.controller, workload.spec.priority_class_ref
    return ObservedWorkload(
        workload=at_granted_size(converted) if parts else converted,
        elastic=tuple(part for part in parts if part.admission is not None),
        groups=_groups(candidate, cluster),
        terminating=_terminating(candidate),
        nodes=nodes,
        priority_class=ref.name if ref is not None else "",
        user=workload.metadata.namespace,
        admitted_ms=admitted_at_ms(status),
        ready_ms=_started_ms(status),
        reports_ready=find_condition(status.conditions, PODS_READY) is not None,
        ended=is_finished(status) or bool(workload.metadata.deletion_timestamp and not is_evicted(status)),
        is_endless=owner is not None and owner.kind in ENDLESS and converted.run_time_ms is None,
        submitted_ms=millis(workload.metadata.creation_timestamp),
    )


def _groups(candidate: WorkloadInfo, cluster: ClusterState) -> dict[str, WorkerGroup]:
    """Returns the groups that may grow now, or after their gang has started."""
    workload, status = candidate.workload, candidate.status
    sizes = stored_sizes(workload)
    starts = not is_admitted(status) or is_evicted(status)
    if not starts and not may_grow(workload, status, cluster):
        return {}
    asked = {} if starts else {name: elastic.asked for name, elastic in candidate.elastic.items()}
    return {
        pods.name: WorkerGroup(
            minimum=size.minimum,
            replica=size.num_of_hosts,
            asked=asked.get(pods.name, size.asked(size.replicas)),
            maximum=size.asked(size.max_replicas),
        )
        for pods in workload.spec.pod_sets
        if (size := sizes.get(pods.name)) is not None
    }


def _terminating(candidate: WorkloadInfo) -> dict[str, int]:
    """Returns the workers beyond the quota of their group, by pod set."""
    granted = granted_counts(candidate.status)
    beyond = {name: e.running - max(granted[name], e.minimum) for name, e in candidate.elastic.items()}
    return {name: pods for name, pods in beyond.items() if pods > 0}


def _started_ms(status: WorkloadStatus) -> int | None:
    """Returns since when the gang runs; None while pods are missing. After a recovery this is the time of its
    admission, as the condition has the time at which the last lost pod was replaced."""
    ready_ms = since_ms(status, PODS_READY)
    has_recovered = ready_ms is not None and first_ready_ms(status) is None
    return admitted_at_ms(status) if has_recovered else ready_ms


def since_ms(status: WorkloadStatus, kind: str) -> int | None:
    """Returns since when a condition is true; None if it is not."""
    condition = find_condition(status.conditions, kind)
    return (
        millis(condition.last_transition_time)
        if condition is not None and condition.status == "True"
        else None
    )


def first_ready_ms(status: WorkloadStatus) -> int | None:
    """Returns since when its pods run; None also if one was lost since then, and replaced."""
    ready = find_condition(status.conditions, PODS_READY)
    recovered = ready is not None and ready.reason == Readiness.RECOVERED
    return None if recovered else since_ms(status, PODS_READY)
