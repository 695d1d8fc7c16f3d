"""Elastic gangs: what they hold above their minimum waits for, and yields to, the gangs of its priority."""

from dataclasses import replace
from typing import Any

import pytest

from muster.admission import (
    Engine,
    FairSharing,
    Plan,
    PreemptionPolicy,
    Quota,
    Rules,
    Snapshot,
    WaitReason,
    Workload,
    decide,
)
from muster.admission.pruning.try_everything import TryEverything
from tests.unit.admission.builders import (
    NOW_MS,
    admitted,
    cohort,
    messages,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    workload,
)

ANY = PreemptionPolicy.ANY
LOWER = PreemptionPolicy.LOWER_PRIORITY
NEVER = PreemptionPolicy.NEVER


def growth(gang: str, number: int = 1, gpu: int = 1, in_queue: str = "q", **fields: Any) -> Workload:
    """A replica that the gang asks for."""
    return workload(f"{gang}+{number}", in_queue, gpu, surplus_of=f"ns/{gang}", **fields)


def surplus(gang: str, number: int = 1, gpu: int = 1, in_queue: str = "q", **fields: Any) -> Workload:
    """A replica that the gang holds above its minimum."""
    return running(f"{gang}+{number}", in_queue, gpu, surplus_of=f"ns/{gang}", **fields)


def decided(of: Snapshot, rules: Rules = Rules()) -> Plan:  # noqa: B008
    return decide(of, NOW_MS, rules)


def victims(plan: Plan) -> list[str]:
    return sorted(victim for victim, _ in preempted(plan))


@pytest.mark.parametrize(
    ("workloads", "expected"),
    [
        pytest.param(
            [running("a"), growth("a", 1), growth("a", 2), growth("a", 3)],
            ["a+1", "a+2"],
            id="as much as fits",
        ),
        pytest.param([running("a"), growth("a", gpu=3)], [], id="only whole replicas"),
        pytest.param(
            [running("a"), growth("a", queued_at_ms=1), workload("b", "q", 2, queued_at_ms=2)],
            ["b"],
            id="a younger gang of the priority comes first",
        ),
        pytest.param(
            [running("a", priority=1), growth("a", gpu=2, priority=1), workload("b", "q", 2)],
            ["a+1"],
            id="a gang of lower priority does not",
        ),
        pytest.param(
            [running("a"), growth("a"), workload("b", "q", 3)],
            ["a+1"],
            id="what a waiting gang cannot use yet",
        ),
        pytest.param(
            [
                running("a", queued_at_ms=2),
                running("b", queued_at_ms=1),
                growth("a", queued_at_ms=2),
                growth("b", queued_at_ms=1),
            ],
            ["b+1"],
            id="the older gang grows first",
        ),
        pytest.param(
            [
                running("a", priority=1, queued_at_ms=2),
                running("b", queued_at_ms=1),
                growth("a", priority=1, queued_at_ms=2),
                growth("b", queued_at_ms=1),
            ],
            ["a+1"],
            id="the gang of higher priority grows first",
        ),
        pytest.param([workload("a", "q", 1), growth("a")], ["a", "a+1"], id="with its gang"),
        pytest.param([workload("a", "q", 4), growth("a")], [], id="not without its gang"),
        pytest.param([running("a", evicted=True), growth("a")], [], id="not while its gang is being evicted"),
    ],
)
def test_growth_takes_free_quota(workloads: list[Workload], expected: list[str]) -> None:
    assert sorted(admitted(decided(snapshot(queue("q", 3), *workloads)))) == expected


def test_growth_without_its_gang_says_so() -> None:
    plan = decided(snapshot(queue("q", 3), workload("a", "q", 4), growth("a")))
    assert reasons(plan)["a+1"] is WaitReason.REFUSED
    assert messages(plan)["a+1"] == "cannot be admitted: its gang holds no quota"


@pytest.mark.parametrize(
    ("workloads", "expected"),
    [
        pytest.param(
            [running("a", gpu=2), surplus("a", 1), surplus("a", 2), workload("b", "q", 1)],
            ["a+2"],
            id="of the same priority, even with policy Never",
        ),
        pytest.param(
            [running("a", gpu=2), surplus("a", 1), surplus("a", 2), workload("b", "q", 2)],
            ["a+1", "a+2"],
            id="as much as is needed",
        ),
        pytest.param(
            [running("a", gpu=2), surplus("a", 1), surplus("a", 2), workload("b", "q", 3)],
            [],
            id="never the gang with policy Never",
        ),
        pytest.param(
            [running("a", priority=1, gpu=3), surplus("a", priority=1), workload("b", "q", 1)],
            [],
            id="not of higher priority",
        ),
        pytest.param(
            [
                running("a"),
                running("c", priority=-1),
                surplus("a"),
                surplus("c", priority=-1),
                workload("b", "q", 1),
            ],
            ["c+1"],
            id="of lower priority first",
        ),
        pytest.param(
            [
                running("a", reserved_at_ms=1),
                running("c", reserved_at_ms=2),
                surplus("a", reserved_at_ms=1),
                surplus("c", reserved_at_ms=2),
                workload("b", "q", 1),
            ],
            ["c+1"],
            id="of the youngest gang first",
        ),
    ],
)
def test_a_gang_preempts_surplus(workloads: list[Workload], expected: list[str]) -> None:
    # The last replica of a gang goes first: its UID sorts first.
    ordered = [_last_first(each) for each in workloads]
    assert victims(decided(snapshot(queue("q", 4, within_queue=NEVER), *ordered))) == expected


