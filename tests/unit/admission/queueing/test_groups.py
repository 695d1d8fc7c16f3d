"""Groups of equivalent workloads, and groups that lost all of their workloads."""

from collections.abc import Callable

import pytest

from muster.admission.queueing.groups import (
    EquivalenceGroup,
    PendingGroups,
    equivalence_class,
    queue_order,
)
from tests.unit.admission.builders import workload


def pending(*names: str) -> PendingGroups:
    """Equivalent workloads of one queue."""
    groups = PendingGroups()
    for name in names:
        first = workload(name, "q", 1)
        equivalence = equivalence_class(first, by_local_queue=False, by_run_time=False, by_namespace=False)
        groups.put(equivalence, queue_order(first), first)
    return groups


def removed(groups: PendingGroups) -> None:
    for key in list(groups.by_key):
        groups.remove(key)


def merged(groups: PendingGroups) -> None:
    (group,) = groups.groups.values()
    groups.move(group, pending("other"))


@pytest.mark.parametrize("lose_all", [removed, merged])
def test_a_group_without_workloads_keeps_nothing_of_them(lose_all: Callable[[PendingGroups], None]) -> None:
    """Even if something refers to the group for longer, as a queue does until it opens again."""
    groups = pending("first", "second")
    (group,) = groups.groups.values()
    assert isinstance(group, EquivalenceGroup)
    lose_all(groups)
    assert not group
    assert group._heap == []
    assert not groups.groups
