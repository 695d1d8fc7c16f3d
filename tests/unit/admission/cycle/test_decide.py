"""Whole decisions: admissions, preemptions, and reasons to wait."""

from dataclasses import replace
from typing import Any

import pytest

from muster.admission import (
    NEVER_MS,
    CheckState,
    Cohort,
    Flavor,
    FungibilityPolicy,
    LabelSelector,
    Plan,
    PodSetAssignment,
    PreemptionPolicy,
    QueueingStrategy,
    Quota,
    Requirement,
    Rules,
    Snapshot,
    StopPolicy,
    WaitReason,
    decide,
)
from tests.unit.admission.builders import (
    GPU,
    NOW_MS,
    admitted,
    applied,
    messages,
    pods,
    preempted,
    queue,
    reasons,
    running,
    snapshot,
    taint,
    withdrawn,
    without,
    workload,
)

STRICT = QueueingStrategy.STRICT_FIFO
LOWER, ANY = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
QUOTA, PREEMPTION = WaitReason.QUOTA, WaitReason.PREEMPTION
BEHIND, NEVER_FITS = WaitReason.BEHIND_HEAD, WaitReason.NEVER_FITS


def plan(of: Snapshot) -> Plan:
    return decide(of, NOW_MS)


def test_a_production_gang_takes_the_place_of_a_development_one() -> None:
    """The whole way: preempted, evicted, withdrawn, admitted, and back when production is done."""
    team_a = queue("team-a", 4, within_queue=LOWER)
    now = snapshot(team_a, workload("dev", "team-a", pods(count=4, gpu=1), priority=100))
    first = plan(now)
    assert admitted(first) == ["dev"]

    prod = workload("prod", "team-a", pods(count=4, gpu=1), priority=1000, queued_at_ms=5)
    now = applied(now, first)
    now = replace(now, workloads=(*now.workloads, prod))
    second = plan(now)
    assert (admitted(second), preempted(second)) == ([], [("dev", "prod")])
    assert messages(second) == {"prod": "waits for 1 preempted workload to terminate: ns/dev"}

    now = applied(now, second)
    leaving = plan(now)
    assert (admitted(leaving), preempted(leaving)) == ([], []), "the pods still run, and only once"
    assert reasons(leaving) == {"prod": PREEMPTION}

    now = withdrawn(now)
    third = plan(now)
    assert admitted(third) == ["prod"]
    assert messages(third) == {"dev": f"needs 4 {GPU} of flavor l4 but ClusterQueue team-a has 0 of 4 left"}

    now = without(applied(now, third), "prod")
    assert admitted(plan(now)) == ["dev"]


def test_an_admission_says_what_each_pod_set_gets() -> None:
    of = queue("q", {"cpu": {"cpu": 8000, "pods": 9}}, {"l4": {GPU: 4}})
    head = pods("head", requests={"cpu": 1000})
    gang = workload("w", "q", head, pods("workers", count=2, gpu=2, requests={"cpu": 500, "tpu": 0}))
    (decision,) = plan(snapshot(of, gang)).admissions
    assert decision.admission.cluster_queue == "q"
    assert decision.admission.pod_sets == (
        PodSetAssignment("head", 1, {"cpu": "cpu", "pods": "cpu"}, {"cpu": 1000, "pods": 1}),
        PodSetAssignment(
            "workers", 2, {"cpu": "cpu", "pods": "cpu", GPU: "l4"}, {"cpu": 1000, "pods": 2, GPU: 4}
        ),
    )


ML = {"cohort": "ml"}
RECLAIMING = {"cohort": "ml", "reclaim_within_cohort": ANY}

