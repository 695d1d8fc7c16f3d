from dataclasses import replace

import pytest

from muster.admission import ClusterQueue, Flavor, FungibilityPolicy, PodSet, Quota
from muster.admission.flavors.assigner import Assignment, FlavorAssigner, Grade, Mode, Simulate
from tests.unit.admission.builders import GPU, fr, node, pods, queue, snapshot, taint, workload

TRY, STOP = FungibilityPolicy.TRY_NEXT_FLAVOR, FungibilityPolicy.MAY_STOP_SEARCH
TWO = {"spot": {GPU: 4}, "dear": {GPU: 4}}
MIXED = {"l4": {"cpu": 8000, GPU: 4}, "t4": {"cpu": 4000, GPU: 8}}
FLAVORS = {name: Flavor(name) for name in ("l4", "t4", "dear")} | {
    "spot": Flavor("spot", {"pool": "spot"}),
    "fenced": Flavor("fenced", taints=(taint("fence"),)),
}


def assign(
    of: ClusterQueue,
    *pod_sets: PodSet | int,
    used: dict[str, int] | None = None,
    simulate: Simulate | None = None,
) -> Assignment:
    """In a cohort with 4 dear GPUs to lend, with so many GPUs of flavors used."""
    lender = queue("lender", {"dear": {GPU: 4}}, cohort="ml")
    found = node(snapshot([replace(of, cohort="ml"), lender]), of.name)
    found.add({fr(flavor): amount for flavor, amount in (used or {}).items()})
    return FlavorAssigner(of, found, FLAVORS, simulate).assign(workload("w", of.name, *pod_sets))


def preempts(**modes: Mode) -> Simulate:
    """What preemption reaches on each flavor, without borrowing."""
    return lambda wanted, _: Grade(modes[wanted.flavor], 0)


CHOSEN = {  # assignment, flavor of the GPUs of each pod set
    "the first that fits": (assign(queue("q", TWO), 3), ["spot"]),
    "the next where the first is full": (assign(queue("q", TWO), 3, used={"spot": 2}), ["dear"]),
    "labels": (assign(queue("q", TWO), pods(gpu=1, node_selector={"pool": "cpu"})), ["dear"]),
    "taints": (assign(queue("q", {"fenced": {GPU: 4}, "dear": {GPU: 4}}), 1), ["dear"]),
    "all resources of a group together": (
        assign(queue("q", MIXED), pods(gpu=2, requests={"cpu": 2000}), pods("more", gpu=3)),
        ["l4", "t4"],
    ),
    "pod sets count against each other": (
        assign(queue("q", TWO), pods(gpu=3), pods("b", gpu=3)),
        ["spot", "dear"],
    ),
    "a gang counts whole": (assign(queue("q", TWO), pods(count=2, gpu=2)), ["spot"]),
    "borrows rather than looks on": (
        assign(queue("q", {"dear": {GPU: 1}, "spot": {GPU: 4}}), 3),
        ["dear"],
    ),
    "looks on rather than borrows": (
        assign(queue("q", {"dear": {GPU: 1}, "spot": {GPU: 4}}, when_can_borrow=TRY), 3),
        ["spot"],
    ),
    "borrows where nothing better follows": (
        assign(queue("q", {"dear": {GPU: 1}, "spot": {GPU: 2}}, when_can_borrow=TRY), 3),
        ["dear"],
    ),
    "looks on rather than preempts": (
        assign(queue("q", TWO), 3, used={"spot": 4}, simulate=preempts(spot=Mode.PREEMPT)),
        ["dear"],
    ),
    "preempts rather than looks on": (
        assign(
            queue("q", TWO, when_can_preempt=STOP), 3, used={"spot": 4}, simulate=preempts(spot=Mode.PREEMPT)
        ),
        ["spot"],
    ),
    "reclaims rather than preempts": (
        assign(
            queue("q", TWO),
            3,
            used={"spot": 4, "dear": 8},
            simulate=preempts(spot=Mode.PREEMPT, dear=Mode.RECLAIM),
        ),
        ["dear"],
    ),
    "looks on where nobody can be preempted": (
        assign(
            queue("q", TWO, when_can_preempt=STOP),
            3,
            used={"spot": 4, "dear": 8},
            simulate=preempts(spot=Mode.NO_CANDIDATES, dear=Mode.PREEMPT),
        ),
        ["dear"],
    ),
}


@pytest.mark.parametrize(("assignment", "flavors"), CHOSEN.values(), ids=CHOSEN.keys())
def test_the_flavor_chosen(assignment: Assignment, flavors: list[str]) -> None:
    assert [chosen[GPU] for chosen in assignment.flavors] == flavors


