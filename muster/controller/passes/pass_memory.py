"""Caches the examination of each Workload from pass to pass until one of its inputs changes.

A pass examines marked Workloads: their objects changed, a timer is due, or the last pass left them unsettled.
A change of an object that affects many Workloads, such as a queue, marks all of them. The result is the same
as if all Workloads were marked, as with an empty cache.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from muster.admission import Rules, Timers
from muster.cluster.cluster_state import ClusterState
from muster.cluster.ownership import Owner, job_of
from muster.cluster.queue_counts import QueueCounts
from muster.cluster.relations import QueueKey
from muster.controller.gangs.finished_gangs import Contention
from muster.controller.passes.decider import Decider
from muster.controller.passes.examination import Examination
from muster.controller.passes.growth_limits import GrowthLimits
from muster.kube.kinds import (
    CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    DEVICE_CLASSES,
    FLAVORS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    NAMESPACES,
    POD_PRIORITIES,
    PRIORITIES,
    PROVISIONING_CONFIGS,
    RESOURCE_CLAIM_TEMPLATES,
    RUNTIME_CLASSES,
    TOPOLOGIES,
    AnyKind,
)
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import Object
from muster.objects.names import BUDGET_FORECAST, RECORDED_USAGE

PLATFORM: tuple[AnyKind, ...] = (
    LOCAL_QUEUES,
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    PRIORITIES,
    CHECKS,
    PROVISIONING_CONFIGS,
    TOPOLOGIES,
    NAMESPACES,
    LIMIT_RANGES,
    RUNTIME_CLASSES,
    POD_PRIORITIES,
    RESOURCE_CLAIM_TEMPLATES,
    DEVICE_CLASSES,
)
"""Kinds of objects that affect many Workloads."""


class PassMemory:
    """The state that is kept from pass to pass."""

    def __init__(self, rules: Rules = Rules()) -> None:  # noqa: B008 - a frozen value
        self.decider = Decider(rules)
        self.growth_limits = GrowthLimits()
        self.statuses: dict[str, WorkloadStatus] = {}  # before the decision, by key of the Workload
        self.counts = QueueCounts()  # from the persisted statuses
        self.contention: Contention | None = None  # None: to be computed
        self._examined: dict[str, Examination] = {}
        self._unmarked: set[str] = set()  # examined by this pass only because it is full
        self._platform: dict[AnyKind, dict[str, Any]] | None = None
        self._changed_queues: set[QueueKey] | None = None
        self._at_ms = 0
        self._due = Timers()
        self._unsettled: set[str] = set()
        self._unsettled_jobs: set[Owner] = set()
        self._finished_with_quota: set[str] = set()

    def begin(self, cluster: ClusterState, now_ms: int) -> tuple[list[str], list[Owner]]:
        """Returns the keys of the Workloads to examine and the jobs to sync, both sorted."""
        clock_set_back, self._at_ms = now_ms < self._at_ms, now_ms
        due = set(self._due.take_due(now_ms))
        self._unmarked = set()
        if self._has_new_platform(cluster) or clock_set_back or cluster.marks is None:
            self._changed_queues = None
            return self._all(cluster)
        self._changed_queues = None if cluster.marks.full else cluster.marks.queues
        checked = cluster.pod_checks.take_changed() if cluster.pod_checks is not None else ()
        marked = cluster.marks.workloads.union(self._unsettled, due, checked)
        if cluster.marks.full:
            self._unmarked = self._examined.keys() - marked
            return self._all(cluster)
        workloads = (cluster.workloads.get(key) for key in marked)
        owners = {owner for w in workloads if w is not None and (owner := job_of(w)) is not None}
        return sorted(marked), sorted(cluster.marks.jobs | self._unsettled_jobs | owners)

    def _all(self, cluster: ClusterState) -> tuple[list[str], list[Owner]]:
        return sorted(cluster.workloads.keys() | self._examined.keys()), sorted(cluster.job_identities)

    def _has_new_platform(self, cluster: ClusterState) -> bool:
        """Returns whether an object that affects many Workloads has changed, except for its status."""
        platform: dict[AnyKind, dict[str, Any]] = {kind: dict(cluster.objects(kind)) for kind in PLATFORM}
        before, self._platform = self._platform, platform
        return before is None or any(_differ(before[kind], platform[kind]) for kind in PLATFORM)

    def changed_queues(self) -> set[QueueKey] | None:
        """Returns the queues and checks that have changed, or whose counts have; None if any may have
        changed."""
        counted = self.counts.take_changed()
        return None if self._changed_queues is None else self._changed_queues | counted

    def put(self, key: str, examination: Examination) -> bool:
        """Stores the examination of a Workload. Returns False if it changed although the Workload was not
        marked."""
        self._due.set(key, examination.until_ms)
        if examination == self._examined.get(key):
            return True
        self._examined[key], self.statuses[key] = examination, examination.status
        self.counts.put(key, examination.share)
        if examination.holds_after_end:
            self._finished_with_quota.add(key)
        else:
            self._finished_with_quota.discard(key)
        return key not in self._unmarked

    def forget(self, key: str) -> None:
        """Removes a Workload that no longer exists."""
        self._examined.pop(key, None)
        self.statuses.pop(key, None)
        self.counts.put(key, None)
        self._due.set(key, None)
        self._finished_with_quota.discard(key)

    def end(self, workloads: Iterable[str], jobs: Iterable[Owner]) -> None:
        """Ends a pass; the next one examines these unsettled Workloads and jobs again."""
        self._unsettled, self._unsettled_jobs = set(workloads), set(jobs)

    def finished_with_quota(self, cluster: ClusterState) -> Iterator[Workload]:
        """Returns the finished Workloads whose pods may still hold quota, sorted by key."""
        if not self._finished_with_quota:
            self._finished_with_quota.clear()  # iterating over a shrunken set is slow
        return (cluster.workloads[key] for key in sorted(self._finished_with_quota))

    @property
    def until_ms(self) -> int | None:
        """The next time at which a status changes without a change of objects."""
        return self._due.next_ms


def _differ(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if before == now:  # fast path: usually the same objects
        return False
    if before.keys() != now.keys():
        return True
    return any(
        obj is not before[key] and _without_status(obj) != _without_status(before[key])
        for key, obj in now.items()
    )


_WRITTEN_BY_MUSTER = frozenset({RECORDED_USAGE, BUDGET_FORECAST})


def _without_status(obj: Any) -> Object:
    """Returns the object without its status, resource version, recorded usage and budget forecast, on which
    no examination depends."""
    annotations = {k: v for k, v in obj.metadata.annotations.items() if k not in _WRITTEN_BY_MUSTER}
    unversioned = replace(obj.metadata, resource_version="", annotations=annotations)
    status = {"status": None} if hasattr(obj, "status") else {}
    stripped: Object = replace(obj, metadata=unversioned, **status)
    return stripped
