"""Quota that a cycle keeps for heads that wait, and victims that it has given to preemptors."""

from collections.abc import Iterable
from itertools import chain

from muster.admission.cycle.entry import Entry
from muster.admission.quota.node import QuotaNode, Usage
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState


class CycleReservations:
    """Quota that counts as used until the end of a cycle, and holdings that count as gone.

    Kueue: PreemptedWorkloads, and the usage that processEntry adds to its snapshot.
    """

    __slots__ = ("_claims", "_kept", "_leaving", "_state")

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self._claims: dict[str, str] = {}  # key of the claiming workload by that of the claimed one
        self._leaving: list[Holding] = []
        self._kept: list[tuple[Entry, Usage]] = []

    def claimant(self, head: Entry) -> str:
        """Key of a workload that claimed a target of the head before it; empty if there is none."""
        if not self._claims:
            return ""
        wanted = (holding.workload.key for holding in claimed_by(head))
        return next((self._claims[key] for key in wanted if key in self._claims), "")

    def claim(self, head: Entry) -> None:
        """Claims its targets, and the slice that it replaces: no other head may have them."""
        self._claims.update((holding.workload.key, head.workload.key) for holding in claimed_by(head))
        self._leaving += (target.holding for target in head.targets)

    def keep(self, head: Entry, usage: Usage) -> None:
        """Keeps usage for a head, with the places that its pods would have."""
        head.node.add(usage)
        self._state.topologies.add(head.assignment.placed)
        self._kept.append((head, usage))

    def release(self) -> None:
        """The end of the cycle: what was kept is kept no longer."""
        for head, usage in self._kept:
            head.node.remove(usage)
            self._state.topologies.remove(head.assignment.placed)

    def leaving(self, node: QuotaNode) -> list[Holding]:
        """Victims that leave queues of the node's tree, or places on the cluster's nodes."""
        return [holding for holding in self._leaving if holding.placed or holding.node.root is node.root]

    def fits(self, head: Entry) -> bool:
        """Whether it fits beside all that the cycle has given and kept, once all victims have left."""
        # Most heads: to simulate that nothing leaves costs more than the question.
        if not (self._leaving or head.targets):
            return self._has_room(head)
        with self._state.without(self._gone(head)):
            return self._has_room(head)

    def only_misplaced(self, head: Entry) -> bool:
        """Whether it would fit if only its pods found other places."""
        placed = head.assignment.placed
        if not placed:
            return False
        with self._state.without(self._gone(head)):
            return head.node.fits(head.usage) and not self._state.topologies.fits(placed)

    def _gone(self, head: Entry) -> Iterable[Holding]:
        targets = [target.holding for target in head.targets]
        # one that another head has claimed goes only once
        return dict.fromkeys(chain(self.leaving(head.node), targets)) if self._leaving else targets

    def _has_room(self, head: Entry) -> bool:
        placed = head.assignment.placed
        return head.node.fits(head.usage) and (not placed or self._state.topologies.fits(placed))

    def fits_now(self, head: Entry) -> bool:
        """Whether it fits while the victims still run and their places are not taken yet.

        Kueue does not ask this, and may admit too much meanwhile.
        """
        if not self.leaving(head.node):
            return True
        # What is kept comes out of the victims' quota: while they run it would count twice.
        self.release()
        fits = self._has_room(head)
        for waiting, usage in self._kept:
            waiting.node.add(usage)
            self._state.topologies.add(waiting.assignment.placed)
        return fits

    def rival(self, head: Entry) -> str:
        """Key of a workload for which something is kept that the head needs; empty if there is none."""
        rivals = (
            waiting.workload.key
            for waiting, usage in self._kept
            if waiting.node.root is head.node.root and usage.keys() & head.usage.keys()
        )
        return next(rivals, "")


def claimed_by(head: Entry) -> list[Holding]:
    replaced = [] if head.replaced is None else [head.replaced]
    return [*replaced, *(target.holding for target in head.targets)]
