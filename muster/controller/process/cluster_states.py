"""The cluster of each pass, with the changes since the previous pass."""

from collections.abc import Callable
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.pod_checks import PodChecks
from muster.cluster.pass_cache import PassCache
from muster.cluster.relations import RELATED, Changed, QueueKey, Relations
from muster.cluster.timers import MonotonicTimers
from muster.cluster.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, LOCAL_QUEUES, TOPOLOGIES, AnyKind
from muster.kube.store import Stores

FULL_PASS_INTERVAL_MS = 60_000  # the minimum between passes that examine all Workloads
FULL_PASS_SHARE = 200  # full passes take at most 1/200 of the time


class ClusterStates:
    """Keeps the relations between objects, and values computed from them, from pass to pass.

    `nodes_synced` returns whether the objects that a Topology needs are watched and listed."""

    def __init__(self, stores: Stores, pod_checks: PodChecks, nodes_synced: Callable[[], bool]) -> None:
        self._stores, self._pod_checks, self._nodes_synced = stores, pod_checks, nodes_synced
        self._cache, self._timers, self._relations = PassCache(), MonotonicTimers(), Relations()
        self._full_due_ms: int | None = None  # None: the first pass is full
        self._began_full_ms: int | None = None  # None: the current pass is not full

    def begin_pass(self, at_ms: int) -> ClusterState:
        """Returns the objects as the stores hold them now; `at_ms` never goes back."""
        is_full = self._full_due_ms is None or at_ms >= self._full_due_ms
        self._began_full_ms = at_ms if is_full else None
        if is_full:
            self._full_due_ms = at_ms + FULL_PASS_INTERVAL_MS
            self._cache.begin_full_pass()
            self._pod_checks.begin_full_pass()
        self._timers.begin_pass(at_ms)
        cluster, changed, queues = self._observed(), self._take_changed(), self._take_changed_queues()
        if changed is not None:
            cluster.marks = self._relations.update(cluster, changed)
            cluster.marks.queues = queues
            cluster.marks.full = is_full
        if is_full or changed is None:
            self._relations = Relations()  # frees the old relations before the new ones are built
            self._relations = Relations.of(cluster)
        cluster.relations = self._relations
        return cluster

    def decided(self, at_ms: int) -> None:
        """Records the end of the decision. The longer a full pass takes, the rarer full passes are."""
        if self._began_full_ms is not None:
            self._cache.end_full_pass()
            took_ms = at_ms - self._began_full_ms
            self._full_due_ms = at_ms + max(FULL_PASS_INTERVAL_MS, FULL_PASS_SHARE * took_ms)

    def _take_changed(self) -> Changed | None:
        """Returns the changed objects that concern single Workloads; None in the first pass, if all have."""
        taken = {kind: self._stores.of(kind).take_changed() for kind in RELATED}
        changed = {kind: keys for kind, keys in taken.items() if keys is not None}
        return changed if len(changed) == len(taken) else None

    def _take_changed_queues(self) -> set[QueueKey]:
        kinds: tuple[AnyKind, ...] = (CLUSTER_QUEUES, LOCAL_QUEUES, CHECKS)
        return {(kind, key) for kind in kinds for key in self._stores.of(kind).take_changed() or ()}

    def _observed(self) -> ClusterState:
        """Returns all objects, without Topologies until the nodes are synced."""
        observed: dict[AnyKind, dict[str, Any]] = {kind: self._stores.of(kind).items for kind in WATCHED}
        if observed[TOPOLOGIES]:
            if self._nodes_synced():
                observed |= {kind: self._stores.of(kind).items for kind in WATCHED_WITH_TOPOLOGIES}
            else:
                observed[TOPOLOGIES] = {}
        return ClusterState(observed, self._cache, self._timers, self._pod_checks)
