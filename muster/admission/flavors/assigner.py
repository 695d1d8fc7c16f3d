"""Choosing a flavor for each pod set and resource group of a workload.

The rules are those of Kueue's pkg/scheduler/flavorassigner: flavors are tried in the queue's
order; all resources of a group take the same flavor; the pod sets of one workload count against
each other; a flavor is graded by its worst resource, and the fungibility policies say whether a
grade is good enough to stop the search.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from muster.admission.flavors.nodes import mismatch
from muster.admission.model import (
    ClusterQueue,
    Flavor,
    FlavorResource,
    FungibilityPolicy,
    PodSet,
    ResourceGroup,
    Workload,
)
from muster.admission.quota.tree import QuotaNode

PODS = "pods"


class Mode(IntEnum):
    """How a flavor could be had, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1  # by preemption, but nothing may be preempted
    PREEMPT = 2
    RECLAIM = 3  # by preemption in other queues only
    FIT = 4


class Grade(NamedTuple):
    """A mode, and from how far away quota is borrowed (QuotaNode.borrowing_level)."""

    mode: Mode
    borrowing: int

    def better_than(self, other: "Grade") -> bool:
        return self.mode is not Mode.NO_FIT and self._rank > other._rank

    @property
    def _rank(self) -> tuple[Mode, int]:
        return self.mode, -self.borrowing


Simulate = Callable[[FlavorResource, int], Grade]
"""The grade that preemption could reach for a quantity of one resource."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """A quantity that a flavor can not give: what the workload needs of it in all."""

    wanted: FlavorResource
    needed: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod set got no flavor: what speaks against each, in the order they were tried."""

    pod_set: str
    resource: str
    covered: bool = True  # by a resource group of the queue
    mismatches: tuple[tuple[str, str], ...] = ()  # flavor, end of a sentence about it
    shortages: tuple[tuple[Shortage, ...], ...] = ()  # one tuple for each flavor that matches


@dataclass(slots=True)
class Assignment:
    """The flavors found. With a refusal it is incomplete and its mode is NO_FIT."""

    flavors: list[dict[str, str]] = field(default_factory=list)  # by resource, for each pod set
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    contested: set[FlavorResource] = field(default_factory=set)  # not to be had without preemption
    borrowing: int = 0
    mode: Mode = Mode.FIT
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class FlavorAssigner:
    """Assigns for one queue. Without `simulate` nothing is preempted; with `empty` nothing is used."""

    queue: ClusterQueue
    node: QuotaNode
    flavors: Mapping[str, Flavor]
    simulate: Simulate | None = None
    empty: bool = False

    def assign(self, workload: Workload) -> Assignment:
        assignment = Assignment()
        for pod_set in workload.pod_sets:
            requests = total_requests(pod_set, self.queue)
            chosen: dict[str, str] = {}
            for resource, amount in sorted(requests.items()):
                if resource in chosen:
                    continue  # it came with its resource group
                group = _group_of(self.queue, resource)
                if group is None and amount == 0:
                    continue
                if group is None:
                    return _refuse(assignment, Refusal(pod_set.name, resource, covered=False))
                wanted = {name: requests[name] for name in group.covered if name in requests}
                found = self._search(pod_set, resource, group, wanted, assignment.usage)
                if isinstance(found, Refusal):
                    return _refuse(assignment, found)
                chosen |= dict.fromkeys(wanted, found.flavor)
                found.record(assignment)
            assignment.flavors.append(chosen)
            for resource, flavor in chosen.items():
                fr = FlavorResource(flavor, resource)
                assignment.usage[fr] = assignment.usage.get(fr, 0) + requests[resource]
        return assignment

    def _search(
        self,
        pod_set: PodSet,
        resource: str,
        group: ResourceGroup,
        wanted: Mapping[str, int],
        used: Mapping[FlavorResource, int],
    ) -> "_Candidate | Refusal":
        """Tries the group's flavors in order; `used` is what earlier pod sets take."""
        best: _Candidate | None = None
        mismatches = []
        shortages = []
        for quotas in group.flavors:
            reason = mismatch(pod_set, self.flavors[quotas.flavor])
            if reason is not None:
                mismatches.append((quotas.flavor, reason))
                continue
            candidate = self._grade(quotas.flavor, wanted, used)
            if candidate.grade.mode is Mode.NO_FIT:
                shortages.append(candidate.shortages)
            elif not self._try_next(candidate.grade):
                return candidate
            elif best is None or candidate.grade.better_than(best.grade):
                best = candidate
        return best or Refusal(
            pod_set.name, resource, mismatches=tuple(mismatches), shortages=tuple(shortages)
        )

    def _grade(
        self, flavor: str, wanted: Mapping[str, int], used: Mapping[FlavorResource, int]
    ) -> "_Candidate":
        grades = {}
        shortages = []
        for resource, amount in sorted(wanted.items()):
            fr = FlavorResource(flavor, resource)
            needed = used.get(fr, 0) + amount
            grades[fr] = self._fit(fr, needed)
            if grades[fr].mode is Mode.NO_FIT:
                shortages.append(Shortage(fr, needed))
        return _Candidate(flavor, grades, tuple(shortages))

    def _fit(self, fr: FlavorResource, needed: int) -> Grade:
        """How `needed` of the flavor's resource could be had (Kueue: fitsResourceQuota)."""
        capacity = self.node.potentially_available(fr)
        if needed > capacity:
            return Grade(Mode.NO_FIT, 0)
        level, below_root = self.node.borrowing_level(fr, needed)
        if needed <= (capacity if self.empty else max(0, self.node.available(fr))):
            return Grade(Mode.FIT, level)
        if self.simulate is not None and (below_root or needed <= self.node.quota(fr).nominal):
            return self.simulate(fr, needed)
        return Grade(Mode.NO_FIT, level)

    def _try_next(self, grade: Grade) -> bool:
        """Whether a better flavor is looked for, by the queue's fungibility."""
        if grade.mode is Mode.NO_CANDIDATES:
            return True
        if grade.mode is not Mode.FIT and self.queue.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR:
            return True
        return grade.borrowing > 0 and self.queue.when_can_borrow is FungibilityPolicy.TRY_NEXT_FLAVOR


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A flavor for a resource group, graded for each resource."""

    flavor: str
    grades: Mapping[FlavorResource, Grade]
    shortages: tuple[Shortage, ...]

    @property
    def grade(self) -> Grade:
        """That of the worst resource; a group of nothing but zeros has one too."""
        worst = Grade(Mode.FIT, 0)
        for grade in self.grades.values():
            if worst.better_than(grade):
                worst = grade
        return worst

    def record(self, assignment: Assignment) -> None:
        for fr, grade in self.grades.items():
            assignment.borrowing = max(assignment.borrowing, grade.borrowing)
            assignment.mode = min(assignment.mode, grade.mode)
            if grade.mode is not Mode.FIT:
                assignment.contested.add(fr)


def total_requests(pod_set: PodSet, queue: ClusterQueue) -> dict[str, int]:
    """What all pods of the set ask for together, `pods` too where the queue counts them."""
    requests = {resource: amount * pod_set.count for resource, amount in pod_set.requests.items()}
    if _group_of(queue, PODS) is not None:
        requests[PODS] = pod_set.count
    return requests


def _group_of(queue: ClusterQueue, resource: str) -> ResourceGroup | None:
    return next((group for group in queue.groups if resource in group.covered), None)


def _refuse(assignment: Assignment, refusal: Refusal) -> Assignment:
    assignment.mode = Mode.NO_FIT
    assignment.refusal = refusal
    return assignment
