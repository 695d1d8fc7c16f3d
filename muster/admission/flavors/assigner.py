"""Assigns a flavor to each pod set and resource group of a workload.

Source: Kueue's pkg/scheduler/flavorassigner. Flavors are tried in the queue's order, from where the last
search ended. All resources of a group take the same flavor, and so do all pod sets of a group (a leader
and its workers); other pod sets count against each other in the workload's order. A flavor is graded by its
worst resource, and the queue's fungibility policies decide whether a grade stops the search. When all pod
sets have flavors, their pods are placed on topologies (flavors/placement.py).
"""

from collections.abc import Callable, Mapping, Sequence

from muster.admission.flavors.assignment import Assignment, PodSetChoice
from muster.admission.flavors.attempts import (
    ALL_TRIED,
    FlavorAttempt,
    FlavorSearch,
    Obstacle,
    ScanProgress,
    Shortage,
)
from muster.admission.flavors.demand import Demand, PodSetGroup, pod_set_groups, rank, total
from muster.admission.flavors.fungibility import BEST, NO_FIT, Grade, Mode
from muster.admission.flavors.queue_flavors import NOT_ALLOWED, FlavorGroup, QueueFlavors
from muster.admission.model import FlavorResource, PodSetAssignment, Workload
from muster.admission.quota.tree import QuotaNode

Simulate = Callable[[FlavorResource, int], Grade]
"""Returns the grade that preemption could achieve for a quantity of one resource."""

Pinned = Mapping[str, Mapping[str, str]]
"""The only permitted flavor, by pod set and resource (Assignment.nominated)."""