def test_the_mode_is_that_of_the_worst_pod_set() -> None:
    modes = preempts(spot=Mode.NO_CANDIDATES, dear=Mode.RECLAIM)
    found = assign(
        queue("q", TWO), pods(gpu=1), pods("b", gpu=3), used={"spot": 3, "dear": 8}, simulate=modes
    )
    assert [chosen[GPU] for chosen in found.flavors] == ["spot", "dear"]
    assert (found.mode, found.contested) == (Mode.RECLAIM, {fr("dear")})


def test_usage_is_summed_over_the_pod_sets() -> None:
    found = assign(queue("q", TWO), pods(count=2, gpu=1), pods("b", gpu=2))
    assert found.usage == {fr("spot"): 4}
    assert (found.mode, found.borrowing) == (Mode.FIT, 0)


def test_borrowing_is_counted() -> None:
    assert assign(queue("q", {"dear": {GPU: 1}}), 3).borrowing == 1


def test_pods_are_counted_where_the_queue_covers_them() -> None:
    found = assign(queue("q", {"l4": {GPU: 9, "pods": 5}}), pods(count=4, gpu=1))
    assert found.usage[fr("l4", "pods")] == 4
    assert assign(queue("q", {"l4": {GPU: 9, "pods": 3}}), pods(count=4, gpu=1)).mode is Mode.NO_FIT


def test_zeros_are_harmless() -> None:
    full = assign(queue("q", TWO), pods(gpu=0, requests={"tpu": 0}), used={"spot": 9})
    assert (full.mode, full.flavors) == (Mode.FIT, [{GPU: "spot"}])
    assert assign(queue("q", TWO), pods(requests={"tpu": 0})).flavors == [{}]


def test_a_resource_that_no_group_covers() -> None:
    refusal = assign(queue("q", TWO), pods(gpu=1), pods("b", requests={"tpu": 1})).refusal
    assert refusal is not None
    assert (refusal.pod_set, refusal.resource, refusal.covered) == ("b", "tpu", False)


def test_a_refusal_says_what_speaks_against_each_flavor() -> None:
    of = queue("q", {"fenced": {GPU: 9}, "spot": {GPU: 4}, "dear": {GPU: Quota(1, borrowing_limit=1)}})
    found = assign(of, pods("a", gpu=1), pods("b", gpu=4))
    assert found.refusal is not None
    assert [flavor for flavor, _ in found.refusal.mismatches] == ["fenced"]
    short = [(one.wanted.flavor, one.needed) for shortages in found.refusal.shortages for one in shortages]
    assert short == [("spot", 5), ("dear", 4)]
    assert found.mode is Mode.NO_FIT


def test_preemption_is_not_simulated_where_it_could_not_help() -> None:
    """More than nominal and from the root of the tree only: nothing may be preempted for it."""

    def fail(*_: object) -> Grade:
        raise AssertionError

    assert assign(queue("q", {"dear": {GPU: 1}}), 3, used={"dear": 4}, simulate=fail).mode is Mode.NO_FIT


def test_an_empty_cluster_ignores_usage() -> None:
    of = queue("q", TWO)
    found = node(snapshot(of))
    found.add({fr("spot"): 4, fr("dear"): 4})
    gang = workload("w", "q", 4)
    assert FlavorAssigner(of, found, FLAVORS).assign(gang).mode is Mode.NO_FIT
    assert FlavorAssigner(of, found, FLAVORS, empty=True).assign(gang).flavors == [{GPU: "spot"}]


PREFERRED = {  # better, worse
    "fit over reclaim": (Grade(Mode.FIT, 2), Grade(Mode.RECLAIM, 0)),
    "reclaim over preempt": (Grade(Mode.RECLAIM, 2), Grade(Mode.PREEMPT, 0)),
    "preempt over no candidates": (Grade(Mode.PREEMPT, 2), Grade(Mode.NO_CANDIDATES, 0)),
    "no candidates over no fit": (Grade(Mode.NO_CANDIDATES, 2), Grade(Mode.NO_FIT, 0)),
    "nearer quota": (Grade(Mode.FIT, 0), Grade(Mode.FIT, 1)),
}


@pytest.mark.parametrize(("better", "worse"), PREFERRED.values(), ids=PREFERRED.keys())
def test_grades(better: Grade, worse: Grade) -> None:
    assert better.better_than(worse)
    assert not worse.better_than(better)
    assert not Grade(Mode.NO_FIT, 0).better_than(Grade(Mode.NO_FIT, 1))
