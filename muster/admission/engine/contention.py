"""Which queues contend with each other, for the quota of one tree or for nodes that they share, and why their
workloads wait."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import chain

from muster.admission.cycle.entry import Entry
from muster.admission.engine.heads import HeadSelector
from muster.admission.explain import Explainer
from muster.admission.model import HOSTNAME, ClusterQueue, StopPolicy, Waiting, Workload
from muster.admission.pruning.protocol import Pruning
from muster.admission.queueing.groups import EquivalenceGroup
from muster.admission.queueing.pending import PendingQueue
from muster.admission.quota.tree import QuotaNode
from muster.admission.rules.backfill import Backfill
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.admission.wait_note import WaitNote, earliest


class ContentionGroup:
    """`names` are those of all queues, `queues` the active ones by name, `occupied` those of them that have
    workloads; `heads` are the entries of the last pass, by the workloads' keys."""

    __slots__ = ("backfill", "heads", "names", "occupied", "placing", "queues", "selector", "state")

    def __init__(
        self,
        state: WorkingState,
        names: tuple[str, ...],
        queues: Iterable[PendingQueue],
        pruning: type[Pruning],
    ) -> None:
        self.state = state
        self.names = names
        self.queues = {queue.queue.name: queue for queue in queues}
        self.occupied = {queue: None for queue in self.queues.values() if len(queue)}
        for queue in self.queues.values():
            queue.occupied = self.occupied
        self.heads: dict[str, Entry] = {}
        self.placing: dict[str, Holding] = {}  # with quota, but without places on its topology
        self.selector = HeadSelector(state, self.queues, self.occupied, pruning)
        self.backfill = Backfill(state, names) if state.rules.backfill else None

    def take_over(self, other: "ContentionGroup", held: Mapping[Holding, Holding]) -> None:
        """Takes over the pending workloads of the same group of another state, and why they wait. `held` are
        the copies of its holdings."""
        for name, queue in other.queues.items():
            self.queues[name].restore_from(queue)
            if len(queue):
                self.selector.pruning.changed(name)
        self.placing = {key: held[holding] for key, holding in other.placing.items()}
        self.heads = dict(other.heads)
        if self.backfill is not None and other.backfill is not None:
            self.backfill.take_over(other.backfill)

    def update_objects(self, roots: Container[QuotaNode]) -> bool:
        """Takes the state's objects, of which the quotas of the trees with these roots have changed. Returns
        whether decisions may change."""
        for name, queue in self.queues.items():
            queue.update_objects(self.state.queue(name), self.state.snapshot.local_usage)
        changed = any(queue.node.root in roots for queue in self.queues.values())
        if changed:
            self.selector = HeadSelector(self.state, self.queues, self.occupied, type(self.selector.pruning))
        by_usage = any(queue.local_usage is not None for queue in self.occupied)
        return self.is_waiting and (changed or by_usage or self.state.budgets is not None)

    @property
    def is_waiting(self) -> bool:
        """Whether there is a workload that a decision could admit or place."""
        return bool(self.occupied or self.placing)

    def touch(self, queue: str) -> None:
        """Notes that pending workloads of this queue have changed."""
        self.selector.pruning.changed(queue)

    def is_passed(self, queue: PendingQueue) -> bool:
        """Whether others may be admitted before its head, as room is reserved for it."""
        return self.backfill is not None and self.backfill.reserved(queue.queue.name) is not None

    def until_ms(self) -> int | None:
        """When it is to be settled again even if nothing happens; None without workloads to decide over."""
        if not self.is_waiting:
            return None
        moments = [head.until_ms for head in self.heads.values()]
        if self.backfill is not None:
            moments.append(self.backfill.until_ms)
        min_runtime = self.state.min_runtime
        if min_runtime is not None:  # also for workloads that pruning skipped, without a search for victims
            holdings = (self.state.holdings[name].values() for name in self.names)
            moments.append(min_runtime.next_end_ms(chain.from_iterable(holdings)))
        aging = self.state.rules.aging
        if aging is not None:
            moments += (
                aging.next_boost_ms(queue.first(group).queued_at_ms, self.state.now_ms)
                for queue in self.occupied
                for group in queue.groups
            )
        return earliest(*moments)

    def note(self, workload: Workload, group: EquivalenceGroup) -> WaitNote | None:
        """The note of an optional rule for a pending workload, or for the first one of its equivalence
        group."""
        queue = self.queues[workload.cluster_queue]
        reserved = self.backfill and self.backfill.reserved(queue.queue.name)
        if reserved and reserved.blocked_head.workload is workload:
            return reserved.note
        head = self.heads.get(workload.key) or self.heads.get(queue.first(group).key)
        return None if head is None else head.note

    def waiting(self, workload: Workload, explainer: Explainer) -> Waiting:
        """Why a pending workload of an active queue waits, as of the last pass."""
        group, behind = self.queues[workload.cluster_queue].place(workload)
        note = self.note(workload, group) if behind is None else None
        return explainer.pending(workload, self.heads.get(workload.key), behind, group, note)


def contention_groups(state: WorkingState, pruning: type[Pruning]) -> Iterator[ContentionGroup]:
    """One for those that contend with each other, with their active queues still empty."""
    by_run_time = state.rules.backfill or state.budgets is not None
    usage = state.snapshot.local_usage
    priority_boost = state.priority_boost_now if state.rules.aging is not None else None
    for names in contenders(state):
        active = (
            name for name in names if name not in state.inactive and state.queue(name).stop is StopPolicy.NONE
        )
        yield ContentionGroup(
            state,
            names,
            [
                PendingQueue(state.queue(name), state.tree.queues[name], usage, by_run_time, priority_boost)
                for name in active
            ],
            pruning,
        )


def contenders(state: WorkingState) -> list[tuple[str, ...]]:
    """Names of queues, active or not; no decision in one list depends on another list."""
    trees: dict[str, list[str]] = defaultdict(list)
    for name, node in sorted(state.tree.queues.items()):
        # a queue and a cohort may have the same name
        trees[f"cohort {node.root.name}" if node.parent else f"queue {name}"].append(name)
    by_flavor: dict[str, str] = {}
    joined = {tree: tree for tree in trees}
    for tree, names in trees.items():
        for flavor in _placed_on(state, (state.queue(name) for name in names)):
            _join(joined, tree, by_flavor.setdefault(flavor, tree))
    found: dict[str, list[str]] = defaultdict(list)
    for tree, names in trees.items():
        found[_first(joined, tree)] += names
    return [tuple(names) for names in found.values()]


def _placed_on(state: WorkingState, queues: Iterable[ClusterQueue]) -> set[str]:
    """The topologies on which pods of these queues are placed; any of them may have the same hosts."""
    if not state.rules.topology:
        return set()
    named = {flavors.flavor for queue in queues for group in queue.groups for flavors in group.flavors}
    known = (state.snapshot.flavors[name].topology for name in named if name in state.snapshot.flavors)
    topologies = [
        state.snapshot.topologies[name]
        for name in known
        if name is not None and name in state.snapshot.topologies
    ]
    return {HOSTNAME if HOSTNAME in topology.levels[-1:] else topology.name for topology in topologies}


def _join(joined: dict[str, str], one: str, other: str) -> None:
    one, other = _first(joined, one), _first(joined, other)
    joined[max(one, other)] = min(one, other)


def _first(joined: dict[str, str], tree: str) -> str:
    while joined[tree] != tree:
        tree = joined[tree]
    return tree
