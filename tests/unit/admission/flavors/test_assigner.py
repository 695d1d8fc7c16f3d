"""Tests which flavors a workload gets. Why it does not get others: test_attempts.py."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from muster.admission import (
    Admission,
    BorrowWithinCohort,
    ClusterQueue,
    FairSharing,
    Flavor,
    FungibilityPolicy,
    FungibilityPreference,
    PodSet,
    PodSetAssignment,
    PreemptionPolicy,
    Quota,
    Rules,
    TopologyRequest,
)
from muster.admission.flavors.assigner import FlavorAssigner, Simulate
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, fr, pods, queue, snapshot, taint, workload

TRY, STOP = FungibilityPolicy.TRY_NEXT_FLAVOR, FungibilityPolicy.MAY_STOP_SEARCH
TWO = {"spot": {GPU: 4}, "dear": {GPU: 4}}
MIXED = {"l4": {"cpu": 8000, GPU: 4}, "t4": {"cpu": 4000, GPU: 8}}
SPOT = Flavor("spot", {"pool": "spot"})
FENCED = Flavor("fenced", taints=(taint("fence"),))
TOGETHER = TopologyRequest(group="gang")


def assign(
    of: ClusterQueue,
    *pod_sets: PodSet | int,
    used: Mapping[str, int] | None = None,
    cpu: int = 0,
    rules: Rules = Rules(),  # noqa: B008 - a frozen value
    counts: tuple[int, ...] = (),
    fields: Mapping[str, Any] | None = None,
    **options: Any,
) -> Assignment:
    """A cohort with 4 dear GPUs to lend, with these numbers of GPUs of flavors and dear CPUs in use."""
    lender = queue("lender", {"dear": {GPU: 4}}, cohort="ml")
    objects = snapshot([replace(of, cohort="ml"), lender], flavors=[SPOT, FENCED])
    state = WorkingState(objects, rules)
    node = state.tree.queues[of.name]
    node.add({fr(flavor): amount for flavor, amount in (used or {}).items()})
    node.add({fr("dear", "cpu"): cpu})
    gang = workload("w", of.name, *pod_sets, **fields or {})
    return FlavorAssigner(state.flavors[of.name], node, gang, **options).assign(counts)


def preempts(**modes: Mode) -> Simulate:
    """The grade that preemption reaches on each flavor, without borrowing."""
    return lambda expected, _: Grade(modes[expected.flavor], 0)


def gpus(assignment: Assignment) -> list[str]:
    """The flavor of the GPUs of each pod set."""
    return [choice.flavors[GPU] for choice in assignment.pod_sets]


def flavors(assignment: Assignment) -> list[dict[str, str]]:
    return [choice.flavors for choice in assignment.pod_sets]


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
    "pods that are done ask for nothing": (
        assign(queue("q", TWO), pods(count=5, gpu=1, reclaimable=1)),
        ["spot"],
    ),
    "fewer pods": (assign(queue("q", TWO), pods(count=9, gpu=1), counts=(4,)), ["spot"]),
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
    "preempts rather than borrows, where that is preferred": (
        assign(
            queue(
                "q",
                {"dear": {GPU: 1}, "spot": {GPU: 4}},
                when_can_borrow=TRY,
                preference=FungibilityPreference.PREEMPTION_OVER_BORROWING,
            ),
            3,
            used={"spot": 4},
            simulate=preempts(spot=Mode.PREEMPT),
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
    "looks on where no workload can be preempted": (
        assign(
            queue("q", TWO, when_can_preempt=STOP),
            3,
            used={"spot": 4, "dear": 8},
            simulate=preempts(spot=Mode.NO_CANDIDATES, dear=Mode.PREEMPT),
        ),
        ["dear"],
    ),
    "continues where the last search ended": (
        assign(queue("q", TWO), 3, progress=ScanProgress(({GPU: 0},))),
        ["dear"],
    ),
    "starts again after the last flavor": (
        assign(queue("q", TWO), 3, progress=ScanProgress(({GPU: -1},))),
        ["spot"],
    ),
    "keeps to what was chosen at first": (
        assign(queue("q", TWO), 3, pinned={"workers": {GPU: "dear"}}),
        ["dear"],
    ),
    "keeps to the flavors allowed": (
        assign(
            queue("q", TWO), 3, rules=Rules(concurrent_admission=True), fields={"allowed_flavors": ("dear",)}
        ),
        ["dear"],
    ),
    "knows no allowed flavors without the rule": (
        assign(queue("q", TWO), 3, fields={"allowed_flavors": ("dear",)}),
        ["spot"],
    ),
}


@pytest.mark.parametrize(("assignment", "expected"), CHOSEN.values(), ids=CHOSEN.keys())
def test_the_flavor_chosen(assignment: Assignment, expected: list[str]) -> None:
    assert gpus(assignment) == expected


def test_the_mode_is_that_of_the_worst_pod_set() -> None:
    modes = preempts(spot=Mode.NO_CANDIDATES, dear=Mode.RECLAIM)
    result = assign(
        queue("q", TWO), pods(gpu=1), pods("b", gpu=3), used={"spot": 3, "dear": 8}, simulate=modes
    )
    assert gpus(result) == ["spot", "dear"]
    assert (result.mode, result.contested) == (Mode.RECLAIM, {fr("dear")})


def test_the_mode_of_a_flavor_is_that_of_its_worst_resource() -> None:
    simulate: Simulate = lambda fr, _: Grade(Mode.PREEMPT if fr.resource == GPU else Mode.RECLAIM, 0)  # noqa: E731
    of = queue("q", {"l4": {"cpu": 8000, GPU: 4}})
    asks = pods(gpu=4, requests={"cpu": 1000})
    result = assign(of, asks, used={"l4": 1}, simulate=simulate)
    assert (result.mode, result.contested) == (Mode.PREEMPT, {fr("l4")})
    assert result.pod_sets[0].grades["cpu"].mode is Mode.FIT


def test_what_fits_from_afar_hides_what_has_to_be_preempted_nearer_by() -> None:
    """Same as in Kueue if preemption is preferred to borrowing."""
    of = queue(
        "q",
        {"dear": {"cpu": 4000, GPU: 1}},
        preference=FungibilityPreference.PREEMPTION_OVER_BORROWING,
    )
    asks = pods(gpu=3, requests={"cpu": 4000})
    result = assign(of, asks, cpu=1000, simulate=preempts(dear=Mode.PREEMPT))
    assert result.pod_sets[0].grades == {GPU: Grade(Mode.FIT, 1), "cpu": Grade(Mode.PREEMPT, 0)}
    assert result.mode is Mode.FIT


def test_usage_is_summed_over_the_pod_sets() -> None:
    result = assign(queue("q", TWO), pods(count=2, gpu=1), pods("b", gpu=2))
    assert result.usage == {fr("spot"): 4}
    assert (result.mode, result.borrowing) == (Mode.FIT, 0)


def test_borrowing_is_counted() -> None:
    assert assign(queue("q", {"dear": {GPU: 1}}), 3).borrowing == 1


def test_pods_are_counted_where_the_queue_covers_them() -> None:
    result = assign(queue("q", {"l4": {GPU: 9, "pods": 5}}), pods(count=4, gpu=1))
    assert result.usage[fr("l4", "pods")] == 4
    assert assign(queue("q", {"l4": {GPU: 9, "pods": 3}}), pods(count=4, gpu=1)).mode is Mode.NO_FIT


def test_resource_groups_are_searched_apart() -> None:
    of = queue("q", {"spot": {GPU: 1}, "dear": {GPU: 4}}, {"e2": {"cpu": 1000}, "n2": {"cpu": 9000}})
    result = assign(of, pods(gpu=2, requests={"cpu": 2000}))
    assert flavors(result) == [{GPU: "dear", "cpu": "n2"}]
    assert result.progress == ScanProgress(({GPU: -1, "cpu": -1},))


def test_zeros_are_harmless() -> None:
    full = assign(queue("q", TWO), pods(gpu=0, requests={"tpu": 0}), used={"spot": 9})
    assert (full.mode, flavors(full)) == (Mode.FIT, [{GPU: "spot"}])
    bare = assign(queue("q", TWO), pods(requests={"tpu": 0}), pods("b", gpu=1))
    assert (bare.mode, flavors(bare)) == (Mode.FIT, [{}, {GPU: "spot"}])


def test_resources_that_the_queue_does_not_declare_may_be_ignored() -> None:
    asks = pods(gpu=1, requests={"tpu": 1})
    result = assign(queue("q", TWO), asks, rules=Rules(ignore_undeclared=True))
    assert (result.mode, result.usage) == (Mode.FIT, {fr("spot"): 1})
    assert assign(queue("q", TWO), asks).mode is Mode.NO_FIT


SEARCHED = {  # flavors, GPUs, index remembered
    "ended at the first of two": (TWO, 3, 0),
    "came to the last one": (TWO, 5, -1),
    "only one": ({"dear": {GPU: 4}}, 3, -1),
}


@pytest.mark.parametrize(("quotas", "gpu", "index"), SEARCHED.values(), ids=SEARCHED.keys())
def test_end_of_the_search_is_kept(quotas: Any, gpu: int, index: int) -> None:
    assert assign(queue("q", quotas), gpu).progress == ScanProgress(({GPU: index},))


def test_nothing_is_remembered_of_a_search_without_a_flavor() -> None:
    result = assign(queue("q", TWO), pods(gpu=3), pods("b", gpu=20), pods("c", gpu=1))
    assert result.progress == ScanProgress(({GPU: 0}, {}))
    assert len(result.pod_sets) == 2


def test_a_search_may_start_after_the_last_flavor() -> None:
    assert assign(queue("q", TWO), 3, progress=ScanProgress(({GPU: 7},))).mode is Mode.NO_FIT


SIMULATED = {  # queue, rules, whether preemption is tried for 3 GPUs with a quota of 1
    "nothing beyond nominal": (queue("q", {"dear": {GPU: 1}}), Rules(), False),
    "borrowing within the cohort": (
        queue("q", {"dear": {GPU: 1}}, borrow_within_cohort=BorrowWithinCohort()),
        Rules(),
        True,
    ),
    "fair sharing": (
        queue("q", {"dear": {GPU: 1}}, reclaim_within_cohort=PreemptionPolicy.ANY),
        Rules(fair_sharing=FairSharing()),
        True,
    ),
    "fair sharing that reclaims nothing": (
        queue("q", {"dear": {GPU: 1}}),
        Rules(fair_sharing=FairSharing()),
        False,
    ),
}


@pytest.mark.parametrize(("of", "rules", "tried"), SIMULATED.values(), ids=SIMULATED.keys())
def test_preemption_while_borrowing(of: ClusterQueue, rules: Rules, tried: bool) -> None:
    result = assign(of, 3, used={"dear": 4}, rules=rules, simulate=preempts(dear=Mode.RECLAIM))
    assert result.mode is (Mode.RECLAIM if tried else Mode.NO_FIT)


def test_an_empty_cluster_ignores_usage() -> None:
    used = {"spot": 4, "dear": 8}
    assert assign(queue("q", TWO), 4, used=used).mode is Mode.NO_FIT
    assert gpus(assign(queue("q", TWO), 4, used=used, empty=True)) == ["spot"]
    assert assign(queue("q", TWO), 9, used=used, empty=True).mode is Mode.NO_FIT


def leader(**requests: int) -> PodSet:
    return pods("leader", requests=requests, topology=TOGETHER)


def workers(gpu: int) -> PodSet:
    return pods("workers", count=2, gpu=gpu, requests={"cpu": 1000}, topology=TOGETHER)


def test_pod_sets_that_stay_together_take_one_flavor() -> None:
    result = assign(queue("q", MIXED), leader(cpu=3000), workers(gpu=2))
    assert flavors(result) == [{"cpu": "l4"}, {"cpu": "l4", GPU: "l4"}]
    assert assign(queue("q", MIXED), leader(cpu=3000), workers(gpu=3)).mode is Mode.NO_FIT
    assert result.usage == {fr("l4", "cpu"): 5000, fr("l4"): 4}


def test_pod_sets_that_stay_together_fail_together() -> None:
    result = assign(queue("q", MIXED), leader(cpu=9000), workers(gpu=1))
    assert [choice.mode for choice in result.pod_sets] == [Mode.NO_FIT, Mode.NO_FIT]
    assert flavors(result) == [{}, {}]


LEADERS = {  # GPUs of the workers, mode of the leader that asks for nothing
    "next to workers that fit": (2, Mode.FIT),
    "next to workers that preempt": (3, Mode.NO_FIT),
}


@pytest.mark.parametrize(("gpu", "mode"), LEADERS.values(), ids=LEADERS.keys())
def test_a_leader_that_asks_for_nothing_gets_no_flavor(gpu: int, mode: Mode) -> None:
    result = assign(
        queue("q", {"l4": {"cpu": 8000, GPU: 6}}),
        leader(),
        workers(gpu=gpu),
        used={"l4": 2},
        simulate=preempts(l4=Mode.PREEMPT),
    )
    assert (result.pod_sets[0].flavors, result.pod_sets[0].mode) == ({}, mode)


def test_pod_sets_that_stay_together_keep_to_what_was_chosen_for_one_of_them() -> None:
    pinned = {"leader": {"cpu": "t4"}, "workers": {"cpu": "t4", GPU: "t4"}}
    result = assign(queue("q", MIXED), leader(cpu=1000), workers(gpu=1), pinned=pinned)
    assert flavors(result) == [{"cpu": "t4"}, {"cpu": "t4", GPU: "t4"}]


def test_pod_sets_that_stay_together_all_match_the_flavor() -> None:
    two = {"spot": {GPU: 4}, "dear": {GPU: 4}}
    picky = pods("leader", gpu=1, node_selector={"pool": "cpu"}, topology=TOGETHER)
    easy = pods("workers", gpu=1, topology=TOGETHER)
    for gang in ((picky, easy), (easy, picky)):
        assert gpus(assign(queue("q", two), *gang)) == ["dear", "dear"]
    both_fenced = queue("q", {"fenced": {GPU: 4}, "spot": {GPU: 4}, "dear": {GPU: 4}})
    assert gpus(assign(both_fenced, easy, picky)) == ["dear", "dear"]


HELD = PodSetAssignment("workers", 4, {GPU: "dear"}, {GPU: 8})


def test_a_workload_that_holds_quota_keeps_its_flavors() -> None:
    result = assign(
        queue("q", TWO), pods(count=4, gpu=2), fields={"admission": Admission("q", (HELD,))}, used={"dear": 8}
    )
    assert (gpus(result), result.mode, result.usage) == (["dear"], Mode.FIT, {fr("dear"): 8})


def test_pods_that_are_done_free_their_part_of_what_is_held() -> None:
    done = pods(count=4, gpu=2, reclaimable=1)
    result = assign(queue("q", TWO), done, fields={"admission": Admission("q", (HELD,))})
    assert (result.pod_sets[0].count, result.usage) == (3, {fr("dear"): 6})


def test_fewer_pods_were_admitted_than_asked_for() -> None:
    result = assign(queue("q", TWO), pods(count=9, gpu=2), fields={"admission": Admission("q", (HELD,))})
    assert (result.pod_sets[0].count, result.usage) == (4, {fr("dear"): 8})


def test_a_slice_takes_what_is_more_than_the_one_it_replaces() -> None:
    old = (PodSetAssignment("workers", 3, {GPU: "dear"}, {GPU: 3}),)
    result = assign(queue("q", TWO), pods(count=4, gpu=1), used={"dear": 3}, replaced=old)
    assert (gpus(result), result.mode, result.usage) == (["dear"], Mode.FIT, {fr("dear"): 1})
    assert result.admission("q").pod_sets[0].usage == {GPU: 4}
    larger = assign(queue("q", TWO), pods(count=12, gpu=1), used={"dear": 3}, replaced=old)
    assert larger.mode is Mode.NO_FIT


def test_a_slice_with_a_new_pod_set_fits_on_no_flavor() -> None:
    old = (PodSetAssignment("workers", 3, {GPU: "dear"}, {GPU: 3}),)
    result = assign(queue("q", TWO), pods(count=4, gpu=1), pods("new", gpu=1), replaced=old)
    assert result.mode is Mode.NO_FIT
    assert result.pod_sets[1].searches[0].best is None


def test_admission_lists_flavors_and_usage() -> None:
    result = assign(queue("q", TWO), pods(count=2, gpu=1, requests={"tpu": 0}))
    assert result.admission("q") == Admission("q", (PodSetAssignment("workers", 2, {GPU: "spot"}, {GPU: 2}),))
    assert result.nominated == {"workers": {GPU: "spot"}}


def test_a_topology_may_make_a_mode_worse() -> None:
    result = assign(queue("q", TWO), 1, 2)
    result.worsen(result.pod_sets[1], Mode.PREEMPT)
    assert [choice.mode for choice in result.pod_sets] == [Mode.FIT, Mode.PREEMPT]
    assert (result.mode, result.contested) == (Mode.PREEMPT, {fr("spot")})


def test_the_quota_of_a_queue_alone() -> None:
    of = queue("q", {"l4": {GPU: Quota(4)}})
    state = WorkingState(snapshot(of))
    assigner = FlavorAssigner(state.flavors["q"], state.tree.queues["q"], workload("w", "q", 4))
    assert assigner.assign().mode is Mode.FIT
