"""Warnings about priorities: values that order no jobs, or order them below those without a class."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Doubt
from settings.rules.registry import doubt


@doubt("admission", "queues")
def priorities_may_be_equal(settings: Settings) -> Iterator[Doubt]:
    """Two names for one value do not order jobs (Kueue: WorkloadPriorityClass)."""
    priorities = settings.admission.priorities
    by_value: dict[int, str] = {}
    for name, value in priorities.items():
        other = by_value.setdefault(value, name)
        if other != name and len({*priorities.values()}) > 1:
            yield Doubt(
                ("muster:admission", "priorities", name),
                f"{other} has the same value: it orders no jobs of the two, and none preempts another",
                "Kueue: WorkloadPriorityClass",
            )


@doubt("admission")
def priorities_may_be_below_none(settings: Settings) -> Iterator[Doubt]:
    """Jobs without a class have priority 0: if all classes have less, such jobs come first, and preempt
    (Kueue: WorkloadPriorityClass)."""
    priorities = settings.admission.priorities
    if priorities and max(priorities.values()) < 0:
        yield Doubt(
            ("muster:admission", "priorities"),
            "jobs without a priority class have priority 0, which is more than that of each class: they come "
            "first and may preempt all others",
            "Kueue: WorkloadPriorityClass",
        )