class FlavorAssigner:
    """Assigns flavors to a workload of a queue. Without `simulate` preemption is not considered; `empty`
    ignores usage.

    `replaced` are the assignments of a slice that the workload replaces: its flavors are kept, and its
    usage is not counted twice. `progress` is where an earlier search ended."""

    __slots__ = ("empty", "flavors", "node", "pinned", "progress", "replaced", "simulate", "workload")

    def __init__(
        self,
        flavors: QueueFlavors,
        node: QuotaNode,
        workload: Workload,
        simulate: Simulate | None = None,
        empty: bool = False,
        replaced: Sequence[PodSetAssignment] = (),
        progress: ScanProgress | None = None,
        pinned: Pinned | None = None,
    ) -> None:
        self.flavors = flavors
        self.node = node
        self.workload = workload
        self.simulate = simulate
        self.empty = empty
        self.replaced = replaced
        self.progress = progress
        self.pinned = pinned

    def assign(self, counts: Sequence[int] = ()) -> Assignment:
        """Returns the assignment; `counts` are the pods of each pod set in a partial admission.

        A workload that already holds quota keeps its flavors, and is only placed."""
        assignment = Assignment()
        for pod_set_group in pod_set_groups(self.workload, counts, self.replaced, self.flavors.counts_pods):
            shared = self._choose(pod_set_group, assignment.usage)
            for demand in pod_set_group:
                assignment.add(demand, shared if len(pod_set_group) == 1 else self._share(shared, demand))
            if shared.mode is Mode.NO_FIT:
                return assignment
        placer = self.flavors.placer_of(self.workload)
        if placer is not None and assignment.mode is not Mode.NO_FIT:
            placer.place(self.workload, assignment, self.empty)
        return assignment

    def _choose(self, pod_set_group: PodSetGroup, used: Mapping[FlavorResource, int]) -> PodSetChoice:
        """Chooses flavors for all requests of a pod set group; `used` is the usage of earlier pod sets."""
        choice = PodSetChoice.of(pod_set_group[0])
        for demand in pod_set_group:
            if demand.held is not None:
                choice.keep_held(demand.held.flavors)
        requested = total(pod_set_group)
        # Kueue's order determines which resource a message names, and with which one a scan continues.
        for resource in sorted(requested, key=rank):
            if resource in choice.flavors:
                continue  # assigned with its resource group
            group = self.flavors.group_of(resource)
            if group is None:
                if requested[resource] == 0 or self.flavors.rules.ignore_undeclared:
                    continue
                choice.add_best(FlavorSearch(resource, covered=False))
                break
            needs = [(name, amount) for name, amount in requested.items() if name in group.covered]
            choice.add_best(self._search(pod_set_group, group, resource, needs, used))
            if choice.mode is Mode.NO_FIT:
                break
        return choice

    def _share(self, shared: PodSetChoice, demand: Demand) -> PodSetChoice:
        """Returns a pod set's part of the group's choice. A pod set without requests takes the flavors that
        place the others."""
        choice = PodSetChoice.of(demand)
        choice.searches = shared.searches
        for resource, flavor in shared.flavors.items():
            if resource in demand.requests or (not demand.requests and self.flavors.places_on(flavor)):
                choice.flavors[resource] = flavor
                choice.grades[resource] = shared.grades[resource]
                choice.tried[resource] = shared.tried[resource]
        if shared.mode is not Mode.FIT:
            choice.mode = min((grade.mode for grade in choice.grades.values()), default=Mode.NO_FIT)
        return choice

    def _search(
        self,
        pod_set_group: PodSetGroup,
        group: FlavorGroup,
        resource: str,
        needs: Sequence[tuple[str, int]],
        used: Mapping[FlavorResource, int],
    ) -> FlavorSearch:
        """Tries the group's flavors in order, until one stops the search."""
        queue = self.flavors.queue
        first = self.progress.start(pod_set_group[0].position, resource) if self.progress else 0
        refused = self.flavors.refused(pod_set_group, group)
        last = ALL_TRIED
        best: FlavorAttempt | None = None
        attempts = []
        for last in range(first, len(group.columns)):
            flavor, columns = group.columns[last]
            attempt = self._exclude(pod_set_group, flavor, resource) or (refused and refused[last])
            if not attempt:
                attempt = self._try(pod_set_group, flavor, columns, needs, used)
            attempts.append(attempt)
            if attempt.grade is BEST or attempt.grade.stops_search(queue):
                best = attempt
                break
            if attempt.grade.preferred_to(best.grade if best else NO_FIT, queue.preference):
                best = attempt
        return FlavorSearch(resource, attempts, best, ALL_TRIED if last == len(group.columns) - 1 else last)

    def _exclude(self, pod_set_group: PodSetGroup, flavor: str, resource: str) -> FlavorAttempt | None:
        """Returns an excluded attempt if the flavor is not eligible for the workload."""
        pinned = self.pinned
        if pinned is not None and all(
            pinned.get(demand.pod_set.name, {}).get(resource) != flavor for demand in pod_set_group
        ):
            return FlavorAttempt(
                flavor,
                NO_FIT,
                mismatch="was not selected by the first assignment of this cycle",
                excluded=True,
            )
        if not self.flavors.allows(self.workload, flavor):
            return FlavorAttempt(flavor, NO_FIT, mismatch=NOT_ALLOWED, excluded=True)
        return None

    def _try(
        self,
        pod_set_group: PodSetGroup,
        flavor: str,
        columns: Mapping[str, FlavorResource],
        needs: Sequence[tuple[str, int]],
        used: Mapping[FlavorResource, int],
    ) -> FlavorAttempt:
        """Grades the flavor for all resources of the group."""
        worst = BEST
        grades: dict[str, Grade] = {}
        shortages: list[Shortage] = []
        mismatch = ""
        for resource, amount in needs:
            if self.replaced and (mismatch := mismatch or _other_flavor(pod_set_group, resource, flavor)):
                worst = NO_FIT
            fr = columns[resource]
            grade = self._fit(fr, used.get(fr, 0), amount, shortages)
            grades[resource] = grade
            if grade is not BEST and worst.preferred_to(grade, self.flavors.queue.preference):
                worst = grade
        return FlavorAttempt(flavor, worst, grades, tuple(shortages), mismatch)

    def _fit(self, fr: FlavorResource, earlier: int, amount: int, shortages: list[Shortage]) -> Grade:
        """Grades `amount` of the flavor's resource beyond `earlier` (Kueue: fitsResourceQuota)."""
        node = self.node
        needed = earlier + amount
        headroom = node.potentially_available(fr) if self.empty else max(0, node.available(fr))
        if needed <= headroom:
            level = node.potential_level(fr, needed) if self.empty else node.borrowing_level(fr, needed)[0]
            return Grade(Mode.FIT, level) if level else BEST
        capacity = node.potentially_available(fr)
        # Preemption cannot help beyond the potential quota.
        if needed > capacity:
            shortages.append(Shortage(fr, needed, earlier, capacity, Obstacle.CAPACITY))
            return NO_FIT
        shortages.append(Shortage(fr, needed, earlier, headroom, Obstacle.QUOTA))
        level, below_root = node.borrowing_level(fr, needed)
        if self.simulate is not None and (
            below_root or needed <= node.quota(fr).nominal or self.flavors.may_borrow
        ):
            return self.simulate(fr, needed)
        return Grade(Mode.NO_FIT, level)


def _other_flavor(pod_set_group: PodSetGroup, resource: str, flavor: str) -> str:
    """Returns the mismatch of a flavor that the replaced slice does not use; empty if it does."""
    for demand in pod_set_group:
        held = demand.replaced.flavors.get(resource, "") if demand.replaced else ""
        if held != flavor:
            if held:
                return f"is not {held}, which the slice that it replaces has for {resource}"
            return f"does not serve a slice that replaces one without {resource}"
    return ""