CASES: dict[str, tuple[Snapshot, list[str], list[tuple[str, str]], dict[str, WaitReason]]] = {
    # snapshot; admitted, in order; victims with their preemptors; reasons to wait
    "nothing": (snapshot(()), [], [], {}),
    "all that fit, by priority and age": (
        snapshot(
            queue("q", 3),
            workload("young", "q", 1, queued_at_ms=2),
            workload("old", "q", 1, queued_at_ms=1),
            workload("urgent", "q", 1, priority=1, queued_at_ms=3),
        ),
        ["urgent", "old", "young"],
        [],
        {},
    ),
    "a gang whole or not at all": (
        snapshot(queue("q", 4), workload("w", "q", pods("a", gpu=3), pods("b", gpu=2))),
        [],
        [],
        {"w": NEVER_FITS},
    ),
    "BestEffortFIFO tries the next": (
        snapshot(
            queue("q", 4), running("r", gpu=2), workload("big", "q", 3, priority=1), workload("small", "q", 2)
        ),
        ["small"],
        [],
        {"big": QUOTA},
    ),
    "StrictFIFO does not": (
        snapshot(
            queue("q", 4, strategy=STRICT),
            running("r", gpu=2),
            workload("big", "q", 3, priority=1),
            workload("small", "q", 2),
        ),
        [],
        [],
        {"big": QUOTA, "small": BEHIND},
    ),
    "StrictFIFO blocks its own queue only": (
        snapshot(
            [queue("q", 1, strategy=STRICT), queue("other", 1)],
            workload("big", "q", 2),
            workload("small", "other", 1),
        ),
        ["small"],
        [],
        {"big": NEVER_FITS},
    ),
    "smaller borrowing first": (
        snapshot(
            [queue("a", 2, **ML), queue("b", 2, **ML)],
            workload("borrower", "a", 3, priority=9),
            workload("owner", "b", 2),
        ),
        ["owner"],
        [],
        {"borrower": QUOTA},
    ),
    "borrows what no other queue needs": (
        snapshot([queue("a", 2, **ML), queue("b", 2, **ML)], workload("borrower", "a", 3)),
        ["borrower"],
        [],
        {},
    ),
    "reclaims what is borrowed": (
        snapshot(
            [queue("a", 2, **ML), queue("b", 2, **RECLAIMING)],
            running("r1", "a", gpu=2),
            running("r2", "a", gpu=2, reserved_at_ms=1),
            workload("owner", "b", 2),
        ),
        [],
        [("r2", "owner")],
        {"owner": PREEMPTION},
    ),
    "an evicted workload is not preempted twice": (
        snapshot(
            queue("q", 2, within_queue=LOWER),
            running("r", gpu=2, evicted=True),
            workload("w", "q", 2, priority=1),
        ),
        [],
        [],
        {"w": PREEMPTION},
    ),
    "a head that waits for victims blocks its queue": (
        snapshot(
            queue("q", 4, within_queue=LOWER),
            running("r", gpu=3),
            workload("big", "q", 4, priority=1),
            workload("small", "q", 1),
        ),
        [],
        [("r", "big")],
        {"big": PREEMPTION, "small": BEHIND},
    ),
    "no workload slips in while victims leave": (
        snapshot(
            [queue("a", 4, within_queue=LOWER, **ML), queue("b", 0, **ML)],
            running("r", "a", gpu=3),
            workload("big", "a", 4, priority=1),
            workload("small", "b", 1),
        ),
        [],
        [("r", "big")],
        {"big": PREEMPTION, "small": QUOTA},
    ),
    "quota that the preemptor does not need is for others": (
        snapshot(
            [queue("a", 4, within_queue=LOWER, **ML), queue("b", 2, **ML)],
            running("r", "a", gpu=3),
            workload("big", "a", 4, priority=1),
            workload("small", "b", 1),
        ),
        ["small"],
        [("r", "big")],
        {"big": PREEMPTION},
    ),
    "not what the victims still use": (
        # Big gets 3 of the victim's 4. Of the 2 that are free now only one more may start.
        snapshot(
            [queue("a", 4, within_queue=LOWER, **ML), queue("b", 1, **ML), queue("c", 1, **ML)],
            running("r", "a", gpu=4),
            workload("big", "a", 3, priority=1),
            workload("one", "b", 1, queued_at_ms=1),
            workload("two", "c", 2, queued_at_ms=2),
        ),
        ["one"],
        [("r", "big")],
        {"big": PREEMPTION, "two": QUOTA},
    ),
    "two do not claim the same victim": (
        snapshot(
            [queue("a", 2, **ML), queue("b", 2, **RECLAIMING), queue("c", 2, **RECLAIMING)],
            running("r", "a", gpu=6),
            workload("first", "b", 2, queued_at_ms=1),
            workload("second", "c", 2, queued_at_ms=2),
        ),
        [],
        [("r", "first")],
        {"first": PREEMPTION, "second": QUOTA},
    ),
    "two claim a victim each": (
        snapshot(
            [queue("a", 2, within_queue=LOWER), queue("b", 2, within_queue=LOWER)],
            running("r1", "a", gpu=2),
            running("r2", "b", gpu=2),
            workload("one", "a", 2, priority=1),
            workload("two", "b", 2, priority=1),
        ),
        [],
        [("r1", "one"), ("r2", "two")],
        {"one": PREEMPTION, "two": PREEMPTION},
    ),
    "a preemptor to which another admission leaves too little": (
        snapshot(
            [
                queue("a", Quota(2, borrowing_limit=2), within_queue=LOWER, **ML),
                queue("b", 4, **ML),
                queue("c", 1, **ML),
            ],
            running("r", "a", gpu=2),
            workload("big", "a", 4, priority=1),
            workload("owner", "b", 4),
            cohorts=[Cohort("ml", "org")],
        ),
        ["owner"],
        [],
        {"big": QUOTA},
    ),
    "a head without victims keeps its own quota": (
        # StrictFIFO: big waits for r in every cycle, and could not reclaim what small borrows.
        snapshot(
            [queue("a", 4, strategy=STRICT, **ML), queue("b", 0, **ML)],
            running("r", "a", gpu=2),
            workload("big", "a", 4),
            workload("small", "b", 1),
        ),
        [],
        [],
        {"big": QUOTA, "small": QUOTA},
    ),
    "also what it may borrow": (
        snapshot(
            [queue("a", Quota(1, borrowing_limit=2), strategy=STRICT, **ML), queue("b", 3, **ML)],
            running("r", "a", gpu=1),
            workload("big", "a", 3, priority=1),
            workload("small", "b", 2),
        ),
        ["small"],
        [],
        {"big": QUOTA},
    ),
    "a queue over its quota keeps nothing": (
        snapshot(
            [queue("a", Quota(2, borrowing_limit=0), strategy=STRICT, **ML), queue("b", 4, **ML)],
            running("r", "a", gpu=3),
            workload("big", "a", 2),
            workload("one", "b", 2, queued_at_ms=1),
            workload("two", "b", 1, queued_at_ms=2),
        ),
        ["one", "two"],
        [],
        {"big": QUOTA},
    ),
    "a head that could reclaim it keeps nothing": (
        snapshot(
            [queue("a", 4, strategy=STRICT, **RECLAIMING), queue("b", 0, **ML)],
            running("r", "a", gpu=2),
            workload("big", "a", 4),
            workload("small", "b", 1),
        ),
        ["small"],
        [],
        {"big": QUOTA},
    ),
    "an admission of this plan is taken back, not preempted": (
        # Second needs what loan borrows in the first cycle; first hides it then.
        snapshot(
            [queue("a", 0, **ML), queue("b", 4, **RECLAIMING)],
            workload("loan", "a", 2),
            workload("first", "b", 2, priority=1),
            workload("second", "b", 2),
        ),
        ["first", "second"],
        [],
        {"loan": QUOTA},
    ),
    "a StrictFIFO queue whose head was taken back stops there": (
        snapshot(
            [queue("a", 0, strategy=STRICT, **ML), queue("b", 4, **RECLAIMING)],
            workload("loan", "a", 2, priority=1),
            workload("next", "a", 3),
            workload("first", "b", 2, priority=1),
            workload("second", "b", 2),
        ),
        ["first", "second"],
        [],
        {"loan": QUOTA, "next": BEHIND},
    ),
    "no preemption that would not let it in": (
        # Without victim the first pod set would move to plain, and leave no place for the second.
        snapshot(
            queue("q", {"plain": {GPU: 4}, "spot": {GPU: 2}}, within_queue=LOWER),
            running("victim", gpu=3, flavor="plain"),
            workload("w", "q", pods("a", gpu=2), pods("b", gpu=4), priority=1),
        ),
        [],
        [],
        {"w": NEVER_FITS},
    ),
    "a queue that waits behind nothing": (
        snapshot(queue("q", 2), workload("w", "q", pods(count=0, gpu=5))),
        ["w"],
        [],
        {},
    ),
}


