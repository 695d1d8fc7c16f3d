"""A cluster at one moment, with what its core says of quotas and of the order in its queues."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster import admission as core
from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.passes.queue_counts import QueueCounts, queue_of
from muster.controller.workload.phases import Phase, phase
from muster.live.state import LiveState, live_state
from muster.objects.kueue import Workload


@dataclass(frozen=True)
class Overview:
    """The objects, and their state. All views of one moment share one of these: what they compute is kept.
    Unless `is_complete`, workloads or queues are missing: there are no positions, and nothing is decided."""

    cluster: ClusterState
    state: LiveState
    is_complete: bool = True

    @property
    def now_ms(self) -> int:
        return self.state.now_ms

    @cached_property
    def engine(self) -> core.Engine:
        """The engine in the state of the cluster: questions of what would happen are for its forks."""
        return core.Engine(self.state.snapshot(), self.state.configuration.rules)

    @cached_property
    def counts(self) -> QueueCounts:
        return QueueCounts.of(self.cluster)

    @cached_property
    def usage(self) -> tuple[core.NodeUsage, ...]:
        return self.engine.quota_usage()

    @cached_property
    def usage_of_queues(self) -> Mapping[str, core.NodeUsage]:
        return {node.name: node for node in self.usage if not node.is_cohort}

    @cached_property
    def workloads_by_queue(self) -> Mapping[str, Sequence[Workload]]:
        """Workloads that are not over, by ClusterQueue; "" for those of a LocalQueue that does not exist."""
        found: dict[str, list[Workload]] = defaultdict(list)
        for workload in self.cluster.workloads.values():
            if phase(workload.status) is not Phase.FINISHED:
                found[queue_of(workload, self.cluster)].append(workload)
        return found

    def positions(self, queue: str) -> Mapping[str, int]:
        """Returns the places of queued workloads of a ClusterQueue, from 1 on, by their keys."""
        if not self.is_complete:
            return {}
        found = self._positions.get(queue)
        if found is None:
            keys = self.engine.queue_order(queue, self.now_ms)
            found = self._positions[queue] = {key: place for place, key in enumerate(keys, start=1)}
        return found

    @cached_property
    def _positions(self) -> dict[str, Mapping[str, int]]:
        return {}


def overview(
    cluster: ClusterState,
    now_ms: int,
    configuration: Configuration = DEFAULT,
    is_complete: bool = True,
) -> Overview:
    """Returns the overview of a cluster; `configuration` is its controller's."""
    return Overview(cluster, live_state(cluster, configuration, now_ms), is_complete)
