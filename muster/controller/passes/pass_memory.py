"""Keeps what passes have found out about each Workload until something that it depends on changes.

A pass examines the Workloads that are marked: their objects changed, their time has come, or the last pass
left something to do. A change of an object that concerns many, as of a queue, marks all of them. With all
marked, as for a new memory, the result is the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from muster.admission import Rules, Timers
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.cluster.ownership import Owner, job_of
from muster.controller.cluster.relations import QueueKey
from muster.controller.gangs.finished_gangs import Contention
from muster.controller.passes.decider import Decider
from muster.controller.passes.examination import Examination
from muster.controller.passes.queue_counts import QueueCounts
from muster.objects.kueue import Workload, WorkloadStatus
from muster.objects.meta import Object

PLATFORM = (
    "local_queues",
    "cluster_queues",
    "cohorts",
    "flavors",
    "priorities",
    "checks",
    "provisioning_configs",
    "topologies",
    "namespaces",
    "limit_ranges",
    "runtime_classes",
    "pod_priorities",
    "claim_templates",
)
"""Fields of ClusterState with objects that concern many Workloads."""


class PassMemory:
    """`decider` keeps the engine. `statuses` are those before the decision, by key; `counts` are of those
    that are persisted."""

    def __init__(self, rules: Rules = Rules()) -> None:  # noqa: B008 - a frozen value
        self.decider = Decider(rules)
        self.statuses: dict[str, WorkloadStatus] = {}
        self.counts = QueueCounts()
        self.contention: Contention | None = None  # by workloads that wait; None: not known
        self._examined: dict[str, Examination] = {}
        self._unmarked: set[str] = set()  # examined by this pass only because it is full
        self._platform: dict[str, dict[str, Any]] | None = None
        self._changed_queues: set[QueueKey] | None = None
        self._at_ms = 0
        self._due = Timers()
        self._unsettled: set[str] = set()
        self._unsettled_jobs: set[Owner] = set()
        self._finished_with_quota: set[str] = set()

    def begin(self, cluster: ClusterState, now_ms: int) -> tuple[list[str], list[Owner]]:
        """Returns the Workloads to examine, by key, and the jobs to sync, both in order."""
        set_back, self._at_ms = now_ms < self._at_ms, now_ms
        due = set(self._due.take_due(now_ms))
        self._unmarked = set()
        if self._has_new_platform(cluster) or set_back or cluster.marks is None:
            self._changed_queues = None
            return self._all(cluster)
        self._changed_queues = None if cluster.marks.full else cluster.marks.queues
        answered = cluster.pod_checks.take_changed() if cluster.pod_checks is not None else ()
        marked = cluster.marks.workloads.union(self._unsettled, due, answered)
        if cluster.marks.full:
            self._unmarked = self._examined.keys() - marked
            return self._all(cluster)
        found = (cluster.workloads.get(key) for key in marked)
        owners = {owner for w in found if w is not None and (owner := job_of(w)) is not None}
        return sorted(marked), sorted(cluster.marks.jobs | self._unsettled_jobs | owners)

    def _all(self, cluster: ClusterState) -> tuple[list[str], list[Owner]]:
        return sorted(cluster.workloads.keys() | self._examined.keys()), sorted(cluster.job_identities)

    def _has_new_platform(self, cluster: ClusterState) -> bool:
        """Returns whether an object that concerns many Workloads has changed, but for its status."""
        platform: dict[str, dict[str, Any]] = {name: dict(getattr(cluster, name)) for name in PLATFORM}
        before, self._platform = self._platform, platform
        return before is None or any(_differ(before[name], platform[name]) for name in PLATFORM)

    def changed_queues(self) -> set[QueueKey] | None:
        """Returns the queues and checks that this pass found changed, or their counts; None: any may be."""
        counted = self.counts.take_changed()
        return None if self._changed_queues is None else self._changed_queues | counted

    def take(self, key: str, found: Examination) -> bool:
        """Keeps what was found about a Workload. Returns False if it had to be marked and was not."""
        self._due.set(key, found.advanced.until_ms)
        if found == self._examined.get(key):
            return True
        self._examined[key], self.statuses[key] = found, found.advanced.status
        self.counts.put(key, found.share)
        if found.holds_after_end:
            self._finished_with_quota.add(key)
        else:
            self._finished_with_quota.discard(key)
        return key not in self._unmarked

    def forget(self, key: str) -> None:
        """Forgets a Workload that is gone."""
        self._examined.pop(key, None)
        self.statuses.pop(key, None)
        self.counts.put(key, None)
        self._due.set(key, None)
        self._finished_with_quota.discard(key)

    def leave(self, workloads: Iterable[str], jobs: Iterable[Owner]) -> None:
        """Ends a pass that left these to be looked at again by the next."""
        self._unsettled, self._unsettled_jobs = set(workloads), set(jobs)

    def finished_with_quota(self, cluster: ClusterState) -> Iterator[Workload]:
        if not self._finished_with_quota:
            self._finished_with_quota.clear()  # Python would read as many places as there ever were keys
        return (cluster.workloads[key] for key in sorted(self._finished_with_quota))

    @property
    def until_ms(self) -> int | None:
        """When time alone changes a status next."""
        return self._due.next_ms


def _differ(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if before == now:  # mostly the same objects: to compare them one by one takes a while with 1,000 queues
        return False
    if before.keys() != now.keys():
        return True
    return any(obj is not before[key] and _rest(obj) != _rest(before[key]) for key, obj in now.items())


def _rest(obj: Any) -> Object:
    """Returns the object without its status, which no Workload depends on."""
    unversioned = replace(obj.metadata, resource_version="")
    status = {"status": None} if hasattr(obj, "status") else {}
    rest: Object = replace(obj, metadata=unversioned, **status)
    return rest
