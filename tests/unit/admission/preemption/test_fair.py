"""Victims of a workload of queue q where sharing is fair; `in` wants the first words.

By default, all queues are in cohort ml, the quotas are 2 GPUs each, q may take from any
queue and from lower priorities of its own, and everything there is is used.
"""

from fractions import Fraction
from typing import Any

import pytest

from muster.admission import (
    ClusterQueue,
    Cohort,
    FairSharing,
    FairStrategy,
    PreemptionPolicy,
    PreemptionReason,
    Quota,
    Rules,
    Workload,
)
from muster.admission.preemption.fair import TargetQueues
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import cohort, fr, queue, running, snapshot, workload

NEVER, LOWER, ANY = PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
OWN, RECLAIM, FAIR = (
    PreemptionReason.IN_CLUSTER_QUEUE,
    PreemptionReason.IN_COHORT_RECLAMATION,
    PreemptionReason.IN_COHORT_FAIR_SHARING,
)
FINAL, INITIAL = FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FairStrategy.LESS_THAN_INITIAL_SHARE
BOTH = FairSharing()
ONLY_FINAL, ONLY_INITIAL = FairSharing((FINAL,)), FairSharing((INITIAL,))
BY_SHARE_ONLY = FairSharing(preempt_within_nominal=False)
LASTING = FairSharing(only_lasting=True)
L4 = fr("l4")


def mate(name: str, quota: int | Quota = 2, in_cohort: str = "ml", **fields: Any) -> ClusterQueue:
    policies: dict[str, Any] = {"within_queue": LOWER, "reclaim_within_cohort": ANY}
    return queue(name, quota, cohort=in_cohort, **policies | fields)


def preemptor(
    queues: list[ClusterQueue],
    *running_now: Workload,
    cohorts: tuple[Cohort, ...] = (),
    sharing: FairSharing = BOTH,
    **fields: Any,
) -> Preemptor:
    incoming = workload("in", "q", 1, **{"priority": 5, **fields})
    state = WorkingState(snapshot(queues, *running_now, cohorts=cohorts))
    return Preemptor(state, incoming, state.queue("q"), state.tree.queues["q"], Rules(fair_sharing=sharing))


def victims(of: Preemptor, wants: int) -> dict[str, PreemptionReason]:
    nodes = [node for queue in of.state.tree.queues.values() for node in queue.lineage]
    before = [dict(node.usage) for node in nodes]
    targets = of.targets({L4: wants}, {L4})
    after = [{fr: node.usage[fr] for fr in was} for node, was in zip(nodes, before, strict=True)]
    assert after == before, "the quota is as it was"
    return {target.holding.workload.uid: target.reason for target in targets}


def crowd(name: str, *gpus: int, **fields: Any) -> list[Workload]:
    """Workloads of a queue, called a1, a2, … in queue a; the later ones got their quota later."""
    return [
        running(f"{name}{index}", name, gpus_each, reserved_at_ms=index, **fields)
        for index, gpus_each in enumerate(gpus, start=1)
    ]


TRIO = [mate("q"), mate("a"), mate("b")]
IDLE_Q = [mate("q", 0), mate("a"), mate("b")]
WITH_IMPORTANT = [
    mate("q", 0, reclaim_within_cohort=LOWER),
    mate("a", 2, "far"),
    mate("z", 0, "far"),
    mate("b", 8),
]
SMALL_AND_LARGE = [running("small", "a", 4, priority=-1), *crowd("a", 2, 18)]
DEEP = (cohort("near", "ml"), cohort("far", "ml"), cohort("ml"))

