"""Whether it is worth looking for room for a group of pending workloads: a bound, cheap and sound.

Most of those who wait can not be let in by most of what happens. Only what is available and what
the own queue may preempt can help a workload, unless it would stay within the quota of its queue
or of a cohort below the root: then it may reclaim what others borrow. Whatever the bound can not
tell is worth a try. It mirrors candidates and attempts of preemption/classical.py.
"""

from collections.abc import Iterator
from math import inf

from muster.admission.cycle.eligible import refusal
from muster.admission.cycle.recall import Recall
from muster.admission.flavors.demand import Demand, gangs
from muster.admission.flavors.queue import QueueFlavors
from muster.admission.model import ClusterQueue, FlavorResource, PreemptionPolicy, Workload
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.holdings import Standing
from muster.admission.state.state import WorkingState

Need = tuple[FlavorResource, int]
Options = tuple[tuple[Need, ...], ...]
"""Flavors that pods may take, each with what they need of it."""


class Prospect:
    """Of a group of workloads of one queue; `alike` is any of them.

    What most of them can be let in with is a certain room at the root of the tree. That bound changes
    only with what happens in the queue and in the cohorts above it, below the root."""

    __slots__ = (
        "_below",
        "_borrowing",
        "_demands",
        "_holdings",
        "_least",
        "_least_stamp",
        "_least_to_fit",
        "_least_to_fit_stamp",
        "_lower",
        "_needs",
        "_node",
        "_own",
        "_own_version",
        "_reclaims",
        "_unbounded",
        "is_plain",
        "recall",
    )

    def __init__(self, state: WorkingState, node: QuotaNode, alike: Workload) -> None:
        queue = state.queue(node.name)
        flavors = state.flavors[queue.name]
        self._node = node
        self._below = node.lineage[:-1]
        self._holdings = state.holdings[node.name]
        self._demands = list(_demands(alike, flavors, node))
        self._lower = _lower(queue.within_queue, alike.priority)
        self._reclaims = queue.reclaim_within_cohort is not PreemptionPolicy.NEVER
        self._unbounded = bool(alike.replaces) or (
            self._reclaims
            and (state.rules.fair_sharing is not None or queue.borrow_within_cohort is not None)
        )
        self._needs = _single(self._demands)
        self._least: list[tuple[FlavorResource, float]] = []  # room at the root that is worth a try
        self._least_to_fit: list[tuple[FlavorResource, float]] = []  # without preemption
        self._least_stamp = self._least_to_fit_stamp = -1
        self._borrowing = -1  # not known
        self._own: dict[FlavorResource, int] = {}  # what the own queue may preempt
        self._own_version = -1  # of the holdings
        self.is_plain = self._needs is not None and _is_plain(state, queue, alike)
        self.recall = Recall()

    def worth_a_try(self) -> bool:
        """False only if nothing that a cycle could do now would let one of them in."""
        if self._needs is None:
            return all(any(map(self._is_open, options)) for options in self._demands)
        stamp = self._holdings.version
        for node in self._below:
            stamp += node.changes
        if stamp != self._least_stamp:
            if self.fits():
                return True  # and what could be preempted need not be known
            self._least_stamp = stamp
            self._least = [(fr, self._worth_a_try_with(fr, amount)) for fr, amount in self._needs]
        root = self._node.root
        for fr, least in self._least:  # noqa: SIM110 - a generator is slow, and nothing is asked more often
            if root.room(fr) < least:
                return False
        return True

    def fits(self) -> bool:
        """Whether there is room for one; asked only if there is but one way to let it in. Of one that
        `is_plain` it is all that counts."""
        assert self._needs is not None
        stamp = self._holdings.version
        for node in self._below:
            stamp += node.changes
        if stamp != self._least_to_fit_stamp:
            self._least_to_fit_stamp = stamp
            self._borrowing = -1
            self._least_to_fit = []
            for fr, amount in self._needs:
                more, most = self._node.headroom(fr)
                self._least_to_fit.append((fr, amount - more if amount <= most else inf))
        root = self._node.root
        for fr, least in self._least_to_fit:  # noqa: SIM110 - as above
            if root.room(fr) < least:
                return False
        return True

    @property
    def borrowing(self) -> int:
        """From how far away one borrows that fits, as was just found."""
        if self._borrowing < 0:
            needs = self._needs or ()
            levels = (self._node.borrowing_level(fr, amount)[0] for fr, amount in needs)
            self._borrowing = max(levels, default=0)
        return self._borrowing

    def _worth_a_try_with(self, fr: FlavorResource, amount: int) -> float:
        if self._unbounded:
            return -inf
        amount -= self._preemptible_in_queue(fr)
        if self._may_reclaim(fr, amount):
            return -inf
        more, most = self._node.headroom(fr)
        return amount - more if amount <= most else inf

    def _is_open(self, option: tuple[Need, ...]) -> bool:
        root = self._node.root
        return all(root.room(fr) >= self._worth_a_try_with(fr, amount) for fr, amount in option)

    def _may_reclaim(self, fr: FlavorResource, amount: int) -> bool:
        if self._reclaims:
            for node in self._below:
                if not node.borrowing_with(fr, amount):
                    return True
                amount -= node.local_available(fr)
        return False

    def _preemptible_in_queue(self, fr: FlavorResource) -> int:
        holdings = self._holdings
        if self._own_version != holdings.version:
            self._own_version = holdings.version
            self._own = {}
        own = self._own.get(fr)
        if own is None:
            own = self._own[fr] = sum(held.usage.get(fr, 0) for held in holdings.below(self._lower))
        return own


def _is_plain(state: WorkingState, queue: ClusterQueue, alike: Workload) -> bool:
    """Whether one that has room is let in, just as it is: there is one flavor for each thing it asks for,
    and no other question."""
    flavors = state.flavors[queue.name]
    return (
        refusal(alike, queue, state.snapshot.namespaces) is None
        and flavors.placer_of(alike) is None
        and alike.replaces is None
        and alike.allowed_flavors is None
        and all(pod_set.count_min is None for pod_set in alike.pod_sets)
        and all(len(group.flavors) == 1 for group in queue.groups)
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


def _lower(policy: PreemptionPolicy, priority: int) -> Standing:
    """Whoever stands lower than this may be preempted by some workload of this priority."""
    if policy is PreemptionPolicy.NEVER:
        return (-inf,)
    return (priority,) if policy is PreemptionPolicy.LOWER_PRIORITY else (priority, inf)
