"""The order in which a cycle processes its heads."""

from collections.abc import Callable, Iterable, Iterator

from muster.admission.cycle.entry import Entry
from muster.admission.cycle.tournament import Tournament
from muster.admission.model import Rules, Workload

CycleOrder = tuple[bool, bool, int, int, int, str, str]


def in_order(entries: Iterable[Entry], rules: Rules) -> Iterator[Entry]:
    """Kueue: makeIterator. Each head is to be processed before the next one is taken."""
    if rules.fair_sharing is not None:
        return iter(Tournament(entries, rules))
    order = cycle_order(rules)
    return iter(
        sorted(entries, key=lambda head: order(head.ranked, head.preempting, head.assignment.borrowing))
    )


def cycle_order(rules: Rules) -> Callable[[Workload, bool, int], CycleOrder]:
    """Returns the order of a workload, whether it is preempting, and its borrowing distance.

    A workload that holds its quota already comes first, then the shorter borrowing distance, the higher
    priority, and the longer wait. Rules may put preemptors before the distance and ignore priorities.
    """
    preemptors, priorities = rules.prioritize_preemptors, rules.priority_sorting_within_cohort

    def key(workload: Workload, preempting: bool, borrowing: int) -> CycleOrder:
        return (
            workload.admission is None,
            not (preempting and preemptors),
            borrowing,
            -workload.priority if priorities else 0,
            workload.queued_at_ms,
            workload.uid,
            workload.key,
        )

    return key
