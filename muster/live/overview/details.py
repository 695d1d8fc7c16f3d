"""One queue with its running and its waiting workloads, in order."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from muster.kube.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from muster.live.observed import ObservationError
from muster.live.overview.overview import Overview
from muster.live.overview.rows import WorkloadRow, row
from muster.live.overview.tree import QueueNode, WorkloadNumbers, numbers, queue_node


@dataclass(frozen=True, slots=True)
class QueueDetails:
    """A ClusterQueue, or a LocalQueue as namespace/name. Positions count all workloads of the
    ClusterQueue."""

    kind: str
    name: str
    cluster_queue: str
    stop_policy: str
    workloads: WorkloadNumbers
    quota: QueueNode | None  # of the ClusterQueue; None if it does not exist or could not be read
    running: tuple[WorkloadRow, ...]
    waiting: tuple[WorkloadRow, ...]
    now_ms: int


def queue_details(overview: Overview, name: str, namespace: str = "") -> QueueDetails:
    """Returns the details of a ClusterQueue with this name, else of a LocalQueue: namespace/name, or a name
    in `namespace`. Raises: ObservationError if there is none."""
    if name in overview.usage_of_queues:
        quota = queue_node(overview, name)
        rows = _in_order(row(overview, w, name) for w in overview.workloads_by_queue.get(name, ()))
        return _details(overview, str(CLUSTER_QUEUES), name, name, quota.stop_policy, quota.workloads, rows)
    key = name if "/" in name else f"{namespace}/{name}"
    local = overview.cluster.local_queues.get(key)
    if local is None:
        raise ObservationError(_unknown(overview, name, namespace))
    target = local.spec.cluster_queue
    rows = _in_order(
        workload
        for workload in (row(overview, w, target) for w in overview.workloads_by_queue.get(target, ()))
        if f"{workload.namespace}/{workload.local_queue}" == key
    )
    count = numbers(overview.counts.by_local_queue.get(key))
    return _details(overview, str(LOCAL_QUEUES), key, target, local.spec.stop_policy, count, rows)


def all_rows(overview: Overview) -> list[WorkloadRow]:
    """Returns all unfinished workloads, ordered by ClusterQueue and then as in the queue."""
    rows: list[WorkloadRow] = []
    for queue, workloads in sorted(overview.workloads_by_queue.items()):
        rows += _in_order(row(overview, workload, queue) for workload in workloads)
    return rows


def _details(
    overview: Overview,
    kind: str,
    name: str,
    target: str,
    stop_policy: str,
    count: WorkloadNumbers,
    rows: Iterable[WorkloadRow],
) -> QueueDetails:
    rows = list(rows)
    return QueueDetails(
        kind=kind,
        name=name,
        cluster_queue=target,
        stop_policy=stop_policy,
        workloads=count,
        quota=queue_node(overview, target)
        if overview.is_complete and target in overview.usage_of_queues
        else None,
        running=tuple(r for r in rows if r.runs),
        waiting=tuple(r for r in rows if not r.runs),
        now_ms=overview.now_ms,
    )


def _in_order(rows: Iterable[WorkloadRow]) -> list[WorkloadRow]:
    """Sorts workloads that hold quota first, the longest-running first; then queued workloads by position,
    and last workloads in no queue."""

    def order(row: WorkloadRow) -> tuple[object, ...]:
        place = inf if row.position is None else row.position
        return (0, row.since_ms, row.key) if row.runs else (1, place, -row.priority, row.queued_ms, row.key)

    return sorted(rows, key=order)


def _unknown(overview: Overview, name: str, namespace: str) -> str:
    queues = ", ".join(sorted(overview.usage_of_queues)) or "none"
    metadata = (queue.metadata for queue in overview.cluster.local_queues.values())
    local = ", ".join(sorted(meta.name for meta in metadata if meta.namespace == namespace)) or "none"
    there = f"; LocalQueues of namespace {namespace}: {local}" if namespace else ""
    return f"no ClusterQueue or LocalQueue {name!r}; expected one of: {queues}{there}"
