"""Estimates cheaply whether a group of pending workloads may be admitted; never excludes a feasible group.

Most events cannot help most pending workloads: the quota that they could get is bounded
(preemption/bound.py). Where the bound is undecided, the workload is tried.
"""

from collections.abc import Iterable, Iterator, Sequence

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

    Bounds that depend only on this usage are valid as long as `token` is the same object, other results as
    long as `changes` is equal."""

    __slots__ = (
        "_below",
        "_bounds",
        "_usage",
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
        # Otherwise its workloads depend only on the usage at the root.
        self._bounds = _preempts(self.queue) or any(below.has_limits for below in self._below)
        self._usage: tuple[object, ...] = ()

    def renew(self) -> bool:
        """Returns whether the bounds may have changed since the last call."""
        self.changes += 1
        if not self._bounds and not self.state.had_surplus:
            return False
        # By value: after a simulated release and restore the bounds are still valid.
        usage = self.holdings.version, *[tuple(node.usage.values()) for node in self._below]
        if usage == self._usage:
            return False
        self._usage = usage
        self.token = object()
        return True


def _preempts(queue: ClusterQueue) -> bool:
    policies = queue.within_queue, queue.reclaim_within_cohort
    return any(policy is not PreemptionPolicy.NEVER for policy in policies)


Need = tuple[FlavorResource, int]
Options = tuple[tuple[Need, ...], ...]
"""The flavors that pods may use, each with the amounts that they need of it."""
Bound = tuple[FlavorResource, float]
"""A resource, and its maximum total usage at the root of the tree."""


class Feasibility(GroupEstimate):
    """The estimate for an equivalence group of one queue; `alike` is any of its workloads.

    Its workloads can be admitted only while the usage at the root of the tree is below a bound, which changes
    only with the usage of the queue. Keeps no reference to a workload, as it outlives `alike`."""

    __slots__ = (
        "_borrowing",
        "_bounds",
        "_bounds_of_needs",
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
        # The options of each pod set and resource group. The group is infeasible if all options of one are
        # exceeded; that each has an open option does not prove that all fit together.
        self._demands = list(_demands(alike, queue_usage.flavors, queue_usage.node))
        self._preemption_bound = PreemptionBound(
            queue_usage.node, queue_usage.queue, queue_usage.holdings, queue_usage.state.rules, alike
        )
        # The amounts by flavor and resource if each demand has one option: then the comparison with the usage
        # at the root is exact.
        self._needs = _single(self._demands)
        self._token: object = None  # of the usage for which the following is computed
        self._bounds: list[list[list[Bound]]] | None  # by demand and option; None: not computed
        # If there is only one option: without preemption, and with it (None: not computed).
        self._bounds_to_fit: list[Bound]
        self._bounds_of_needs: list[Bound] | None
        self._borrowing = -1, 0  # the number of changes, and the borrowing distance at that time
        self.needs_only_quota = self._needs is not None and _needs_only_quota(queue_usage, alike)
        self.tries_once = queue_usage.one_flavor
        self.assignment_cache = AssignmentCache()

    def estimate(self) -> Estimate:
        """Returns whether a workload of the group may be admitted now."""
        # The cheap check first: most groups fit, or depend only on the usage at the root.
        if self.fits():
            return Estimate.FITS
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
        """Returns the bounds of an infeasible group, which stays infeasible until the usage at the root is
        within one of them or the queue's usage changes. None if the group is not infeasible."""
        return None if self.fits() else self._exceeded()

    def _exceeded(self) -> list[Bound] | None:
        """Returns one exceeded bound of each option of a demand for which all options are closed; None if
        every demand has an open option."""
        if self._needs is not None:
            if self._bounds_of_needs is None:
                self._bounds_of_needs = self._most_used(self._needs)
            exceeded = self._first_exceeded(self._bounds_of_needs)
            return None if exceeded is None else [exceeded]
        if self._bounds is None:
            self._bounds = [[self._most_used(option) for option in options] for options in self._demands]
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
        """Returns the borrowing distance of a workload that fits."""
        changes, furthest = self._borrowing
        if changes != self._queue_usage.changes:
            level, needs = self._queue_usage.node.borrowing_level, self._needs or ()
            furthest = max((level(fr, amount)[0] for fr, amount in needs), default=0)
            self._borrowing = self._queue_usage.changes, furthest
        return furthest

    def _renew(self) -> None:
        self._token = self._queue_usage.token
        self._bounds = self._bounds_of_needs = None
        needs = self._needs or ()
        self._bounds_to_fit = [
            (fr, self._preemption_bound.most_used_to_fit(fr, amount)) for fr, amount in needs
        ]

    def _most_used(self, option: Iterable[Need]) -> list[Bound]:
        return [(fr, self._preemption_bound.most_used(fr, amount)) for fr, amount in option]

    def _first_exceeded(self, option: list[Bound]) -> Bound | None:
        used = self._used
        for bound in option:
            if used.get(bound[0], 0) > bound[1]:
                return bound
        return None


def _needs_only_quota(queue_usage: QueueUsage, alike: Workload) -> bool:
    """Returns whether only quota decides: each resource has one flavor, and there is no other constraint."""
    queue = queue_usage.queue
    return (
        refusal(queue_usage.state, alike, queue) is None
        and queue_usage.flavors.placer_of(alike) is None
        and alike.replaces is None
        and not alike.surplus_of
        and alike.allowed_flavors is None
        and all(pod_set.count_min is None for pod_set in alike.pod_sets)
        and queue_usage.one_flavor
    )


def _demands(alike: Workload, flavors: QueueFlavors, node: QuotaNode) -> Iterator[Options]:
    """Yields the minimum needs of each pod set and resource group, without flavors that can never satisfy
    them."""
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
                # A slice needs only what the replaced slice does not have, even if that exceeds the quota.
                yield options if alike.replaces else _ever_available(options, node)


def _ever_available(options: Options, node: QuotaNode) -> Options:
    return tuple(
        option for option in options if all(amount <= node.potentially_available(fr) for fr, amount in option)
    )


def _options(demand: Demand, flavors: QueueFlavors) -> Iterator[Options]:
    remaining = {resource: amount for resource, amount in demand.requests.items() if amount > 0}
    while remaining:
        group = flavors.group_of(next(iter(remaining)))
        if group is None:
            if not flavors.rules.ignore_undeclared:
                yield ()
            remaining.pop(next(iter(remaining)))
            continue
        # All resources of a group use the same flavor, so they are bounded together.
        requests = {name: remaining.pop(name) for name in tuple(remaining) if name in group.covered}
        refused = flavors.refused((demand,), group)
        yield tuple(
            tuple((column[resource], amount) for resource, amount in requests.items())
            for index, (_, column) in enumerate(group.columns)
            if refused is None or refused[index] is None
        )


def _single(demands: list[Options]) -> list[Need] | None:
    """Returns the sum of all needs, if every demand has only one option; else None."""
    total: dict[FlavorResource, int] = {}
    for options in demands:
        if len(options) != 1:
            return None
        for fr, amount in options[0]:
            total[fr] = total.get(fr, 0) + amount
    return list(total.items())