CASES: dict[str, tuple[Preemptor, int, dict[str, PreemptionReason]]] = {
    "none where no queue borrows": (
        preemptor([mate("q", 0), mate("a")], *crowd("a", 1, 1)), 1, {},
    ),
    "none by policy": (
        preemptor([mate("q", reclaim_within_cohort=NEVER, within_queue=NEVER), mate("a")],
                  *crowd("a", 1, 1, 1, 1)), 1, {},
    ),
    "within the nominal quota, regardless of the shares": (
        preemptor(TRIO, *crowd("a", 4), *crowd("b", 1, 1)), 2, {"a1": RECLAIM},
    ),
    "within the nominal quota from the largest share, the newest first": (
        preemptor(TRIO, *crowd("a", 1, 1, 1), *crowd("b", 1, 1, 1)), 2,
        {"a3": RECLAIM, "b3": RECLAIM},
    ),
    "within the nominal quota, by share if the rule is off": (
        preemptor(TRIO, *crowd("a", 1, 1, 1), *crowd("b", 1, 1, 1), sharing=BY_SHARE_ONLY), 2,
        {"a3": FAIR, "b3": FAIR},
    ),
    "from the largest borrower": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 0), mate("c", 6)],
                  *crowd("a", 1, 1), *crowd("b", 2, 1, 1)), 1, {"b3": FAIR},
    ),
    "as long as the victim keeps as large a share": (
        preemptor(IDLE_Q, *crowd("a", 1, 1, 1, 1)), 1, {"a4": FAIR},
    ),
    "not if the share would change hands": (
        preemptor(IDLE_Q, *crowd("a", 1, 1, 1), *crowd("b", 1)), 1, {},
    ),
    "another candidate where the first would leave too small a share": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 7)], *crowd("a", 1, 5)), 2, {"a1": FAIR},
    ),
    "a smaller initial share is enough in the second pass": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 6)], *crowd("a", 6)), 3, {"a1": FAIR},
    ),
    "no second pass with one strategy": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 6)], *crowd("a", 6), sharing=ONLY_FINAL), 3, {},
    ),
    "the initial share as the only strategy": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 6)], *crowd("a", 1, 5), sharing=ONLY_INITIAL), 1,
        {"a2": FAIR},
    ),
    "not as much as the initial share": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 6)], *crowd("a", 6)), 6, {},
    ),
    "one a queue in the second pass": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 6)], *crowd("a", 3, 3)), 4, {},
    ),
    "the second pass adds to the first": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 24)],
                  *SMALL_AND_LARGE), 19, {"small": FAIR, "a2": FAIR},
    ),
    "by the rule none that could take it back": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 24)], *SMALL_AND_LARGE, sharing=LASTING), 19, {},
    ),
    "by the rule, workloads that could not": (
        preemptor(IDLE_Q, *crowd("a", 1, 1, 1, 1), sharing=LASTING), 1, {"a4": FAIR},
    ),
    "down to less than a queue's own quota": (
        preemptor(WITH_IMPORTANT, *crowd("a", 3, 1), *crowd("z", 6, priority=9), cohorts=DEEP), 4,
        {"a1": FAIR, "a2": FAIR},
    ),
    "by the rule none that could reclaim it": (
        preemptor(WITH_IMPORTANT, *crowd("a", 3, 1), *crowd("z", 6, priority=9), cohorts=DEEP,
                  sharing=LASTING), 4, {},
    ),
    "lower priorities of its own queue": (
        preemptor([mate("q", 0), mate("b", 6)], *crowd("q", 6)), 4, {"q1": OWN},
    ),
    "its own queue where that borrows most": (
        preemptor([mate("q", 0), mate("a", 0), mate("b", 6)], *crowd("q", 2, 2), *crowd("a", 2)), 2,
        {"q2": OWN},
    ),
    "its own queue, alone without a cohort": (
        preemptor([queue("q", 2, within_queue=LOWER)], *crowd("q", 1, 1)), 2, {"q1": OWN, "q2": OWN},
    ),
    "no more than needed": (
        preemptor(TRIO, *crowd("a", 2, 2, priority=1), *crowd("b", 2)), 2, {"a2": RECLAIM},
    ),
    "a victim that is not needed stays": (
        preemptor([mate("q", 4), mate("a", 0), mate("b", 0)], *crowd("a", 2, 1), *crowd("b", 1)), 3,
        {"a1": RECLAIM, "a2": RECLAIM},
    ),
    "more by a larger weight": (
        preemptor([mate("q", 0, weight=Fraction(2)), mate("a", 0), mate("b", 6)], *crowd("a", 2, 2, 2)), 4,
        {"a2": FAIR, "a3": FAIR},
    ),
    "anything borrowed at weight zero": (
        preemptor([mate("q", 0), mate("a", 0, weight=Fraction(0)), mate("b", 6)], *crowd("a", 6)), 5,
        {"a1": FAIR},
    ),
    "nothing to borrow at weight zero": (
        preemptor([mate("q", 0, weight=Fraction(0)), mate("a", 0), mate("b", 6)], *crowd("a", 1, 5)), 1, {},
    ),
    "the lower share of two at weight zero": (
        preemptor([mate("q", 0, weight=Fraction(0)), mate("a", 0, weight=Fraction(0)), mate("b", 6)],
                  *crowd("a", 3, 3)), 3, {"a2": FAIR},
    ),
    "by the shares of whole cohorts": (
        preemptor([mate("q", 0, "near"), mate("mine", 2, "near"), mate("a", 0, "far"), mate("b", 2, "far"),
                   mate("c", 3)], *crowd("mine", 2), *crowd("a", 1, 4), cohorts=DEEP), 1, {"a1": FAIR},
    ),
    "none in a cohort that does not borrow": (
        preemptor([mate("q", 2, "near"), mate("a", 0, "far"), mate("b", 2, "far")],
                  *crowd("a", 2), *crowd("q", 2, priority=9), cohorts=DEEP), 1, {},
    ),
    "deep in the cohort that borrows most": (
        preemptor([mate("q", 2, "near"), mate("a", 0, "far"), mate("b", 1, "far"), mate("c", 1)],
                  *crowd("a", 1), *crowd("b", 2), *crowd("c", 2), cohorts=DEEP), 1, {"b1": RECLAIM},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("of", "wants", "expected"), CASES.values(), ids=CASES.keys())
def test_victims_where_sharing_is_fair(
    of: Preemptor, wants: int, expected: dict[str, PreemptionReason]
) -> None:
    assert victims(of, wants) == expected


def test_larger_recent_usage_is_preempted_first_in_a_queue_that_orders_by_usage() -> None:
    of = preemptor(
        [mate("q", 0), mate("a", usage_based=True), mate("b")],
        running("a1", "a", 2, local_queue="ns/modest", reserved_at_ms=2),
        running("a2", "a", 2, local_queue="ns/greedy", reserved_at_ms=1),
    )
    assert victims(of, 1) == {"a1": FAIR}
    usage = {"ns/modest": Fraction(1), "ns/greedy": Fraction(2)}
    by_usage = Preemptor(of.state, of.workload, of.queue, of.node, of.rules, usage)
    assert victims(by_usage, 1) == {"a2": FAIR}


def test_the_order_of_equal_shares() -> None:
    """Cohorts before queues, and queues in the order of their first candidates."""
    queues = [mate("q", 6), mate("a", 0), mate("b", 0), mate("c", 0, "far"), mate("d", 0, "near")]
    held = [*crowd("a", 2), *crowd("b", 2, priority=-1), *crowd("c", 2), *crowd("d", 2)]
    state = WorkingState(snapshot(queues, *held, cohorts=DEEP))
    nodes = state.tree.queues
    targets = TargetQueues(nodes["q"], {nodes[name]: state.holdings[name].values() for name in "abcd"})
    order = []
    for node in targets:
        targets.drop(node)
        order.append(node.name)
    assert order == ["c", "d", "b", "a"]
    assert not targets
