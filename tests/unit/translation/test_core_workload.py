"""Conversion of Workload objects to the core's gangs."""

import pytest

from muster.admission import Rules
from muster.objects import kueue
from muster.objects.meta import Condition, ObjectMeta
from muster.objects.names import BOOST_ANNOTATION
from muster.translation import core_workload

BOOSTS = {  # text of the annotation, and what it adds to the priority
    "more": ("7", 7),
    "signed": ("+7", 7),
    "less": ("-7", -7),
    "no number": ("high", 0),
    "no whole number": ("7.5", 0),
    "more than 32 bits": ("2147483648", 0),
    "nothing": ("", 0),
}


@pytest.mark.parametrize(("text", "added"), BOOSTS.values(), ids=BOOSTS.keys())
def test_a_priority_boost_is_added_if_valid(text: str, added: int) -> None:
    meta = ObjectMeta(name="a", annotations={BOOST_ANNOTATION: text})
    obj = kueue.Workload(metadata=meta, spec=kueue.WorkloadSpec(priority=100))
    assert core_workload.workload(obj, obj.status, "q", Rules(priority_boost=True)).priority == 100 + added
    assert core_workload.workload(obj, obj.status, "q").priority == 100


def condition(kind: str, status: str, reason: str, message: str = "") -> Condition:
    return Condition(
        type=kind, status=status, reason=reason, message=message, last_transition_time="2026-01-01T00:00:00Z"
    )


LEFT = condition("Evicted", "True", "Preempted", "Preempted to accommodate another")
STANDINGS: dict[str, tuple[list[Condition], bool]] = {
    # conditions, and whether it is parked
    "new": ([], False),
    "tried without success": ([condition("QuotaReserved", "False", "Pending", "no room")], True),
    "waits for its victims": (
        [condition("QuotaReserved", "False", core_workload.WAITING_FOR_PREEMPTED)],
        False,
    ),
    "was not tried yet": ([condition("QuotaReserved", "False", "PendingEvaluation")], False),
    "has its quota": ([condition("QuotaReserved", "True", "QuotaReserved")], False),
    "was evicted just now": ([LEFT, condition("QuotaReserved", "False", "Pending", LEFT.message)], False),
    "was evicted and then tried without success": (
        [LEFT, condition("QuotaReserved", "False", "Pending", "no room")],
        True,
    ),
}


@pytest.mark.parametrize(("conditions", "parked"), STANDINGS.values(), ids=STANDINGS.keys())
def test_a_workload_is_parked_if_it_was_tried_in_vain(conditions: list[Condition], parked: bool) -> None:
    status = kueue.WorkloadStatus(conditions=tuple(conditions))
    obj = kueue.Workload(metadata=ObjectMeta(name="a"), spec=kueue.WorkloadSpec(), status=status)
    assert core_workload.workload(obj, status, "q").parked is parked


@pytest.mark.parametrize(
    ("limit_s", "past_s", "run_time_ms"),
    [(None, None, None), (60, None, 60_000), (60, 20, 40_000), (60, 99, 1000)],
)
def test_run_time_is_what_earlier_admissions_left(
    limit_s: int | None, past_s: int | None, run_time_ms: int | None
) -> None:
    status = kueue.WorkloadStatus(accumulated_past_execution_time_seconds=past_s)
    spec = kueue.WorkloadSpec(maximum_execution_time_seconds=limit_s)
    obj = kueue.Workload(metadata=ObjectMeta(name="a"), spec=spec, status=status)
    assert core_workload.workload(obj, status, "q").run_time_ms == run_time_ms
