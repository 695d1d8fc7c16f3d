"""Which queues contend with each other: those of one quota tree, and those that share nodes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from muster.admission.engine.contention_group import ContentionGroup
from muster.admission.model import HOSTNAME, ClusterQueue, StopPolicy
from muster.admission.pruning.protocol import Pruning
from muster.admission.queueing.pending import PendingQueue
from muster.admission.state.state import WorkingState


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
