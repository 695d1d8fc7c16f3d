"""A cluster at one moment, with the core's quota usage and queue order."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster import admission as core
from muster.cluster.cluster_state import ClusterState
from muster.cluster.phases import Phase, phase
from muster.cluster.queue_counts import QueueCounts, queue_of
from muster.configuration.configuration import DEFAULT, Configuration
from muster.live.state import ObservedState, live_state
from muster.objects.kueue import Workload


@dataclass(frozen=True)
class Overview:
    """The objects of a cluster and their state. All views of a moment share one instance, which caches what
    they compute."""

    cluster: ClusterState
    state: ObservedState
    # False if workloads or queues are missing: then there are no positions and no decisions.
    is_complete: bool = True

    @property
    def now_ms(self) -> int:
        """The time of the observation."""
        return self.state.now_ms

    @cached_property
    def engine(self) -> core.Engine:
        """The engine in the state of the cluster. Use a fork for what-if questions, which change
        its state."""
        return core.Engine(self.state.snapshot(), self.state.configuration.rules)

    @cached_property
    def counts(self) -> QueueCounts:
        """The numbers of workloads by queue and state."""
        return QueueCounts.of(self.cluster)

    @cached_property
    def usage(self) -> tuple[core.NodeUsage, ...]:
        """The quota and its usage of every cohort and ClusterQueue."""
        return self.engine.quota_usage()

    @cached_property
    def budgets(self) -> tuple[core.BudgetUsage, ...]:
        """The budgets of cohorts and ClusterQueues with their usage."""
        return self.engine.budget_usage(self.now_ms)

    @cached_property
    def usage_of_queues(self) -> Mapping[str, core.NodeUsage]:
        """The usage of ClusterQueues, by name."""
        return {node.name: node for node in self.usage if not node.is_cohort}

    @cached_property
    def workloads_by_queue(self) -> Mapping[str, Sequence[Workload]]:
        """Unfinished workloads, by ClusterQueue; the empty string if their LocalQueue does not exist."""
        by_queue: dict[str, list[Workload]] = defaultdict(list)
        for workload in self.cluster.workloads.values():
            if phase(workload.status) is not Phase.FINISHED:
                by_queue[queue_of(workload, self.cluster)].append(workload)
        return by_queue

    def positions(self, queue: str) -> Mapping[str, int]:
        """Returns the positions of the queued workloads of a ClusterQueue, starting at 1, by key."""
        if not self.is_complete:
            return {}
        positions = self._positions.get(queue)
        if positions is None:
            keys = self.engine.queue_order(queue, self.now_ms)
            positions = self._positions[queue] = {key: place for place, key in enumerate(keys, start=1)}
        return positions

    @cached_property
    def _positions(self) -> dict[str, Mapping[str, int]]:
        return {}


def overview(
    cluster: ClusterState,
    now_ms: int,
    configuration: Configuration = DEFAULT,
    is_complete: bool = True,
) -> Overview:
    """Returns the overview of a cluster; `configuration` is the controller's."""
    return Overview(cluster, live_state(cluster, configuration, now_ms), is_complete)
