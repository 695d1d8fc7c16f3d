"""One queue: its workloads that run, and those that wait, in order."""

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
    """A ClusterQueue or a LocalQueue (namespace/name). `quota` is that of the ClusterQueue, None if that
    does not exist or is not known. Positions count all workloads of the ClusterQueue."""

    kind: str
    name: str
    cluster_queue: str
    stop_policy: str
    workloads: WorkloadNumbers
    quota: QueueNode | None
    running: tuple[WorkloadRow, ...]
    waiting: tuple[WorkloadRow, ...]
    now_ms: int


def queue_details(seen: Overview, name: str, namespace: str = "") -> QueueDetails:
    """Returns the details of a ClusterQueue; else of the LocalQueue of a namespace, which a name of the form
    namespace/name has itself. Raises: ObservationError if there is none."""
    if name in seen.usage_of_queues:
        quota = queue_node(seen, name)
        rows = _in_order(row(seen, w, name) for w in seen.workloads_by_queue.get(name, ()))
        return _details(seen, str(CLUSTER_QUEUES), name, name, quota.stop_policy, quota.workloads, rows)
    key = name if "/" in name else f"{namespace}/{name}"
    local = seen.cluster.local_queues.get(key)
    if local is None:
        raise ObservationError(_unknown(seen, name, namespace))
    target = local.spec.cluster_queue
    rows = _in_order(
        one
        for one in (row(seen, w, target) for w in seen.workloads_by_queue.get(target, ()))
        if f"{one.namespace}/{one.local_queue}" == key
    )
    count = numbers(seen.counts.by_local_queue.get(key))
    return _details(seen, str(LOCAL_QUEUES), key, target, local.spec.stop_policy, count, rows)


def all_rows(seen: Overview) -> list[WorkloadRow]:
    """Returns all workloads that are not over, by ClusterQueue and in the order of these."""
    found: list[WorkloadRow] = []
    for queue, workloads in sorted(seen.workloads_by_queue.items()):
        found += _in_order(row(seen, workload, queue) for workload in workloads)
    return found


def _details(
    seen: Overview,
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
        quota=queue_node(seen, target) if seen.is_complete and target in seen.usage_of_queues else None,
        running=tuple(one for one in rows if one.runs),
        waiting=tuple(one for one in rows if not one.runs),
        now_ms=seen.now_ms,
    )


def _in_order(rows: Iterable[WorkloadRow]) -> list[WorkloadRow]:
    """Those that hold quota come first, the longest first; then those that wait, as they are queued; those
    that are in no queue come last."""

    def order(one: WorkloadRow) -> tuple[object, ...]:
        place = inf if one.position is None else one.position
        return (0, one.since_ms, one.key) if one.runs else (1, place, -one.priority, one.queued_ms, one.key)

    return sorted(rows, key=order)


def _unknown(seen: Overview, name: str, namespace: str) -> str:
    queues = ", ".join(sorted(seen.usage_of_queues)) or "none"
    known = (one.metadata for one in seen.cluster.local_queues.values())
    local = ", ".join(sorted(meta.name for meta in known if meta.namespace == namespace)) or "none"
    there = f"; LocalQueues of namespace {namespace}: {local}" if namespace else ""
    return f"no ClusterQueue or LocalQueue {name!r}; expected one of: {queues}{there}"
