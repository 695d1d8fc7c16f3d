"""Whether it is worth looking for room for a group of pending workloads: a bound, cheap and sound.

Most of those who wait can not be let in by most of what happens, and what they could have by any
means is known (preemption/reach.py). Whatever the bound can not tell is worth a try.
"""

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from muster.admission.cycle.eligible import refusal
from muster.admission.cycle.order import CycleOrder
from muster.admission.cycle.recall import Recall
from muster.admission.engine.footing import Footing
from muster.admission.flavors.demand import Demand, gangs
from muster.admission.flavors.queue import QueueFlavors
from muster.admission.model import FlavorResource, Workload
from muster.admission.preemption.reach import Reach
from muster.admission.queueing.order import QueueOrder
from muster.admission.quota.tree import QuotaNode

Need = tuple[FlavorResource, int]
Options = tuple[tuple[Need, ...], ...]
"""Flavors that pods may take, each with what they need of it."""
Bound = tuple[FlavorResource, float]
"""The most that may be used of it at the root of the tree, by all."""


class Outlook(Enum):
    """Of one of the group, now."""

    HOPELESS = auto()  # nothing that a cycle could do would let it in
    WORTH_A_TRY = auto()
    FITS = auto()  # there is room for one, and but one way to let it in


class Prospect:
    """Of a group of workloads of one queue; `alike` is any of them.

    What they can be let in with is a certain room at the root of the tree. That bound changes only with
    the footing. `place` is for whoever ranks the first of them: it is forgotten with the bound."""

    __slots__ = (
        "_bounds",
        "_bounds_to_fit",
        "_demands",
        "_footing",
        "_needs",
        "_reach",
        "_token",
        "_used",
        "is_plain",
        "place",
        "recall",
    )

    def __init__(self, footing: Footing, alike: Workload) -> None:
        self._footing = footing
        self._used = footing.node.root.usage
        self._demands = list(_demands(alike, footing.flavors, footing.node))
        self._reach = Reach(footing.node, footing.queue, footing.holdings, footing.state.rules, alike)
        self._needs = _single(self._demands)
        if self._needs is not None:
            self._demands = [(tuple(self._needs),)]
        self._token: object = None  # of the footing that the following rests on
        self._bounds: list[list[list[Bound]]] | None  # by demand and option; None: not worked out
        self._bounds_to_fit: list[Bound]  # without preemption, if there is but one way
        self.place: tuple[QueueOrder, CycleOrder] | None
        self.is_plain = self._needs is not None and _is_plain(footing, alike)
        self.recall = Recall()

    @property
    def tries_once(self) -> bool:
        """Whether one has tried in one cycle, with no flavors left for the next."""
        return self._footing.one_flavor

    def outlook(self) -> Outlook:
        if self.fits():
            return Outlook.FITS  # and what could be preempted need not be known
        return Outlook.WORTH_A_TRY if self._closed() is None else Outlook.HOPELESS

    def fits(self) -> bool:
        if self._token is not self._footing.token:
            self._renew()
        used = self._used
        for fr, most in self._bounds_to_fit:
            if used.get(fr, 0) > most:
                return False
        return self._needs is not None

    def obstacles(self) -> Sequence[Bound]:
        """Of a hopeless one: it stays so until no more than that is used of one of these, or until the
        footing changes."""
        return self._closed() or ()

    def _closed(self) -> list[Bound] | None:
        """Of something that pods need: why each way to have it is closed. None if nothing is closed."""
        if self._bounds is None:
            reach = self._reach
            self._bounds = [
                [[(fr, reach.most_used(fr, amount)) for fr, amount in option] for option in options]
                for options in self._demands
            ]
        for options in self._bounds:
            closed = []
            for option in options:
                bound = self._first_exceeded(option)
                if bound is None:
                    break
                closed.append(bound)
            else:
                return closed
        return None

    def borrowing(self) -> int:
        """From how far away one borrows that fits, as was just found."""
        levels = (self._footing.node.borrowing_level(fr, amount)[0] for fr, amount in self._needs or ())
        return max(levels, default=0)

    def _renew(self) -> None:
        self._token = self._footing.token
        self._bounds = None
        self._reach.forget()
        self.place = None
        needs = self._needs or ()
        self._bounds_to_fit = [(fr, self._reach.most_used_to_fit(fr, amount)) for fr, amount in needs]

    def _first_exceeded(self, option: list[Bound]) -> Bound | None:
        used = self._used
        for bound in option:
            if used.get(bound[0], 0) > bound[1]:
                return bound
        return None


def _is_plain(footing: Footing, alike: Workload) -> bool:
    """Whether one that has room is let in, just as it is: there is one flavor for each thing it asks for,
    and no other question."""
    queue = footing.queue
    return (
        refusal(alike, queue, footing.state.snapshot.namespaces) is None
        and footing.flavors.placer_of(alike) is None
        and alike.replaces is None
        and alike.allowed_flavors is None
        and all(pod_set.count_min is None for pod_set in alike.pod_sets)
        and footing.one_flavor
    )


def _demands(alike: Workload, flavors: QueueFlavors, node: QuotaNode) -> Iterator[Options]:
    """What the pods of each set need at least, for each resource group; without what can never be."""
    counts = [
        min(
            pod_set.count - pod_set.reclaimable,
            pod_set.count if pod_set.count_min is None else pod_set.count_min,
        )
        for pod_set in alike.pod_sets
    ]
    smallest = counts if flavors.rules.partial_admission else ()
    for gang in gangs(alike, smallest, (), flavors.counts_pods):
        for demand in gang:
            yield from _options(demand, flavors, node)


def _options(demand: Demand, flavors: QueueFlavors, node: QuotaNode) -> Iterator[Options]:
    left = {resource: amount for resource, amount in demand.requests.items() if amount > 0}
    while left:
        group = flavors.group_of(next(iter(left)))
        if group is None:
            if not flavors.rules.ignore_undeclared:
                yield ()
            left.pop(next(iter(left)))
            continue
        wanted = {resource: left.pop(resource) for resource in tuple(left) if resource in group.covered}
        refused = flavors.refused((demand,), group)
        columns = [
            tuple((column[resource], amount) for resource, amount in wanted.items())
            for index, (_, column) in enumerate(group.columns)
            if refused is None or refused[index] is None
        ]
        yield tuple(
            option
            for option in columns
            if all(amount <= node.potentially_available(fr) for fr, amount in option)
        )


def _single(demands: list[Options]) -> list[Need] | None:
    """All needs together, if there is but one way to meet them."""
    total: dict[FlavorResource, int] = {}
    for options in demands:
        if len(options) != 1:
            return None
        for fr, amount in options[0]:
            total[fr] = total.get(fr, 0) + amount
    return list(total.items())
