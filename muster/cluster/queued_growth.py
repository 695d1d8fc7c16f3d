"""The worker groups of a gang whose growth needs nodes of a queued pool, and their requests."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from muster.admission.lifecycle import Backoff
from muster.cluster import provisioning_timeouts
from muster.cluster.cluster_state import ClusterState
from muster.cluster.growth_nodes import GroupNodes, GrowthRequest, GrowthState, group_nodes
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.managed_checks import is_managed, managed_checks, matches
from muster.cluster.pod_sets import counts_by_pod_set
from muster.objects.autoscaling import ProvisioningRequest
from muster.objects.kueue import AdmissionCheckState, PodSet, Workload, WorkloadStatus
from muster.objects.kueue_checks import ProvisioningRequestConfig
from muster.objects.meta import find_condition, millis
from muster.objects.names import CONSUME_ANNOTATION, GROWTH_ATTEMPT, GROWTH_LABEL, GROWTH_NUMBER

FAILURES = ("Failed", "CapacityRevoked")


@dataclass(frozen=True, slots=True)
class QueuedGroup:
    """A worker group whose pods need nodes by an admission check."""

    pod_set: PodSet
    check: AdmissionCheckState
    config: ProvisioningRequestConfig


def queued_groups(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState
) -> dict[str, QueuedGroup]:
    """Returns the elastic groups of a gang whose pods need nodes by a check, by pod set."""
    sizes = stored_sizes(workload)
    return {
        pod_set.name: QueuedGroup(pod_set, state, config)
        for state, config in managed_checks(status, cluster)
        if config is not None
        for pod_set in workload.spec.pod_sets
        if pod_set.name in sizes and is_managed(pod_set, config)
    }


def checks_allow_growth(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> bool:
    """Returns whether all checks of a gang can be repeated for further pods: those for nodes, as long as a
    worker group has no more than one, as its pods can't name two requests."""
    if not status.admission_checks:
        return True
    configs = [config for _, config in managed_checks(status, cluster) if config is not None]
    if len(configs) < len(status.admission_checks):
        return False
    sizes = stored_sizes(workload)
    elastic = [pod_set for pod_set in workload.spec.pod_sets if pod_set.name in sizes]
    return all(sum(is_managed(pod_set, config) for config in configs) <= 1 for pod_set in elastic)


def nodes_by_group(
    workload: Workload, status: WorkloadStatus, cluster: ClusterState, now_ms: int
) -> Mapping[str, GroupNodes]:
    """Returns the nodes of the groups whose pods need nodes by a check, by pod set."""
    groups = queued_groups(workload, status, cluster)
    if not groups or status.admission is None:
        return {}
    counts = {assigned.name: assigned.count or 0 for assigned in status.admission.pod_set_assignments}
    live = cluster.live_pods_of(workload)
    running = counts_by_pod_set(live)
    used = Counter(p.metadata.annotations.get(CONSUME_ANNOTATION, "") for p in live if not p.awaits_growth)
    sizes = stored_sizes(workload)
    nodes: dict[str, GroupNodes] = {}
    for name, group in groups.items():
        if name not in counts:
            continue
        strategy = group.config.spec.retry_strategy
        requests = [
            _fact(request, workload, group, used[request.metadata.name], cluster, now_ms)
            for request in growth_requests(workload, cluster, name)
        ]
        backoff = Backoff(strategy.backoff_base_seconds, strategy.backoff_max_seconds)
        nodes[name] = group_nodes(sizes[name].minimum, counts[name], running[name], requests, backoff)
    return nodes


def growth_due_ms(nodes: Mapping[str, GroupNodes], now_ms: int) -> int | None:
    """Returns the time at which the nodes may change without a change of objects; None if they don't."""
    until = (group.until_in_ms for group in nodes.values())
    return min((now_ms + max(1, in_ms) for in_ms in until if in_ms is not None), default=None)


def growth_requests(workload: Workload, cluster: ClusterState, pod_set: str) -> Iterator[ProvisioningRequest]:
    """Yields the requests for growth of a pod set that are not being deleted."""
    for request in cluster.requests_of(workload):
        meta = request.metadata
        if meta.labels.get(GROWTH_LABEL) == pod_set and not meta.deletion_timestamp:
            yield request


def requests_for_growth(workload: Workload, cluster: ClusterState) -> Iterator[ProvisioningRequest]:
    """Yields the requests for growth of the groups whose pods still need nodes by a check."""
    for pod_set in queued_groups(workload, workload.status, cluster):
        yield from growth_requests(workload, cluster, pod_set)


def _fact(
    request: ProvisioningRequest,
    workload: Workload,
    group: QueuedGroup,
    used: int,
    cluster: ClusterState,
    now_ms: int,
) -> GrowthRequest:
    meta = request.metadata
    state, since, message = _state(request)
    since_ms = millis(since or meta.creation_timestamp)
    timer = f"{state} {since} {meta.uid}"
    elapsed_ms = cluster.timers.elapsed_ms(timer, workload.metadata.uid, now_ms - since_ms)
    overdue_in_ms = None
    if state is GrowthState.PENDING:
        # By the timer, not by the times in the request: its clock may differ from the controller's.
        due_ms = provisioning_timeouts.due_ms(request, group.config, now_ms - elapsed_ms)
        overdue_in_ms = due_ms - now_ms if due_ms is not None else None
        if (overdue_in_ms is not None and overdue_in_ms <= 0) or not matches(request, group.config):
            state = GrowthState.OVERDUE
    return GrowthRequest(
        name=meta.name,
        number=_number(meta.annotations.get(GROWTH_NUMBER)),
        attempt=_number(meta.annotations.get(GROWTH_ATTEMPT)),
        count=sum(pods.count for pods in request.spec.pod_sets),
        state=state,
        since_ms=since_ms,
        elapsed_ms=max(0, elapsed_ms),
        overdue_in_ms=overdue_in_ms,
        used=used,
        message=message,
    )


def has_ended(request: ProvisioningRequest) -> bool:
    """Returns whether the request failed, or its nodes are no longer booked."""
    return _state(request)[0] in (GrowthState.FAILED, GrowthState.EXPIRED)


def _state(request: ProvisioningRequest) -> tuple[GrowthState, str | None, str]:
    """Returns the state of a request, since when it is in it, and the message of its condition."""
    true = {c.type: c for c in request.status.conditions if c.status == "True"}
    for kind in FAILURES:
        if kind in true:
            return GrowthState.FAILED, true[kind].last_transition_time, true[kind].message
    if "BookingExpired" in true:
        expired = true["BookingExpired"]
        return GrowthState.EXPIRED, expired.last_transition_time, expired.message
    if "Provisioned" in true:
        return GrowthState.PROVISIONED, true["Provisioned"].last_transition_time, true["Provisioned"].message
    if "Accepted" in true:
        waits = find_condition(request.status.conditions, "Provisioned")  # its message has the expected time
        message = waits.message if waits is not None else true["Accepted"].message
        return GrowthState.PENDING, true["Accepted"].last_transition_time, message
    return GrowthState.PENDING, None, ""


def _number(text: str | None) -> int:
    """Returns the number in an annotation of a request; 1 if administrators have edited it."""
    with suppress(ValueError):
        return max(1, int(text or ""))
    return 1