@pytest.mark.parametrize(("of", "admits", "preempts", "waits"), CASES.values(), ids=CASES.keys())
def test_snapshot_gives_admissions_preemptions_and_reasons(
    of: Snapshot, admits: list[str], preempts: list[tuple[str, str]], waits: dict[str, WaitReason]
) -> None:
    decision = plan(of)
    assert admitted(decision) == admits
    assert preempted(decision) == preempts
    assert reasons(decision) == waits


ASIDE = {  # workloads that take part in no cycle: snapshot, reason, a piece of the sentence, until
    "queue is missing": (
        snapshot((), workload("w", "gone", 1)),
        WaitReason.QUEUE_INACTIVE,
        "ClusterQueue gone does not exist",
        None,
    ),
    "flavor is missing": (
        replace(snapshot(queue("q", 1), workload("w", "q", 1)), flavors={}),
        WaitReason.QUEUE_INACTIVE,
        "ClusterQueue q is inactive: ResourceFlavor l4 does not exist",
        None,
    ),
    "cohorts in a cycle": (
        snapshot(
            queue("q", 1, cohort="ml"),
            workload("w", "q", 1),
            cohorts=[Cohort("ml", "org"), Cohort("org", "ml")],
        ),
        WaitReason.QUEUE_INACTIVE,
        "ClusterQueue q is inactive: the parents of its cohort ml form a cycle",
        None,
    ),
    "queue on hold": (
        snapshot(queue("q", 1, stop=StopPolicy.HOLD), workload("w", "q", 1)),
        WaitReason.QUEUE_STOPPED,
        "ClusterQueue q is stopped (stopPolicy Hold)",
        None,
    ),
    "backoff": (
        snapshot(queue("q", 1), workload("w", "q", 1, requeue_at_ms=NOW_MS + 1)),
        WaitReason.BACKOFF,
        "waits for the end of its backoff",
        NOW_MS + 1,
    ),
    "backoff that time does not end": (
        snapshot(queue("q", 1), workload("w", "q", 1, requeue_at_ms=NEVER_MS)),
        WaitReason.BACKOFF,
        "waits for the end of its backoff",
        None,
    ),
    "queue with a problem": (
        snapshot(queue("q", 1, problem="it does not exist any more"), workload("w", "q", 1)),
        WaitReason.QUEUE_INACTIVE,
        "ClusterQueue q is inactive: it does not exist any more",
        None,
    ),
}