def _last_first(of: Workload) -> Workload:
    gang, _, number = of.key.removeprefix("ns/").partition("+")
    return replace(of, uid=f"{gang}+{9 - int(number)}") if number else of


def test_surplus_goes_before_gangs_of_lower_priority() -> None:
    plan = decided(
        snapshot(
            queue("q", 3, within_queue=LOWER),
            running("a", priority=1),
            surplus("a", priority=1),
            running("c", priority=0),
            workload("b", "q", 1, priority=2),
        )
    )
    assert victims(plan) == ["a+1"]


def test_a_gang_is_evicted_with_its_surplus() -> None:
    plan = decided(
        snapshot(
            queue("q", 3, within_queue=LOWER),
            running("a", gpu=2),
            surplus("a"),
            workload("b", "q", 2, priority=1),
        )
    )
    assert victims(plan) == ["a", "a+1"]


def test_surplus_of_others_stays_if_the_evicted_gang_has_enough() -> None:
    plan = decided(
        snapshot(
            queue("q", 5, within_queue=LOWER),
            running("c", priority=1),
            surplus("c", priority=1),
            running("a", gpu=2),
            surplus("a"),
            workload("b", "q", 3, priority=2),
        )
    )
    assert victims(plan) == ["a", "a+1"]


def test_growth_reclaims_surplus_but_no_gang() -> None:
    lends = queue("p", 2, cohort="c", reclaim_within_cohort=ANY)
    borrows = queue("q", 2, cohort="c")

    def plan(*workloads: Workload) -> list[str]:
        grows = [running("g", "p"), growth("g", in_queue="p")]
        return victims(decided(snapshot([lends, borrows], *grows, *workloads, cohorts=[cohort("c")])))

    assert plan(running("a", gpu=2), surplus("a")) == ["a+1"]
    assert plan(running("a", gpu=3)) == []


def test_borrowed_surplus_goes_before_surplus_of_the_own_queue() -> None:
    own = queue("p", 3, cohort="c", within_queue=LOWER, reclaim_within_cohort=ANY)
    plan = decided(
        snapshot(
            [own, queue("q", Quota(1), cohort="c")],
            running("o", "p"),
            surplus("o", in_queue="p"),
            running("a"),
            surplus("a"),
            workload("b", "p", 1),
            cohorts=[cohort("c")],
        )
    )
    assert victims(plan) == ["a+1"]


def test_fair_sharing_takes_surplus_of_any_queue_before_gangs() -> None:
    queues = [queue(name, 1, cohort="c", reclaim_within_cohort=ANY) for name in ("p", "q", "r")]
    workloads = [running("a", "q", 1), surplus("a", in_queue="q"), running("d", "r", 1)]
    plan = decided(
        snapshot(queues, *workloads, workload("b", "p", 1), cohorts=[cohort("c")]),
        Rules(fair_sharing=FairSharing()),
    )
    assert victims(plan) == ["a+1"]


def test_growth_uses_the_flavors_of_its_gang() -> None:
    two_flavors = queue("q", {"l4": {"nvidia.com/gpu": 1}, "h100": {"nvidia.com/gpu": 4}})
    gang = running("a", gpu=1, flavor="l4")
    assert admitted(decided(snapshot(two_flavors, gang, growth("a", allowed_flavors=("l4",))))) == []
    assert admitted(decided(snapshot(two_flavors, gang, growth("a", allowed_flavors=("h100",))))) == ["a+1"]


def sharing_cohort(*workloads: Workload) -> Snapshot:
    """Returns two queues of one cohort with 4 GPUs each, which reclaim what the other has borrowed."""
    return snapshot(
        [queue(name, 4, cohort="all", reclaim_within_cohort=ANY) for name in ("q", "r")], *workloads
    )


def test_each_replica_claims_other_surplus() -> None:
    """Not one after the other: each would wait for the notice of the one before it."""
    borrower = [running("a", "r", 1), *(surplus("a", number, in_queue="r") for number in range(1, 7))]
    asked = [growth("b", number) for number in range(1, 5)]
    plan = decided(sharing_cohort(*borrower, running("b", "q", 1), *asked))
    assert len(victims(plan)) == 3  # which it has borrowed


