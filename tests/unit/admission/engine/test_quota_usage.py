"""Quotas and their usage, and the order of queues, as the engine says them."""

from fractions import Fraction

import pytest

from muster.admission import Aging, ColumnUsage, Engine, Quota, Rules, Snapshot, StopPolicy
from tests.unit.admission.builders import GPU, NOW_MS, cohort, fr, queue, running, snapshot, workload

L4 = fr("l4")
SHARED = [queue("a", 4, cohort="ml"), queue("b", 4, cohort="ml"), queue("c", 0, cohort="ml")]


def columns(of: Snapshot) -> dict[str, ColumnUsage]:
    """Usage of l4's GPUs by node; a cohort has a slash after its name."""
    nodes = Engine(of).quota_usage()
    return {f"{node.name}{'/' if node.is_cohort else ''}": node.columns[L4] for node in nodes}


CASES = {
    "nothing runs": (
        snapshot(SHARED),
        {
            "ml/": ColumnUsage(0, 8, 0, 0, 0, 8),
            "a": ColumnUsage(4, 4, 0, 0, 0, 8),
            "b": ColumnUsage(4, 4, 0, 0, 0, 8),
            "c": ColumnUsage(0, 0, 0, 0, 0, 8),
        },
    ),
    "what others borrow is lent where it is missed": (
        snapshot(SHARED, running("one", "c", 5), running("two", "a", 1)),
        {
            "ml/": ColumnUsage(0, 8, 6, 0, 0, 2),
            "a": ColumnUsage(4, 4, 1, 0, 1, 2),
            "b": ColumnUsage(4, 4, 0, 0, 2, 2),
            "c": ColumnUsage(0, 0, 5, 5, 0, 2),
        },
    ),
    "what a lending limit keeps is not lent": (
        snapshot(
            [queue("a", Quota(4, lending_limit=1), cohort="ml"), queue("c", 0, cohort="ml")],
            running("one", "c", 1),
        ),
        {
            "ml/": ColumnUsage(0, 4, 1, 0, 0, 0),
            "a": ColumnUsage(4, 4, 0, 0, 1, 3),
            "c": ColumnUsage(0, 0, 1, 1, 0, 0),
        },
    ),
    "more is used than there is": (
        snapshot([queue("a", 2, cohort="ml"), queue("c", 0, cohort="ml")], running("one", "c", 3)),
        {
            "ml/": ColumnUsage(0, 2, 3, 0, 0, -1),
            "a": ColumnUsage(2, 2, 0, 0, 2, -1),
            "c": ColumnUsage(0, 0, 3, 3, 0, -1),
        },
    ),
    "cohorts in cohorts": (
        snapshot(
            [queue("a", 4, cohort="low"), queue("c", 0, cohort="other")],
            running("one", "c", 3),
            cohorts=[cohort("low", "top", {"l4": {GPU: 2}}), cohort("other", "top")],
        ),
        {
            "top/": ColumnUsage(0, 6, 3, 0, 0, 3),
            "low/": ColumnUsage(2, 6, 0, 0, 3, 3),
            "other/": ColumnUsage(0, 0, 3, 3, 0, 3),
            "a": ColumnUsage(4, 4, 0, 0, 1, 3),
            "c": ColumnUsage(0, 0, 3, 3, 0, 3),
        },
    ),
    "without a cohort": (
        snapshot(queue("a", 4), running("one", "a", 6)),
        {"a": ColumnUsage(4, 4, 6, 0, 0, -2)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_usage_of_the_tree(name: str) -> None:
    of, expected = CASES[name]
    usage_columns = columns(of)
    assert {node: usage_columns[node] for node in expected} == expected


def test_nodes_come_after_those_above_them() -> None:
    of = snapshot(queue("a", 1, cohort="low"), cohorts=[cohort("low", "top")])
    assert [(node.name, node.parent) for node in Engine(of).quota_usage()] == [
        ("top", None),
        ("low", "top"),
        ("a", "low"),
    ]


def test_usage_of_a_flavor_without_quota_has_a_column() -> None:
    nodes = Engine(snapshot(queue("a", 1), running("one", "a", 2, flavor="gone"))).quota_usage()
    assert nodes[0].columns[fr("gone")] == ColumnUsage(0, 0, 2, 0, 0, -2)


def test_a_borrower_has_a_share_of_what_can_be_lent() -> None:
    nodes = Engine(snapshot(SHARED, running("one", "c", 2))).quota_usage()
    assert {node.name: node.share.value for node in nodes if not node.is_cohort} == {
        "a": 0,
        "b": 0,
        "c": Fraction(1000 * 2, 8),
    }


ORDERS = {
    "by priority, then by age": (
        [
            workload("old", "q", 1),
            workload("new", "q", 1, queued_at_ms=5),
            workload("high", "q", 1, priority=1),
        ],
        Rules(),
        ["high", "old", "new"],
    ),
    "parked ones as the others": (
        [workload("new", "q", 1, queued_at_ms=5), workload("old", "q", 9, parked=True)],
        Rules(),
        ["old", "new"],
    ),
    "a workload that waits for its victims is first": (
        [workload("high", "q", 1, priority=1), workload("preemptor", "q", 1, preempting=True)],
        Rules(),
        ["preemptor", "high"],
    ),
    "with what aging adds": (
        [workload("high", "q", 1, priority=1, queued_at_ms=NOW_MS), workload("old", "q", 1)],
        Rules(aging=Aging(step=1, period_ms=NOW_MS // 4, boost_max=9)),
        ["old", "high"],
    ),
    "without backoffs that have not ended": (
        [
            workload("later", "q", 1, requeue_at_ms=NOW_MS + 1),
            workload("again", "q", 1, requeue_at_ms=NOW_MS),
        ],
        Rules(),
        ["again"],
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_queue_order(name: str) -> None:
    workloads, rules, expected = ORDERS[name]
    queue_order_now = Engine(snapshot(queue("q", 4), *workloads), rules).queue_order("q", NOW_MS)
    assert queue_order_now == [f"ns/{queue_name}" for queue_name in expected]


@pytest.mark.parametrize(
    "of", [snapshot(queue("q", 4, stop=StopPolicy.HOLD), workload("a", "q", 1)), snapshot([])]
)
def test_a_queue_that_takes_no_part_has_no_order(of: Snapshot) -> None:
    assert Engine(of).queue_order("q", NOW_MS) == []
