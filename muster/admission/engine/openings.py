"""Which queues may have somebody worth a try, found without asking those that have nobody."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf

from muster.admission.engine.footing import Footing
from muster.admission.engine.prospects import Bound, Outlook, Prospect
from muster.admission.model import FlavorResource
from muster.admission.queueing.groups import Group
from muster.admission.queueing.pending import PendingQueue
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState

_Entry = tuple[float, int, PendingQueue]
_Line = list[_Entry]
"""Of a resource: the most that may be used of it for a queue to have somebody, and its number; sorted."""


class Openings:
    """Of queues that contend with each other.

    Of a queue in which nobody was worth a try it is known what keeps all of them out: it is not asked
    again before that changes. Every other queue may have somebody."""

    __slots__ = ("_bounds", "_branches", "_footings", "_lines", "_maybe", "_numbers", "_queues", "_roots")

    def __init__(self, state: WorkingState, queues: Mapping[str, PendingQueue]) -> None:
        self._queues = list(queues.values())
        self._numbers = {name: number for number, name in enumerate(queues)}
        self._footings = [Footing(state, queue.node) for queue in self._queues]
        self._branches = _by_branch(self._queues)
        self._roots = list(dict.fromkeys(queue.node.root for queue in self._queues))
        self._maybe = dict(enumerate(self._queues))
        self._bounds: dict[int, list[tuple[_Line, float]]] = {}  # of the others, where they stand
        self._lines: dict[QuotaNode, dict[FlavorResource, _Line]] = {root: {} for root in self._roots}

    def changed(self, queue: str) -> None:
        """Somebody has come to it, or is not the same any more."""
        self._forget(self._numbers[queue])

    def possible(self) -> dict[PendingQueue, None]:
        """All others have nobody who is worth a try."""
        self.refresh()
        found = dict.fromkeys(self._maybe.values())
        for root, lines in self._lines.items():
            used = root.usage
            for fr, line in lines.items():
                for _, _, queue in line[bisect_left(line, (used.get(fr, 0),)) :]:
                    found[queue] = None
        return found

    def has_somebody(self, queue: PendingQueue) -> bool:
        """Of a possible one: whether it really has."""
        bounds: dict[FlavorResource, float] = {}
        for group in queue.groups:
            prospect = self.prospect(queue, group)
            if prospect.outlook() is not Outlook.HOPELESS:
                return True
            for fr, most in prospect.obstacles():
                bounds[fr] = max(most, bounds.get(fr, -inf))
        self._keep(queue, bounds.items())
        return False

    def prospect(self, queue: PendingQueue, group: Group) -> Prospect:
        prospect: Prospect | None = group.prospect
        if prospect is None:
            footing = self._footings[self._numbers[queue.queue.name]]
            prospect = group.prospect = Prospect(footing, queue.first(group))
        return prospect

    def refresh(self) -> None:
        """To be called whenever quota may have been taken or given back."""
        for root in self._roots:
            if root.stirred:
                for node in root.stirred:
                    for number in self._branches.get(_branch(node), ()):
                        if self._footings[number].renew():
                            self._forget(number)
                root.stirred.clear()

    def _keep(self, queue: PendingQueue, bounds: Iterable[Bound]) -> None:
        number = self._numbers[queue.queue.name]
        self._forget(number)
        self._maybe.pop(number, None)
        lines = self._lines[queue.node.root]
        kept = [(lines.setdefault(fr, []), most) for fr, most in bounds if most > -inf]
        for line, most in kept:
            insort(line, (most, number, queue))
        self._bounds[number] = kept

    def _forget(self, number: int) -> None:
        self._maybe[number] = self._queues[number]
        for line, most in self._bounds.pop(number, ()):
            del line[bisect_left(line, (most, number))]


def _by_branch(queues: Iterable[PendingQueue]) -> dict[QuotaNode, list[int]]:
    """Those that may have a cohort below the root in common, by the highest one of that."""
    found: dict[QuotaNode, list[int]] = defaultdict(list)
    for number, queue in enumerate(queues):
        found[_branch(queue.node)].append(number)
    return found


def _branch(node: QuotaNode) -> QuotaNode:
    return node.lineage[-2] if node.parent else node
