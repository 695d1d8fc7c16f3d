from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import ClusterQueue, Cohort, Quota, Snapshot
from muster.admission.quota.tree import QuotaNode, cohort_parents, cyclic_cohorts
from tests.unit.admission.builders import GPU, cohort, fr, node, queue, snapshot
from tests.unit.admission.strategies import PROPERTY, cluster_queues, cohorts

L4 = fr("l4")


def two(mine: Quota, theirs: Quota, used: int = 0, used_by_other: int = 0) -> QuotaNode:
    """Queue q in a cohort with another one."""
    of = snapshot([queue("q", mine, cohort="ml"), queue("other", theirs, cohort="ml")])
    tree_node = node(of)
    tree_node.add({L4: used})
    assert tree_node.parent is not None
    other = next(child for child in tree_node.parent.queues if child.name == "other")
    other.add({L4: used_by_other})
    return tree_node


def tower(*cohorts_up: Cohort, of: Quota) -> QuotaNode:
    return node(snapshot(queue("q", of, cohort=cohorts_up[0].name), cohorts=cohorts_up))


AVAILABLE = {  # node, available, potentially available
    "alone": (node(snapshot(queue("q", 8))), 8, 8),
    "alone, a lending limit lends nothing": (node(snapshot(queue("q", Quota(8, lending_limit=2)))), 8, 8),
    "nor does that of the highest cohort": (
        tower(cohort("ml", None, {"l4": {GPU: Quota(3, lending_limit=1)}}), of=Quota(4)),
        7,
        7,
    ),
    "borrows what the other leaves": (two(Quota(4), Quota(6), 1, 2), 7, 10),
    "the borrowing limit holds": (two(Quota(4, borrowing_limit=1), Quota(6), 1, 2), 4, 5),
    "no borrowing": (two(Quota(4, borrowing_limit=0), Quota(6), 1), 3, 4),
    "the other's lending limit holds": (two(Quota(4), Quota(6, lending_limit=2), 1), 5, 6),
    "nothing is lent": (two(Quota(4), Quota(6, lending_limit=0), 1), 3, 4),
    "own local quota stays": (two(Quota(4, lending_limit=1), Quota(6), 0, 7), 3, 10),
    "the other borrowed from here": (two(Quota(4), Quota(6), 0, 8), 2, 10),
    "more used than there is": (two(Quota(4), Quota(6), 6, 6), -2, 10),
    "a cohort's own quota": (tower(cohort("ml", None, {"l4": {GPU: 3}}), of=Quota(4)), 7, 7),
    "a cohort's borrowing limit": (
        tower(
            cohort("ml", "org", {"l4": {GPU: Quota(0, borrowing_limit=2)}}),
            cohort("org", None, {"l4": {GPU: 9}}),
            of=Quota(4),
        ),
        6,
        6,
    ),
    "a cohort that is only named": (tower(Cohort("ml", "org"), of=Quota(4)), 4, 4),
}


@pytest.mark.parametrize(("tree_node", "available", "potentially"), AVAILABLE.values(), ids=AVAILABLE.keys())
def test_quota_is_available_within_limits(tree_node: QuotaNode, available: int, potentially: int) -> None:
    assert tree_node.available(L4) == available
    assert tree_node.potentially_available(L4) == potentially


def test_a_resource_without_quota() -> None:
    tree_node = node(snapshot(queue("q", 8, cohort="ml")))
    assert tree_node.available(fr("t4")) == 0
    assert tree_node.quota(fr("t4")) == Quota(0)


def test_usage_bubbles_up_only_beyond_the_local_quota() -> None:
    tree = two(Quota(4, lending_limit=1), Quota(6))
    assert tree.parent is not None
    counts = []
    for usage in (2, 2, 3):
        tree.add({L4: usage})
        counts.append((tree.usage[L4], tree.parent.usage.get(L4, 0)))
    for usage in (3, 2, 2):
        tree.remove({L4: usage})
        counts.append((tree.usage[L4], tree.parent.usage[L4]))
    assert counts == [(2, 0), (4, 1), (7, 4), (4, 1), (2, 0), (0, 0)]


