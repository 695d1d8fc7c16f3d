import pytest

from muster.admission import Workload
from muster.admission.queueing.groups import queue_order
from tests.unit.admission.builders import workload

QUEUE = {  # which one goes first
    "higher priority": (
        workload("a", priority=2, queued_at_ms=9),
        workload("b", priority=1, queued_at_ms=0),
    ),
    "waits longer": (workload("b", queued_at_ms=1), workload("a", queued_at_ms=2)),
    "uid": (workload("b", uid="1"), workload("a", uid="2")),
    "key": (workload("a", uid="1"), workload("b", uid="1")),
    "preempting does not count": (workload("a", priority=2), workload("b", priority=1, preempting=True)),
}


@pytest.mark.parametrize(("first", "second"), QUEUE.values(), ids=QUEUE.keys())
def test_queue_order(first: Workload, second: Workload) -> None:
    assert queue_order(first) < queue_order(second)


def test_a_sticky_preemptor_stays_at_the_head() -> None:
    preemptor, urgent = workload("a", preempting=True), workload("b", priority=9)
    assert queue_order(preemptor, sticky=True) < queue_order(urgent, sticky=True)
