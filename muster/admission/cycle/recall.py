"""What the last one of many workloads that are alike got, so that the next need not look for it anew."""

from muster.admission.flavors.assignment import Assignment, PodSetChoice
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode


class Recall:
    """Of one shape (queueing/shape.py) in one queue of a state.

    An assignment is remembered if no flavor was passed over but those that such pods can never take.
    Then it is what the next one gets, as long as all of it fits from as far away as before.
    """

    __slots__ = ("_needs", "assignment")

    def __init__(self) -> None:
        self.assignment: Assignment | None = None
        self._needs: list[tuple[FlavorResource, int, int]] = []

    def again(self, node: QuotaNode) -> Assignment | None:
        for fr, amount, level in self._needs:
            if amount > max(0, node.available(fr)) or node.borrowing_level(fr, amount)[0] != level:
                return None
        return self.assignment

    def learn(self, assignment: Assignment) -> None:
        """Of a whole workload whose search for flavors began with the first one, and is not placed on
        a topology. Nobody may change the assignment any more."""
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