@pytest.mark.parametrize(("of", "reason", "message", "until_ms"), ASIDE.values(), ids=ASIDE.keys())
def test_workload_outside_of_queues_waits_with_a_reason(
    of: Snapshot, reason: WaitReason, message: str, until_ms: int | None
) -> None:
    (waiting,) = plan(of).waiting
    assert (waiting.reason, waiting.until_ms) == (reason, until_ms)
    assert message in waiting.message


def test_the_rest_goes_on_beside_an_inactive_queue() -> None:
    of = snapshot(
        [queue("bad", 4, cohort="ml"), queue("good", {"t4": {GPU: 1}}, cohort="ml")],
        running("r", "bad", gpu=1),
        workload("w", "bad", 1),
        workload("v", "good", 1),
    )
    decision = plan(replace(of, flavors={"t4": Flavor("t4")}))
    assert (admitted(decision), reasons(decision)) == (["v"], {"w": WaitReason.QUEUE_INACTIVE})


def test_the_end_of_a_backoff() -> None:
    of = snapshot(queue("q", 1), workload("w", "q", 1, requeue_at_ms=NOW_MS))
    assert admitted(plan(of)) == ["w"]


STOPPED = {
    StopPolicy.NONE: (),
    StopPolicy.HOLD: (),
    StopPolicy.HOLD_AND_DRAIN: ("ns/a", "ns/b"),
}


@pytest.mark.parametrize("stop", STOPPED)
def test_stopped_queue_is_drained(stop: StopPolicy) -> None:
    of = queue("q", 3, stop=stop)
    decision = plan(snapshot(of, running("b"), running("a"), running("leaving", evicted=True)))
    assert decision.drained == STOPPED[stop]


def test_a_reservation_in_a_queue_that_is_gone_counts_nowhere() -> None:
    of = snapshot(queue("q", 1), running("r", "gone"), workload("w", "q", 1))
    assert admitted(plan(of)) == ["w"]


def test_a_sticky_preemptor_is_not_set_back_by_a_newcomer() -> None:
    """The preemptor gets the quota of its victims, although a more urgent one has arrived."""
    waiting, urgent = (
        workload("w", "q", 2, priority=1, preempting=True),
        workload("urgent", "q", 2, priority=2),
    )
    assert admitted(plan(snapshot(queue("q", 2), waiting, urgent))) == ["w"]
    assert admitted(plan(snapshot(queue("q", 2, strategy=STRICT), waiting, urgent))) == ["urgent"]


def test_a_preemptor_goes_before_other_queues() -> None:
    """Otherwise `other` takes the quota of `victim`, which reclaims it, and so on forever."""
    of = snapshot(
        [
            queue("a", Quota(2, borrowing_limit=1), within_queue=LOWER, **RECLAIMING),
            queue("b", 4, **ML),
        ],
        running("victim", "a", gpu=2),
        workload("preemptor", "a", 3, priority=1, queued_at_ms=5),
        workload("other", "b", 6, priority=2),
        cohorts=[Cohort("ml", "org")],
    )
    decision = plan(of)
    assert preempted(decision) == [("victim", "preemptor")]
    of = withdrawn(applied(of, decision))
    decision = plan(of)
    assert admitted(decision) == ["preemptor"]
    decision = plan(withdrawn(applied(of, decision)))
    assert (admitted(decision), preempted(decision)) == ([], []), "and there it rests"


