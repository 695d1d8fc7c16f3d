"""Reuses the last assignment of an equivalence group, so that the next workload needs no flavor search."""

from muster.admission.flavors.assignment import Assignment, PodSetChoice
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode


class AssignmentCache:
    """The last assignment of an equivalence group.

    It is stored if the search skipped only flavors that the pods can never use. The next workload gets the
    same assignment as long as all of it fits at the same borrowing level.
    """

    __slots__ = ("_needs", "assignment")

    def __init__(self) -> None:
        self.assignment: Assignment | None = None
        self._needs: list[tuple[FlavorResource, int, int]] = []

    def lookup(self, node: QuotaNode) -> Assignment | None:
        """Returns the stored assignment if it fits now; None if it does not, or if none is stored."""
        for fr, amount, level in self._needs:
            if amount > max(0, node.available(fr)) or node.borrowing_level(fr, amount)[0] != level:
                return None
        return self.assignment

    def store(self, assignment: Assignment) -> None:
        """Stores an assignment of all pods, found by a search that started with the first flavor, without
        placement on a topology. The caller must not change it afterwards."""
        choices = assignment.pod_sets
        if assignment.mode is not Mode.FIT or not all(map(_is_first_choice, choices)):
            return
        if assignment.borrowing and len(choices) > 1:
            return  # a single pod set may borrow at a lower level than the whole workload
        levels = {
            FlavorResource(flavor, resource): choice.grades[resource].borrowing
            for choice in choices
            for resource, flavor in choice.flavors.items()
        }
        self.assignment = assignment
        self._needs = [(fr, amount, levels[fr]) for fr, amount in assignment.usage.items()]


def _is_first_choice(choice: PodSetChoice) -> bool:
    return all(attempt.mismatch for search in choice.searches for attempt in search.attempts[:-1])
