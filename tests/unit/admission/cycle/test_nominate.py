"""Nominations: fewer pods, flavors from where the last search ended, assignments of equivalent workloads."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from muster.admission import (
    Flavor,
    FungibilityPolicy,
    PodSet,
    PreemptionPolicy,
    Rules,
    Snapshot,
    TopologyRequest,
    Workload,
)
from muster.admission.cycle.assignment_cache import AssignmentCache
from muster.admission.cycle.entry import Entry, FlavorScan
from muster.admission.cycle.nominate import nominate
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.flavors.fungibility import Mode
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, host, pods, queue, running, snapshot, workload
from tests.unit.admission.cycle.scenes import RULES, heads, targets

LOWER = PreemptionPolicy.LOWER_PRIORITY
ALL_OR_NOTHING = Rules(partial_admission=False)


def nominated(of: Snapshot, rules: Rules = RULES, **fields: Any) -> Entry:
    """The last workload of the snapshot, in its third cycle."""
    state = WorkingState(of, rules)
    (head,) = heads(state, of.workloads[-1:])
    for name, value in fields.items():
        setattr(head, name, value)
    assert nominate(state, head, 3)
    return head


def counts(head: Entry) -> list[int]:
    return [choice.count for choice in head.assignment.pod_sets]


def elastic(count: int, count_min: int, name: str = "workers") -> PodSet:
    return pods(name, count, gpu=1, count_min=count_min)


PARTIAL: dict[str, tuple[Snapshot, Rules, Mode, list[int], list[str]]] = {
    # snapshot, rules; mode, pods, targets
    "all pods, if they fit": (
        snapshot(queue("q", 4), workload("w", "q", elastic(4, 1))),
        RULES,
        Mode.FIT,
        [4],
        [],
    ),
    "all pods, if others can leave for them": (
        snapshot(
            queue("q", 4, within_queue=LOWER),
            running("r", gpu=3),
            workload("w", "q", elastic(4, 1), priority=1),
        ),
        RULES,
        Mode.PREEMPT,
        [4],
        ["r"],
    ),
    "as many as fit": (
        snapshot(queue("q", 4), running("r", gpu=1), workload("w", "q", elastic(4, 1))),
        RULES,
        Mode.FIT,
        [3],
        [],
    ),
    "as many as fit once others have left": (
        snapshot(
            queue("q", 4, within_queue=LOWER),
            running("low", gpu=2),
            running("high", gpu=1, priority=9),
            workload("w", "q", elastic(6, 3), priority=1),
        ),
        RULES,
        Mode.PREEMPT,
        [3],
        ["low"],
    ),
    "all pod sets in proportion": (
        snapshot(queue("q", 6), workload("w", "q", elastic(4, 2), elastic(8, 2, "more"))),
        RULES,
        Mode.FIT,
        [3, 3],
        [],
    ),
    "none, if the fewest do not fit": (
        snapshot(queue("q", 4), workload("w", "q", elastic(6, 5))),
        RULES,
        Mode.NO_FIT,
        [6],
        [],
    ),
    "none, if pods need not be avoided": (
        snapshot(queue("q", 4), workload("w", "q", pods(count=6, gpu=1))),
        RULES,
        Mode.NO_FIT,
        [6],
        [],
    ),
    "none, by the rules": (
        snapshot(queue("q", 4), workload("w", "q", elastic(6, 1))),
        ALL_OR_NOTHING,
        Mode.NO_FIT,
        [6],
        [],
    ),
}


@pytest.mark.parametrize(("of", "rules", "mode", "pods_", "leave"), PARTIAL.values(), ids=PARTIAL.keys())
def test_partial_admission(
    of: Snapshot, rules: Rules, mode: Mode, pods_: list[int], leave: list[str]
) -> None:
    head = nominated(of, rules)
    assert (head.assignment.mode, counts(head), targets(head)) == (mode, pods_, leave)


def test_no_victims_where_the_head_would_not_be_admitted_then() -> None:
    """Without victim the first pod set would move to plain, and leave no place for the second."""
    of = snapshot(
        queue("q", {"plain": {GPU: 4}, "spot": {GPU: 2}}, within_queue=LOWER),
        running("victim", gpu=3, flavor="plain"),
        workload("w", "q", pods("a", gpu=2), pods("b", gpu=4), priority=1),
    )
    head = nominated(of)
    assert (head.assignment.mode, targets(head)) == (Mode.PREEMPT, [])


TWO_FLAVORS = snapshot(queue("q", {"l4": {GPU: 4}, "t4": {GPU: 4}}), workload("w", "q", 1))
AFTER_L4 = ScanProgress(({GPU: 0},))

SCANS = {  # the scan and the rules; the flavor
    "none yet": (None, RULES, "l4"),
    "of the cycle before": (FlavorScan(AFTER_L4, 2, -1), RULES, "t4"),
    "of this very cycle": (FlavorScan(AFTER_L4, 3, -1), RULES, "t4"),
    "older, and a workload has left the queue": (FlavorScan(AFTER_L4, 1, -1), RULES, "l4"),
    "older, and none has left": (FlavorScan(AFTER_L4, 1, 0), RULES, "t4"),
    "recent, but rules that only count departures": (
        FlavorScan(AFTER_L4, 2, -1),
        Rules(keep_flavor_scan=False),
        "l4",
    ),
}


@pytest.mark.parametrize(("scan", "rules", "flavor"), SCANS.values(), ids=SCANS.keys())
def test_the_search_for_flavors_goes_on(scan: FlavorScan | None, rules: Rules, flavor: str) -> None:
    head = nominated(TWO_FLAVORS, rules, scan=scan)
    assert head.assignment.pod_sets[0].flavors == {GPU: flavor}


def test_one_more_like_the_last_gets_the_same() -> None:
    """Until the flavor is full: then flavors are searched again."""
    of = snapshot(queue("q", {"l4": {GPU: 2}, "t4": {GPU: 4}}))
    state, assignment_cache = WorkingState(of), AssignmentCache()
    cached_assignments = []
    for name in "abc":
        (head,) = heads(state, [workload(name, "q", 1)])
        head.assignment_cache = assignment_cache
        nominate(state, head, 1)
        head.node.add(head.usage)
        cached_assignments.append(head.assignment)
    assert cached_assignments[0] is cached_assignments[1]
    assert cached_assignments[2].pod_sets[0].flavors == {GPU: "t4"}


ML: dict[str, Any] = {"cohort": "ml"}
FORGOTTEN = {  # not cached, or not for long: the snapshot and the workload
    "a workload that may shrink": (snapshot(queue("q", 9)), workload("w", "q", elastic(2, 1))),
    "a workload that may shrink in part": (
        snapshot(queue("q", 9)),
        workload("w", "q", elastic(2, 1), pods("head", gpu=1)),
    ),
    "a workload that does not fit": (snapshot(queue("q", 1)), workload("w", "q", 2)),
    "a workload that passed a fuller flavor over": (
        snapshot(queue("q", {"l4": {GPU: 0}, "t4": {GPU: 9}})),
        workload("w", "q", 2),
    ),
    "one of several pod sets that borrows": (
        snapshot([queue("q", 3, **ML), queue("p", 9, **ML)]),
        workload("w", "q", pods("a", gpu=2), pods("b", gpu=2)),
    ),
    "a workload that the next would need to borrow for": (
        snapshot([queue("q", 3, **ML), queue("p", 9, **ML)]),
        workload("w", "q", 2),
    ),
    "a workload that continues its search": (TWO_FLAVORS, workload("w", "q", 1)),
    "a workload that grows": (snapshot(queue("q", 9)), workload("w", "q", 1, replaces="ns/old")),
}


@pytest.mark.parametrize(("of", "workload"), FORGOTTEN.values(), ids=FORGOTTEN.keys())
def test_assignment_is_not_cached(of: Snapshot, workload: Workload) -> None:
    state, assignment_cache = WorkingState(of), AssignmentCache()
    cached_assignments = []
    for key in ("ns/1", "ns/2"):
        (head,) = heads(state, [replace(workload, key=key)])
        head.assignment_cache = assignment_cache
        if workload is FORGOTTEN["a workload that continues its search"][1]:
            head.scan = FlavorScan(AFTER_L4, 1, 0)
        nominate(state, head, 1)
        head.node.add(head.usage)
        cached_assignments.append(head.assignment)
    assert cached_assignments[0] is not cached_assignments[1]


def test_one_that_is_placed_on_a_topology_is_not_remembered() -> None:
    near = pods(gpu=1, topology=TopologyRequest(required="rack"))
    of = snapshot(queue("q", 9), flavors=[Flavor("l4", topology="racks")], hosts=[host("x")])
    state, assignment_cache = WorkingState(of), AssignmentCache()
    (head,) = heads(state, [workload("w", "q", near)])
    head.assignment_cache = assignment_cache
    nominate(state, head, 1)
    assert head.assignment.mode is Mode.FIT
    assert assignment_cache.lookup(head.node) is None


def test_flavors_that_such_pods_can_never_take_do_not_count() -> None:
    """The attempts are the same for all of them."""
    of = snapshot(
        queue("q", {"l4": {GPU: 9}, "t4": {GPU: 9}}, when_can_borrow=FungibilityPolicy.TRY_NEXT_FLAVOR)
    )
    flavors = {**of.flavors, "l4": replace(of.flavors["l4"], node_labels={"kind": "l4"})}
    state, assignment_cache = WorkingState(replace(of, flavors=flavors)), AssignmentCache()
    picky = pods(gpu=1, node_selector={"kind": "t4"})
    (head,) = heads(state, [workload("w", "q", picky)])
    head.assignment_cache = assignment_cache
    nominate(state, head, 1)
    assert assignment_cache.lookup(head.node) is head.assignment


@pytest.mark.parametrize("seed", range(40))
def test_cached_assignment_is_what_a_search_would_find(seed: int) -> None:
    """Random queues of a cohort, in turn, each with workloads of one shape."""
    draw = Random(seed)
    policies = list(FungibilityPolicy)
    queues = [
        queue(
            name,
            {flavor: {GPU: draw.randint(0, 6), "cpu": draw.randint(2, 9)} for flavor in ("l4", "t4")},
            when_can_borrow=draw.choice(policies),
            **ML,
        )
        for name in "ab"
    ]
    state = WorkingState(snapshot(queues))
    sets = [pods(f"p{n}", gpu=draw.randint(0, 2), requests={"cpu": 1}) for n in range(draw.randint(1, 2))]
    assignment_caches = {name: AssignmentCache() for name in "ab"}
    for turn in range(8):
        first = workload(f"w{turn}", draw.choice("ab"), *sets)
        (head,), (again,) = heads(state, [first]), heads(state, [first])
        head.assignment_cache = assignment_caches[first.cluster_queue]
        nominate(state, head, turn)
        nominate(state, again, turn)
        assert head.assignment == again.assignment
        if head.assignment.mode is Mode.FIT:
            head.node.add(head.usage)
