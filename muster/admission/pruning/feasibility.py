"""Whether a group of pending workloads may be admitted: a bound, cheap and sound.

Most events cannot help most pending workloads, and what they could get by any means is bounded
(preemption/bound.py). Where the bound cannot tell, the workload is tried.
"""

from collections.abc import Iterator, Sequence

from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.cycle.nominate import refusal
from muster.admission.flavors.demand import Demand, pod_set_groups
from muster.admission.flavors.queue_flavors import QueueFlavors
from muster.admission.model import ClusterQueue, FlavorResource, PreemptionPolicy, Workload
from muster.admission.preemption.bound import PreemptionBound
from muster.admission.pruning.protocol import Estimate, GroupEstimate
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState


class QueueUsage:
    """Usage of one ClusterQueue and of the cohorts above it, below the root.

    Bounds that are computed from that alone hold as long as `token` is the same object, and anything else as
    long as `changes` is the same."""

    __slots__ = (
        "_below",
        "_bounds",
        "_known",
        "changes",
        "flavors",
        "holdings",
        "node",
        "one_flavor",
        "queue",
        "rules",
        "state",
        "token",
    )

    def __init__(self, state: WorkingState, node: QuotaNode) -> None:
        self.state = state
        self.node = node
        self.queue = state.queue(node.name)
        self.flavors = state.flavors[node.name]
        self.holdings = state.holdings[node.name]
        self.one_flavor = all(len(group.flavors) == 1 for group in self.queue.groups)
        self.token = object()
        self.changes = 0
        self._below = node.lineage[:-1]
        # Else only the room at the root decides over its workloads.
        self._bounds = _preempts(self.queue) or any(below.has_limits for below in self._below)
        self._known: tuple[object, ...] = ()

    def renew(self) -> bool:
        """Returns whether anything that bounds its workloads has changed since the last call."""
        self.changes += 1
        if not self._bounds:
            return False
        # By value: a simulation takes quota and gives it back, after which everything known still holds.
        found = self.holdings.version, *[tuple(node.usage.values()) for node in self._below]
        if found == self._known:
            return False
        self._known = found
        self.token = object()
        return True


def _preempts(queue: ClusterQueue) -> bool:
    policies = queue.within_queue, queue.reclaim_within_cohort
    return any(policy is not PreemptionPolicy.NEVER for policy in policies)


Need = tuple[FlavorResource, int]
Options = tuple[tuple[Need, ...], ...]
"""Flavors that pods may take, each with what they need of it."""
Bound = tuple[FlavorResource, float]
"""The most that may be used of it at the root of the tree, by all."""


