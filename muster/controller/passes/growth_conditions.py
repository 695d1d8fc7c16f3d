"""Sets the condition GrowthLimited of elastic gangs: why they don't get more workers."""

from collections.abc import Callable, Mapping

from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import granted_counts, may_grow
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.queued_growth import nodes_by_group
from muster.controller.passes.decider import Decider
from muster.controller.passes.growth_limits import GangSize, GrowthLimits
from muster.controller.workload import transitions
from muster.controller.workload.growth_messages import GrowthLimit, growth_limit, unsupported
from muster.live.eta.growth_range import announced_growth
from muster.objects import workload_status
from muster.objects.kueue import Workload, WorkloadStatus

EXPLAINED_MAX = 20  # gangs in a pass with limited explanations

Offers = Mapping[str, Mapping[str, int]]
"""The replicas that would be admitted if the job asked for them, by gang and pod set."""


def growth_conditions(
    decider: Decider,
    limits: GrowthLimits,
    offers: Offers,
    status_of: Callable[[str], WorkloadStatus],
    cluster: ClusterState,
    now_ms: int,
    *,
    explains_all: bool,
) -> dict[str, WorkloadStatus]:
    """Returns the new statuses of gangs whose condition changes. `status_of` returns the decided status of a
    Workload."""
    new: dict[str, WorkloadStatus] = {}
    sizes: dict[str, GangSize] = {}
    for key, elastic in decider.elastic_gangs():
        status = status_of(key)
        if not _runs(cluster.workloads[key], status):
            continue
        counts = granted_counts(status)
        if may_grow(cluster.workloads[key], status, cluster):
            full = frozenset(name for name, count in offers[key].items() if not count)
            sizes[key] = GangSize(counts, {name: e.asked for name, e in elastic.items()}, full)
        else:
            limit = unsupported(stored_sizes(cluster.workloads[key]), counts)
            new[key] = _limited(status, limit, now_ms)
    waits_of = lambda key: decider.growth_waits(key, sizes[key].full, now_ms)  # noqa: E731
    for key, waits in limits.explain(sizes, waits_of, now_ms, None if explains_all else EXPLAINED_MAX):
        size, stored = sizes[key], stored_sizes(cluster.workloads[key])
        nodes = nodes_by_group(cluster.workloads[key], status_of(key), cluster, now_ms)
        requests = {name: group.pending.name for name, group in nodes.items() if group.pending is not None}
        expected = {
            of.group: of.sentence(now_ms)
            for of in announced_growth(cluster.workloads[key], cluster)
            if of.is_of(size.granted.get(of.group, 0), requests.get(of.group, ""))
        }
        limit = growth_limit(stored, size.granted, size.asked, waits, nodes, expected)
        new[key] = _limited(status_of(key), limit, now_ms)
    return {key: status for key, status in new.items() if status != status_of(key)}


def _runs(workload: Workload, status: WorkloadStatus) -> bool:
    return (
        workload_status.is_admitted(status)
        and workload_status.holds_quota(status)
        and not workload_status.is_evicted(status)
        and not workload_status.is_finished(status)
        and not workload.metadata.deletion_timestamp
    )


def _limited(status: WorkloadStatus, limit: GrowthLimit | None, now_ms: int) -> WorkloadStatus:
    if limit is None:
        return transitions.growth_unlimited(status, now_ms)
    return transitions.growth_limited(status, limit.reason, limit.message, now_ms)
