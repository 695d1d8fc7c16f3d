"""The assignment of the last of many equivalent workloads, so that the next one needs no search."""

from muster.admission.flavors.assignment import Assignment, PodSetChoice
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode


class AssignmentCache:
    """The last assignment of an equivalence group.

    An assignment is stored if no flavor was skipped but those that such pods can never take. The next
    workload gets the same, as long as all of it fits and is borrowed from as far away as before.
    """

    __slots__ = ("_needs", "assignment")

    def __init__(self) -> None:
        self.assignment: Assignment | None = None
        self._needs: list[tuple[FlavorResource, int, int]] = []

    def lookup(self, node: QuotaNode) -> Assignment | None:
        """Returns the stored assignment if it fits now; None if not, or if there is none."""
        for fr, amount, level in self._needs:
            if amount > max(0, node.available(fr)) or node.borrowing_level(fr, amount)[0] != level:
                return None
        return self.assignment

    def store(self, assignment: Assignment) -> None:
        """Stores the assignment of a whole workload whose search for flavors began with the first one and
        that is not placed on a topology. The assignment must not be changed any more."""
        choices = assignment.pod_sets
        if assignment.mode is not Mode.FIT or not all(map(_is_first_choice, choices)):
            return
        if assignment.borrowing and len(choices) > 1:
            return  # a part of it may borrow from less far away than the whole
        levels = {
            FlavorResource(flavor, resource): choice.grades[resource].borrowing
            for choice in choices
            for resource, flavor in choice.flavors.items()
        }
        self.assignment = assignment
        self._needs = [(fr, amount, levels[fr]) for fr, amount in assignment.usage.items()]


def _is_first_choice(choice: PodSetChoice) -> bool:
    return all(attempt.mismatch for search in choice.searches for attempt in search.attempts[:-1])