def test_growth_waits_for_what_is_preempted_already() -> None:
    borrower = [surplus("a", number, in_queue="r", evicted=number > 4) for number in range(1, 7)]
    asked = [growth("b", 1), growth("b", 2)]
    plan = decided(sharing_cohort(running("a", "r", 1), *borrower, running("b", "q", 1), *asked))
    assert not victims(plan)
    assert not admitted(plan)
    assert reasons(plan)["b+1"] is WaitReason.PREEMPTION
    assert reasons(plan)["b+2"] is WaitReason.BEHIND_HEAD


def test_an_engine_answers_whether_growth_would_preempt() -> None:
    borrower = [running("a", "r", 1), *(surplus("a", number, in_queue="r") for number in range(1, 7))]
    engine = Engine(sharing_cohort(*borrower, running("b", "q", 1)))
    engine.decide(NOW_MS)
    assert [n for n in range(1, 6) if engine.preempts(growth("b", gpu=n), NOW_MS)] == [1, 2, 3]
    assert not engine.preempts(growth("a", 7, in_queue="r"), NOW_MS)  # it would borrow
    engine.put(workload("c", "q", 3))
    engine.decide(NOW_MS)
    assert not engine.preempts(growth("b", gpu=1), NOW_MS)  # a gang waits for the same quota


@pytest.mark.parametrize("queues", [2, 3])
@pytest.mark.parametrize("rules", [Rules(), Rules(fair_sharing=FairSharing())], ids=["classical", "fair"])
def test_replicas_of_several_queues_claim_different_surplus(queues: int, rules: Rules) -> None:
    """In each cycle the heads of all queues find the same target first."""
    names = [f"q{number}" for number in range(queues)]
    shares = [queue(name, 4, cohort="all", reclaim_within_cohort=ANY) for name in (*names, "r")]
    borrowed = 3 * queues
    borrower = [running("a", "r", 4), *(surplus("a", n, in_queue="r") for n in range(1, borrowed + 1))]
    asked = [growth(f"b-{name}", number, in_queue=name) for name in names for number in (1, 2, 3)]
    gangs = [running(f"b-{name}", name, 1) for name in names]
    plan = decided(snapshot(shares, *borrower, *gangs, *asked, cohorts=[cohort("all")]), rules)
    assert len(victims(plan)) == borrowed


@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.parametrize("rules", [Rules(), Rules(fair_sharing=FairSharing())], ids=["classical", "fair"])
def test_waiting_gangs_claim_different_surplus(queues: int, rules: Rules) -> None:
    """Else each gang would wait for the notice of the one before it."""
    names = [f"q{number}" for number in range(queues)]
    shares = [queue(name, 4, cohort="all", reclaim_within_cohort=ANY) for name in (*names, "r")]
    borrowed = 4 * queues
    borrower = [running("a", "r", 4), *(surplus("a", n, in_queue="r") for n in range(1, borrowed + 1))]
    gangs = [workload(f"{name}-{number}", name, 1) for name in names for number in range(3)]
    plan = decided(snapshot(shares, *borrower, *gangs, cohorts=[cohort("all")]), rules)
    assert len(victims(plan)) == 3 * queues


def test_a_second_gang_evicts_no_gang_before_the_first_has_its_quota() -> None:
    """As in Kueue: the quota that it waits for may suffice for both by then."""
    waiting = [workload("b", "q", 1, priority=1, queued_at_ms=1), workload("c", "q", 1, priority=1)]
    lower = [running("a", gpu=2), surplus("a"), running("d", gpu=1)]
    plan = decided(snapshot(queue("q", 4, within_queue=LOWER), *lower, *waiting))
    assert victims(plan) == ["a+1"]


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_growth_preempts_no_more_than_it_asks_for(asked: int) -> None:
    borrower = [running("a", "r", 1), *(surplus("a", number, in_queue="r") for number in range(1, 7))]
    replicas = [growth("b", number) for number in range(1, asked + 1)]
    assert len(victims(decided(sharing_cohort(*borrower, running("b", "q", 1), *replicas)))) == asked


@pytest.mark.parametrize("in_queue", ["q", "r"])
@pytest.mark.parametrize("pruned", [True, False])
def test_free_quota_of_a_gang_that_waits_for_surplus_is_not_taken(in_queue: str, pruned: bool) -> None:
    queues = [queue("q", 4, cohort="all", reclaim_within_cohort=ANY), queue("r", 0, cohort="all")]
    waiting = [workload("b", "q", 2, queued_at_ms=1), workload("c", in_queue, 1, queued_at_ms=2)]
    of = snapshot(queues, running("a", gpu=2), surplus("a"), *waiting, cohorts=[cohort("all")])
    plan = decided(of) if pruned else decide(of, NOW_MS, Rules(), TryEverything)
    assert victims(plan) == ["a+1"]
    assert not admitted(plan)
