"""Groups the queues that contend with each other: for the quota of one cohort tree, or for shared nodes."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import chain

from muster.admission.cycle.entry import Entry
from muster.admission.cycle.nomination_cache import NominationCache
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
    """Queues that contend with each other. `names` has all queues, `queues` the active ones by name,
    `occupied` the active ones with pending workloads. `heads` are the entries of the last pass, by workload
    key; `nominations` are those of the last decisions."""

    __slots__ = (
        "backfill",
        "heads",
        "names",
        "nominations",
        "occupied",
        "placing",
        "queues",
        "selector",
        "state",
    )

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
        self.nominations = NominationCache()
        self.placing: dict[str, Holding] = {}  # workloads with quota, but without nodes of their topology
        self.selector = HeadSelector(state, self.queues, self.occupied, pruning)
        self.backfill = Backfill(state, names) if state.rules.backfill else None

    def restore_from(self, other: "ContentionGroup", copies: Mapping[Holding, Holding]) -> None:
        """Copies the pending workloads of the same group of another state, and the reasons why they wait.
        `copies` maps that state's holdings to their copies."""
        for name, queue in other.queues.items():
            self.queues[name].restore_from(queue)
            # Bounds refer to the usage in the other state, so they are computed again when needed.
            if len(queue):
                self.selector.pruning.changed(name)
        self.placing = {key: copies[holding] for key, holding in other.placing.items()}
        self.heads = dict(other.heads)
        if self.backfill is not None and other.backfill is not None:
            self.backfill.restore_from(other.backfill)

    def update_objects(self, roots: Container[QuotaNode]) -> bool:
        """Updates the queues from the state's objects, after a change of quotas in the trees with these
        roots. Returns whether decisions may change."""
        for name, queue in self.queues.items():
            queue.update_objects(self.state.queue(name), self.state.snapshot.local_usage)
        changed = any(queue.node.root in roots for queue in self.queues.values())
        if changed:
            self.selector = HeadSelector(self.state, self.queues, self.occupied, type(self.selector.pruning))
        by_usage = any(queue.local_usage is not None for queue in self.occupied)
        by_budget = self.state.budgets is not None or self.state.soft_budgets is not None
        return self.is_waiting and (changed or by_usage or by_budget)

    @property
    def is_waiting(self) -> bool:
        """True if any workload waits for quota or nodes."""
        return bool(self.occupied or self.placing)

    def touch(self, queue: str) -> None:
        """Records that pending workloads of the queue have changed."""
        self.selector.pruning.changed(queue)

    def is_passed(self, queue: PendingQueue) -> bool:
        """Returns whether others may be admitted before the queue's head, as it has a reservation."""
        return self.backfill is not None and self.backfill.reserved(queue.queue.name) is not None

    def until_ms(self) -> int | None:
        """Returns when the group must be settled again even without changes; None if no workload waits."""
        if not self.is_waiting:
            return None
        deadlines_ms = [head.until_ms for head in self.heads.values()]
        if self.backfill is not None:
            deadlines_ms.append(self.backfill.until_ms)
        min_runtime = self.state.min_runtime
        if min_runtime is not None:  # also for workloads that pruning skipped, for which no search ran
            holdings = (self.state.holdings[name].values() for name in self.names)
            deadlines_ms.append(min_runtime.next_end_ms(chain.from_iterable(holdings)))
        if self.state.soft_budgets is not None:
            deadlines_ms.append(self.state.soft_budgets.until_ms(self.names, self.state.now_ms))
        aging = self.state.rules.aging
        if aging is not None:
            deadlines_ms += (
                aging.next_boost_ms(queue.first(group).queued_at_ms, self.state.now_ms)
                for queue in self.occupied
                for group in queue.groups
            )
        return earliest(*deadlines_ms)

    def note(self, workload: Workload, group: EquivalenceGroup) -> WaitNote | None:
        """Returns the note of an optional rule for a pending workload, or for the first workload of its
        equivalence group."""
        queue = self.queues[workload.cluster_queue]
        reserved = self.backfill and self.backfill.reserved(queue.queue.name)
        if reserved and reserved.blocked_head.workload is workload:
            return reserved.note
        head = self.heads.get(workload.key) or self.heads.get(queue.first(group).key)
        return None if head is None else head.note

    def waiting(self, workload: Workload, explainer: Explainer) -> Waiting:
        """Returns why a pending workload of an active queue waits, as of the last pass."""
        group, behind = self.queues[workload.cluster_queue].place(workload)
        note = self.note(workload, group) if behind is None else None
        return explainer.pending(workload, self.heads.get(workload.key), behind, group, note)


def contention_groups(state: WorkingState, pruning: type[Pruning]) -> Iterator[ContentionGroup]:
    """Yields the contention groups, with empty active queues."""
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
    """Returns the names of the queues of each contention group, including inactive ones. Decisions in
    different groups are independent."""
    trees: dict[str, list[str]] = defaultdict(list)
    for name, node in sorted(state.tree.queues.items()):
        # Prefixed, as a queue and a cohort may have the same name.
        trees[f"cohort {node.root.name}" if node.parent else f"queue {name}"].append(name)
    by_topology: dict[str, str] = {}
    joined = {tree: tree for tree in trees}
    for tree, names in trees.items():
        for topology in _shared_topologies(state, (state.queue(name) for name in names)):
            _join(joined, tree, by_topology.setdefault(topology, tree))
    groups: dict[str, list[str]] = defaultdict(list)
    for tree, names in trees.items():
        groups[_representative(joined, tree)] += names
    return [tuple(names) for names in groups.values()]


def _shared_topologies(state: WorkingState, queues: Iterable[ClusterQueue]) -> set[str]:
    """Returns the topologies of the queues' flavors. All topologies with hostnames count as one, as they may
    have nodes in common."""
    if not state.rules.topology:
        return set()
    flavors = {quotas.flavor for queue in queues for group in queue.groups for quotas in group.flavors}
    names = (state.snapshot.flavors[name].topology for name in flavors if name in state.snapshot.flavors)
    topologies = [
        state.snapshot.topologies[name]
        for name in names
        if name is not None and name in state.snapshot.topologies
    ]
    return {HOSTNAME if HOSTNAME in topology.levels[-1:] else topology.name for topology in topologies}


def _join(joined: dict[str, str], tree: str, other: str) -> None:
    tree, other = _representative(joined, tree), _representative(joined, other)
    joined[max(tree, other)] = min(tree, other)


def _representative(joined: dict[str, str], tree: str) -> str:
    while joined[tree] != tree:
        tree = joined[tree]
    return tree