def test_a_slice_that_needs_less_than_the_one_before_leaves_no_trace_once_it_is_removed() -> None:
    """A cycle takes the difference to the other slice, and releases it."""
    tree = two(Quota(2), Quota(6), used=4)
    assert tree.parent is not None
    before = tree.usage[L4], tree.parent.usage[L4]
    tree.add({L4: -1})
    tree.remove({L4: -1})
    assert (tree.usage[L4], tree.parent.usage[L4]) == before


def test_a_tree_may_be_deeper_than_the_stack() -> None:
    depth = 2000
    chain = [cohort(f"c{index}", f"c{index + 1}") for index in range(depth)]
    tree = tower(*chain, cohort(f"c{depth}", None, {"l4": {GPU: 5}}), of=Quota(1))
    tree.add({L4: 2})
    assert (tree.available(L4), tree.potentially_available(L4), tree.root.height) == (4, 6, depth + 1)
    tree.remove({L4: 2})
    assert tree.root.usage[L4] == 0


LEVELS = {  # amount, height of the lowest subtree that holds it, below the root
    "the queue itself": (2, (0, True)),
    "its cohort": (5, (1, True)),
    "the whole tree": (9, (3, False)),
    "not even that": (99, (3, False)),
}


@pytest.mark.parametrize(("amount", "level"), LEVELS.values(), ids=LEVELS.keys())
def test_borrowing_level(amount: int, level: tuple[int, bool]) -> None:
    of = snapshot(
        [queue("q", 2, cohort="ml"), queue("mate", 3, cohort="ml"), queue("far", 4, cohort="deep")],
        cohorts=[cohort("ml", "org"), cohort("deep", "side"), cohort("side", "org"), cohort("org")],
    )
    assert node(of).borrowing_level(L4, amount) == level


def test_borrowing_level_without_a_cohort() -> None:
    assert node(snapshot(queue("q", 2))).borrowing_level(L4, 3) == (0, False)


CYCLES = {
    "none": ({"a": "b", "b": None}, set()),
    "itself": ({"a": "a", "b": None}, {"a"}),
    "two": ({"a": "b", "b": "a"}, {"a", "b"}),
    "leads into one": ({"a": "b", "b": "c", "c": "b", "d": "a", "e": None}, {"a", "b", "c", "d"}),
}


@pytest.mark.parametrize(("parents", "cyclic"), CYCLES.values(), ids=CYCLES.keys())
def test_cyclic_cohorts(parents: dict[str, str | None], cyclic: set[str]) -> None:
    assert cyclic_cohorts(parents) == cyclic


def test_cohorts_that_are_only_named_have_no_parent() -> None:
    of = snapshot(queue("q", 1, cohort="ml"), cohorts=[cohort("org", "company")])
    assert cohort_parents(of) == {"company": None, "ml": None, "org": "company"}


@PROPERTY
@given(
    cluster_queues(),
    cohorts(),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_removing_in_any_order_leaves_no_trace(
    queues: dict[str, ClusterQueue],
    forest: dict[str, Cohort],
    amounts: list[tuple[int, int]],
    random: Random,
) -> None:
    """A node's counts depend on what is used, not on the order in which it came and went."""
    of = Snapshot({}, forest, queues, ())
    nodes = [node(of, name) for name in queues]
    usages = [(nodes[index % len(nodes)], {fr("plain"): amount}) for index, amount in amounts]
    for removed_usage, usage in usages:
        removed_usage.add(usage)
    random.shuffle(usages)
    for removed_usage, usage in usages:
        removed_usage.remove(usage)
    assert all(
        above.usage.get(fr("plain"), 0) == 0 for removed_usage in nodes for above in removed_usage.lineage
    )
