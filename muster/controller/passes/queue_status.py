"""The statuses of queues and checks: counts, usage by flavor, and the condition Active."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from muster.admission import quantities
from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.job import StatusReason
from muster.cluster.queue_counts import QueueCount, QueueCounts, Totals
from muster.cluster.queue_problems import STOPPED, config_problem, is_managed, queue_problem
from muster.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, Kind
from muster.kube.writes import MergePatch
from muster.objects import kueue_queues
from muster.objects.kueue_queues import FlavorUsage, QueueStatus, ResourceUsage
from muster.objects.meta import Object, builtins, set_condition
from muster.translation import snapshot

Nominal = Mapping[tuple[str, str], int]  # (flavor, resource) -> the queue's nominal quota


def all_queues(cluster: ClusterState) -> Iterator[QueueKey]:
    """Yields all queues and checks, ClusterQueues first, as writing all statuses takes a minute under
    load."""
    objects: dict[Kind[Any], Mapping[str, Object]] = {
        CLUSTER_QUEUES: cluster.cluster_queues,
        LOCAL_QUEUES: cluster.local_queues,
        CHECKS: cluster.checks,
    }
    return ((kind, key) for kind, by_key in objects.items() for key in by_key)


def queue_status(
    queue: QueueKey, cluster: ClusterState, counts: QueueCounts, now_ms: int
) -> PlannedWrite | None:
    """Returns the write that updates the status of a queue or check; None if it is up to date or the object
    does not exist."""
    kind, key = queue
    if kind is CLUSTER_QUEUES:
        return _cluster_queue_status(key, cluster, counts, now_ms)
    if kind is LOCAL_QUEUES:
        return _local_queue_status(key, cluster, counts, now_ms)
    return _check_status(key, cluster, now_ms)


def _cluster_queue_status(
    key: str, cluster: ClusterState, counts: QueueCounts, now_ms: int
) -> PlannedWrite | None:
    queue = cluster.cluster_queues.get(key)
    if queue is None:
        return None
    count = counts.by_cluster_queue.get(key) or QueueCount()
    status = _counted(queue.status, count, nominal_quotas(queue, cluster))
    status = _with_active(status, queue_problem(queue, cluster), "Can admit new workloads", now_ms)
    return status_write(CLUSTER_QUEUES, queue, queue.status, status)


def _local_queue_status(
    key: str, cluster: ClusterState, counts: QueueCounts, now_ms: int
) -> PlannedWrite | None:
    queue = cluster.local_queues.get(key)
    if queue is None:
        return None
    status = _counted(queue.status, counts.by_local_queue.get(key) or QueueCount(), None)
    problem = _local_queue_problem(queue, cluster)
    status = _with_active(status, problem, "Can submit new workloads to localQueue", now_ms)
    return status_write(LOCAL_QUEUES, queue, queue.status, status)


def nominal_quotas(queue: kueue_queues.ClusterQueue, cluster: ClusterState) -> Nominal:
    """Returns the nominal quotas of a ClusterQueue, by flavor and resource."""
    return cluster.cache.get(_nominal, queue.key, queue)


def _nominal(queue: kueue_queues.ClusterQueue) -> Nominal:
    return {
        (flavor.flavor, resource): quota.nominal
        for group in snapshot.readable_cluster_queue(queue).groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def _local_queue_problem(queue: kueue_queues.LocalQueue, cluster: ClusterState) -> StatusReason | None:
    if queue.spec.stop_policy != "None":
        return StatusReason(STOPPED, "LocalQueue is stopped")
    target = cluster.cluster_queues.get(queue.spec.cluster_queue)
    if target is None:
        return StatusReason(
            "ClusterQueueDoesNotExist", f"ClusterQueue {queue.spec.cluster_queue} does not exist"
        )
    if queue_problem(target, cluster):
        return StatusReason("ClusterQueueIsInactive", f"ClusterQueue {target.key} can't admit workloads")
    return None


def _counted(old: QueueStatus, count: QueueCount, nominal: Nominal | None) -> QueueStatus:
    return replace(
        old,
        pending_workloads=count.pending.total(),
        reserving_workloads=count.reserving,
        admitted_workloads=count.admitted,
        flavors_reservation=_usage(count.reserved, nominal),
        flavors_usage=_usage(count.used, nominal),
    )


def _usage(totals: Totals, nominal: Nominal | None) -> tuple[FlavorUsage, ...]:
    """Returns the usage by flavor and resource. `nominal` determines borrowed amounts, and adds resources
    that are not used."""
    total: dict[tuple[str, str], int] = {**dict.fromkeys(nominal or (), 0), **dict(totals)}
    by_flavor: dict[str, list[ResourceUsage]] = defaultdict(list)
    for (flavor, resource), amount in sorted(total.items()):
        borrowed = max(0, amount - nominal.get((flavor, resource), 0)) if nominal is not None else None
        by_flavor[flavor].append(
            ResourceUsage(
                name=resource,
                total=quantities.format(resource, amount),
                borrowed=None if borrowed is None else quantities.format(resource, borrowed),
            )
        )
    return tuple(FlavorUsage(name=f, resources=tuple(r)) for f, r in by_flavor.items())


def _with_active(status: QueueStatus, problem: StatusReason | None, ready: str, now_ms: int) -> QueueStatus:
    conditions = set_condition(
        status.conditions,
        "Active",
        status=problem is None,
        reason="Ready" if problem is None else problem.reason,
        message=ready if problem is None else problem.message,
        now_ms=now_ms,
    )
    return replace(status, conditions=conditions)


def _check_status(key: str, cluster: ClusterState, now_ms: int) -> PlannedWrite | None:
    check = cluster.checks.get(key)
    if check is None or not is_managed(check):
        return None
    problem = config_problem(check, cluster)
    conditions = set_condition(
        check.status.conditions,
        "Active",
        status=not problem,
        reason="BadParametersRef" if problem else "Active",
        message=problem or "The admission check is active",
        now_ms=now_ms,
    )
    return status_write(CHECKS, check, check.status, replace(check.status, conditions=conditions))


def status_write(kind: Kind[Any], obj: Object, old: Any, new: Any) -> PlannedWrite | None:
    """Returns the write that replaces a status; None if it is the same."""
    if new == old:
        return None
    body = {"status": _without_nulls(builtins(new))}
    write = MergePatch(kind, obj.key, body, obj.metadata.resource_version, status=True, whole=True)
    return PlannedWrite(f"{kind} {obj.key}", write)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(v) for v in value]
    return value