class Feasibility(GroupEstimate):
    """The estimate for an equivalence group of one queue; `alike` is any of its workloads.

    To be admitted they need a certain room at the root of the tree. That bound changes only with the queue's
    usage. Nothing here refers to a workload: it outlives `alike`."""

    __slots__ = (
        "_borrowing",
        "_bounds",
        "_bounds_to_fit",
        "_demands",
        "_needs",
        "_preemption_bound",
        "_queue_usage",
        "_token",
        "_used",
    )

    def __init__(self, queue_usage: QueueUsage, alike: Workload) -> None:
        self._queue_usage = queue_usage
        self._used = queue_usage.node.root.usage
        self._demands = list(_demands(alike, queue_usage.flavors, queue_usage.node))
        self._preemption_bound = PreemptionBound(
            queue_usage.node, queue_usage.queue, queue_usage.holdings, queue_usage.state.rules, alike
        )
        self._needs = _single(self._demands)
        if self._needs is not None:
            self._demands = [(tuple(self._needs),)]
        self._token: object = None  # of the usage that the following is computed from
        self._bounds: list[list[list[Bound]]] | None  # by demand and option; None: not computed
        self._bounds_to_fit: list[Bound]  # without preemption, if there is only one way
        self._borrowing = -1, 0  # as of the number of changes
        self.room_decides = self._needs is not None and _room_decides(queue_usage, alike)
        self.tries_once = queue_usage.one_flavor
        self.assignment_cache = AssignmentCache()

    def estimate(self) -> Estimate:
        # The cheap question first: most groups fit or are bound by the room at the root alone.
        if self.fits():
            return Estimate.FITS  # and what could be preempted need not be known
        return Estimate.POSSIBLE if self._exceeded() is None else Estimate.INFEASIBLE

    def fits(self) -> bool:
        if self._token is not self._queue_usage.token:
            self._renew()
        used = self._used
        for fr, most in self._bounds_to_fit:
            if used.get(fr, 0) > most:
                return False
        return self._needs is not None

    def obstacles(self) -> Sequence[Bound] | None:
        """Bounds of an infeasible group: it stays infeasible until the usage at the root is within one of
        them, or the queue's usage changes. None if it is not infeasible."""
        return None if self.fits() else self._exceeded()

    def _exceeded(self) -> list[Bound] | None:
        """The bounds that each flavor exceeds, for a resource that no flavor can provide. None if there is
        none."""
        if self._bounds is None:
            preemption_bound = self._preemption_bound
            self._bounds = [
                [
                    [(fr, preemption_bound.most_used(fr, amount)) for fr, amount in option]
                    for option in options
                ]
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
        """The borrowing distance of one that was just found to fit."""
        changes, furthest = self._borrowing
        if changes != self._queue_usage.changes:
            level, needs = self._queue_usage.node.borrowing_level, self._needs or ()
            furthest = max((level(fr, amount)[0] for fr, amount in needs), default=0)
            self._borrowing = self._queue_usage.changes, furthest
        return furthest

    def _renew(self) -> None:
        self._token = self._queue_usage.token
        self._bounds = None
        self._preemption_bound.forget()
        needs = self._needs or ()
        self._bounds_to_fit = [
            (fr, self._preemption_bound.most_used_to_fit(fr, amount)) for fr, amount in needs
        ]

    def _first_exceeded(self, option: list[Bound]) -> Bound | None:
        used = self._used
        for bound in option:
            if used.get(bound[0], 0) > bound[1]:
                return bound
        return None


def _room_decides(queue_usage: QueueUsage, alike: Workload) -> bool:
    """Whether room alone decides: there is one flavor for each resource, and nothing else to check."""
    queue = queue_usage.queue
    return (
        refusal(alike, queue, queue_usage.state.snapshot.namespaces) is None
        and queue_usage.flavors.placer_of(alike) is None
        and alike.replaces is None
        and alike.allowed_flavors is None
        and all(pod_set.count_min is None for pod_set in alike.pod_sets)
        and queue_usage.one_flavor
    )


def _demands(alike: Workload, flavors: QueueFlavors, node: QuotaNode) -> Iterator[Options]:
    """Yields the least that the pods of each set need, for each resource group, without flavors that can
    never provide it."""
    counts = [
        min(
            pod_set.count - pod_set.reclaimable,
            pod_set.count if pod_set.count_min is None else pod_set.count_min,
        )
        for pod_set in alike.pod_sets
    ]
    smallest = counts if flavors.rules.partial_admission else ()
    for pod_set_group in pod_set_groups(alike, smallest, (), flavors.counts_pods):
        for demand in pod_set_group:
            for options in _options(demand, flavors):
                # A slice needs only what the one that it replaces does not have, whatever the quota is now.
                yield options if alike.replaces else _ever_available(options, node)


def _ever_available(options: Options, node: QuotaNode) -> Options:
    return tuple(
        option for option in options if all(amount <= node.potentially_available(fr) for fr, amount in option)
    )


def _options(demand: Demand, flavors: QueueFlavors) -> Iterator[Options]:
    left = {resource: amount for resource, amount in demand.requests.items() if amount > 0}
    while left:
        group = flavors.group_of(next(iter(left)))
        if group is None:
            if not flavors.rules.ignore_undeclared:
                yield ()
            left.pop(next(iter(left)))
            continue
        # All resources of a group take the same flavor, so they are bounded together.
        wanted = {resource: left.pop(resource) for resource in tuple(left) if resource in group.covered}
        refused = flavors.refused((demand,), group)
        yield tuple(
            tuple((column[resource], amount) for resource, amount in wanted.items())
            for index, (_, column) in enumerate(group.columns)
            if refused is None or refused[index] is None
        )


def _single(demands: list[Options]) -> list[Need] | None:
    """All needs together, if there is only one way to meet them."""
    total: dict[FlavorResource, int] = {}
    for options in demands:
        if len(options) != 1:
            return None
        for fr, amount in options[0]:
            total[fr] = total.get(fr, 0) + amount
    return list(total.items())
