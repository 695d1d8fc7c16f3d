"""The usage of a cluster that counts for budgets: where it is recorded, and its sum.

A Workload's usage since its last reservation follows from its status. A status write that ends a reservation
adds the usage to a condition of the same status, so both are persisted together. Before a Workload releases
its quota permanently, by the removal of its finalizer, its usage is written to its ClusterQueues by UID. As
long as the Workload has its finalizer it counts itself, and this entry does not count.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain

from muster.admission import Spent, quantities
from muster.cluster.cluster_state import ClusterState
from muster.cluster.elasticity import running_counts
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.queue_counts import usage_of
from muster.objects import workload_status
from muster.objects.kueue import PodSetAssignment, Workload, WorkloadStatus
from muster.objects.meta import find_condition, millis
from muster.objects.names import RESOURCE_IN_USE
from muster.objects.pods import Template, pod_requests
from muster.translation import recorded_usage
from muster.translation.recorded_usage import Amounts, EndedUsage, Leaving, QueueUsage, WorkloadUsage

RECENT_S = 60
"""A recorded end is repeated if the quota could not be released for longer, as pods may have run."""


def has_released_quota(workload: Workload) -> bool:
    """Returns whether the Workload has finished and has released its quota permanently."""
    finished = workload_status.is_finished(workload.status)
    return finished and RESOURCE_IN_USE not in workload.metadata.finalizers


def usage_until(status: WorkloadStatus, now_s: int, resources: frozenset[str]) -> WorkloadUsage:
    """Returns the whole usage of a Workload until now, including that of its reservation."""
    before = recorded_usage.of_workload(status)
    if not workload_status.holds_quota(status) or status.admission is None:
        return before
    reserved = find_condition(status.conditions, workload_status.QUOTA_RESERVED)
    assert reserved is not None, "it holds quota"
    since_s = max(millis(reserved.last_transition_time) // 1000, before.until)
    held = [of for of in (*usage_of(status.admission), *_units(before.leaving)) if of[0][1] in resources]
    queue, latest = status.admission.cluster_queue, recorded_usage.of_interval(held, since_s, now_s)
    if not latest:
        return before
    total = recorded_usage.merged((before.queues.get(queue, {}), latest), now_s)
    return WorkloadUsage(until=max(now_s, before.until), queues={**before.queues, queue: total})


def _units(leaving: Leaving) -> Iterator[tuple[tuple[str, str], int]]:
    for flavor, amounts in leaving.items():
        for resource, units in amounts.items():
            yield (flavor, resource), units


def leaving(workload: Workload, status: WorkloadStatus, cluster: ClusterState) -> Leaving:
    """Returns the units of budgeted resources that an autoscaled gang with this status uses beyond its quota:
    its pods that have yet to terminate after it shrank."""
    sizes, units = stored_sizes(workload), Leaving()
    if not sizes or status.admission is None or not workload_status.holds_quota(status):
        return units
    running = running_counts(workload, cluster)
    templates = {pod_set.name: pod_set.template for pod_set in workload.spec.pod_sets}
    for assigned in status.admission.pod_set_assignments:
        excess = running.get(assigned.name, 0) - (assigned.count or 0) if assigned.name in sizes else 0
        for resource, flavor in assigned.flavors.items():
            if excess > 0 and resource in cluster.budgeted_resources:
                amount = excess * _of_a_pod(assigned, templates[assigned.name], resource)
                of_flavor = units.setdefault(flavor, {})
                of_flavor[resource] = of_flavor.get(resource, 0) + amount
    return units


def _of_a_pod(assigned: PodSetAssignment, template: Template, resource: str) -> int:
    """Returns the units that a pod uses: as of those that hold quota, or as requested if there are none."""
    if not assigned.count:
        return pod_requests(template).get(resource, 0)
    return quantities.parse(resource, assigned.resource_usage.get(resource, 0)) // assigned.count


def is_recorded(workload: Workload, cluster: ClusterState, now_ms: int) -> bool:
    """Returns whether the queues contain the usage of a Workload that is about to release its quota for
    good."""
    resources, now_s = cluster.budgeted_resources, now_ms // 1000
    for name in usage_until(workload.status, now_s, resources).queues if resources else ():
        queue = cluster.cluster_queues.get(name)
        if queue is None:  # it was deleted, and its usage with it
            continue
        ended = cluster.cache.get(recorded_usage.of_queue, name, queue).ended.get(workload.metadata.uid)
        if ended is None or not now_s - RECENT_S <= ended.until <= now_s:
            return False
    return True


def with_ended(
    usage: QueueUsage, ended: Mapping[str, EndedUsage], counting: frozenset[str], now_s: int
) -> QueueUsage:
    """Adds Workloads that end. `counting` are the UIDs of Workloads that count themselves: entries of others
    are final, and added to the sum."""
    final = [entry.used for uid, entry in usage.ended.items() if uid not in counting]
    open_entries = {uid: entry for uid, entry in usage.ended.items() if uid in counting}
    used = recorded_usage.merged((usage.used, *final), now_s)
    return QueueUsage(used=used, ended=open_entries | dict(ended))


def counting_uids(cluster: ClusterState) -> frozenset[str]:
    """Returns the UIDs of the Workloads that count themselves."""
    return frozenset(w.metadata.uid for w in cluster.workloads.values() if not has_released_quota(w))


def spent(cluster: ClusterState) -> Mapping[str, tuple[Spent, ...]]:
    """Returns the recorded usage of each queue; empty without budgets."""
    if not cluster.budgeted_resources:
        return {}
    counting = set[str]()
    parts: dict[str, list[Amounts]] = defaultdict(list)
    for workload in cluster.workloads.values():
        if not has_released_quota(workload):
            counting.add(workload.metadata.uid)
            for name, amounts in recorded_usage.of_workload(workload.status).queues.items():
                parts[name].append(amounts)
    for name, queue in cluster.cluster_queues.items():
        usage = cluster.cache.get(recorded_usage.of_queue, name, queue)
        final = (entry.used for uid, entry in usage.ended.items() if uid not in counting)
        parts[name] += [usage.used, *final]
    recorded = {
        name: tuple(chain.from_iterable(map(recorded_usage.as_spent, of_queue)))
        for name, of_queue in parts.items()
    }
    return {name: usages for name, usages in recorded.items() if usages}