def test_preemptors_go_first_by_the_rules() -> None:
    """`preemptor` is admitted for its victims: `other` is more urgent, but in another queue."""
    of = snapshot(
        [queue("a", Quota(2, borrowing_limit=1), within_queue=LOWER, **ML), queue("b", 4, **ML)],
        workload("preemptor", "a", 3, priority=1, preempting=True),
        workload("other", "b", 6, priority=3),
        cohorts=[Cohort("ml", "org")],
    )
    assert admitted(decide(of, NOW_MS, Rules(prioritize_preemptors=True))) == ["preemptor"]
    assert admitted(decide(of, NOW_MS)) == ["other"]


ONLY_ML = LabelSelector((Requirement("team", "In", ("ml",)),))

NOT_LOOKED_AT = {  # the workload's queue and fields; reason and sentence
    "namespace": (
        {"namespaces": ONLY_ML},
        {},
        WaitReason.REFUSED,
        "namespace ns does not match the namespaceSelector of ClusterQueue q",
    ),
    "what it asks": (
        {},
        {"refused": "asks for too much"},
        WaitReason.REFUSED,
        "cannot be admitted: asks for too much",
    ),
    "checks": (
        {},
        {"checks": {"b": CheckState.RETRY, "a": CheckState.REJECTED, "c": CheckState.READY}},
        WaitReason.CHECK_FAILED,
        "waits for a retry of admission checks: a, b",
    ),
}


@pytest.mark.parametrize(
    ("of", "fields", "reason", "message"), NOT_LOOKED_AT.values(), ids=NOT_LOOKED_AT.keys()
)
def test_head_is_refused_before_nomination(
    of: dict[str, Any], fields: dict[str, Any], reason: WaitReason, message: str
) -> None:
    (waiting,) = plan(snapshot(queue("q", 2, **of), workload("w", "q", 1, **fields))).waiting
    assert (waiting.reason, waiting.message) == (reason, message)


def test_a_gated_preemptor() -> None:
    of = snapshot(
        queue("q", 2, within_queue=LOWER),
        running("r", gpu=2),
        workload("w", "q", 1, priority=1, preemption_gated=True),
    )
    gated = decide(of, NOW_MS, Rules(preemption_gates=True))
    assert (preempted(gated), reasons(gated)) == ([], {"w": WaitReason.GATED})
    assert preempted(plan(of)) == [("r", "w")]


def test_flavors_by_fungibility() -> None:
    """Preempts on spot with MayStopSearch; by default it takes plain, which is free."""
    quotas = {"spot": {GPU: 2}, "plain": {GPU: 2}}
    stop = FungibilityPolicy.MAY_STOP_SEARCH
    gang = workload("w", "q", 2, priority=1)
    victim = running("r", gpu=2, flavor="spot")
    eager = plan(snapshot(queue("q", quotas, within_queue=LOWER, when_can_preempt=stop), victim, gang))
    assert preempted(eager) == [("r", "w")]
    usual = plan(snapshot(queue("q", quotas, within_queue=LOWER), victim, gang))
    assert usual.admissions[0].admission.pod_sets[0].flavors == {GPU: "plain"}


def test_workloads_of_one_shape_get_one_answer() -> None:
    """A thousand equal gangs are tried once; another shape behind them is tried all the same."""
    of = queue("q", 4)
    crowd = [workload(f"w{index}", "q", 3, queued_at_ms=index) for index in range(1000)]
    decision = plan(snapshot(of, running("r", gpu=2), *crowd, workload("other", "q", 2, queued_at_ms=9999)))
    assert admitted(decision) == ["other"]
    assert {(wait.reason, wait.message) for wait in decision.waiting} == {
        (QUOTA, f"needs 3 {GPU} of flavor l4 but ClusterQueue q has 0 of 4 left")
    }


def test_no_flavor_is_tolerated() -> None:
    of = snapshot(queue("q", 4), workload("w", "q", 1), flavors=[Flavor("l4", taints=(taint("gpu"),))])
    assert reasons(plan(of)) == {"w": WaitReason.NO_FLAVOR}
