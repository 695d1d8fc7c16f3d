"""Scheduling equivalence: workloads of a queue that differ in age and name only.

What one of them cannot get now the others cannot get either, so that all are parked together
(Kueue: scheduling equivalence, computeSchedulingHash in pkg/workload). The younger of two
equivalent workloads may preempt at most what the older one may.
"""

from collections.abc import Hashable, Mapping

from muster.admission.model import PodSet, Workload

EquivalenceClass = Hashable


def equivalence_class(workload: Workload, by_local_queue: bool, by_run_time: bool) -> EquivalenceClass:
    """`by_local_queue`: in a queue whose LocalQueues go by what they used, these differ too.
    `by_run_time`: where a rule of ours goes by that, so do declared run times.

    A workload that waits for its victims or replaces an older slice is equivalent to no other.
    """
    single = workload.key if workload.preempting or workload.replaces or workload.unhealthy_nodes else ""
    return (
        single,
        workload.local_queue if by_local_queue else "",
        workload.run_time_ms if by_run_time else None,
        workload.namespace,
        workload.priority,
        workload.preemption_gated,
        workload.allowed_flavors,
        workload.refused,
        _items(workload.checks),
        *map(_pods, workload.pod_sets),
    )


def _pods(pod_set: PodSet) -> Hashable:
    return (
        pod_set.name,
        pod_set.count,
        pod_set.count_min,
        pod_set.reclaimable,
        _items(pod_set.requests),
        _items(pod_set.node_selector),
        pod_set.affinity,
        pod_set.affinity_preferred,
        pod_set.tolerations,
        pod_set.topology,
    )


def _items(of: Mapping[str, object]) -> Hashable:
    """Items in any order; of one, or none, without the cost of a set."""
    return frozenset(of.items()) if len(of) > 1 else tuple(of.items())
