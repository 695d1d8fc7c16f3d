"""Tests of how many statuses of queues are written, and of which."""

from muster.cluster.relations import QueueKey
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.pacing.rates import (
    STATUS_BURST,
    STATUS_BUSY_INTERVAL_S,
    STATUS_INTERVAL_MS,
    STATUS_PER_S,
    QueueStatusRate,
)
from muster.kube import kinds
from muster.kube.writes import Delete


def queues(*names: int) -> list[QueueKey]:
    return [(kinds.CLUSTER_QUEUES, f"{name:04}") for name in names]


def write_of(queue: QueueKey) -> PlannedWrite:
    return PlannedWrite(queue[1], Delete(*queue))


def turn(rate: QueueStatusRate, at_ms: int, busy: bool = True) -> list[QueueKey]:
    """Returns the queues whose statuses are written; none of them is right afterwards."""
    return [(p.write.kind, p.write.key) for p in rate.choose(write_of, at_ms, busy=busy)]


def test_statuses_of_some_queues_are_all_written_at_once() -> None:
    rate, every = QueueStatusRate(), queues(*range(STATUS_BURST))
    rate.mark(every)
    assert turn(rate, 0) == every
    assert rate.due_ms == STATUS_INTERVAL_MS
    assert turn(rate, STATUS_INTERVAL_MS - 1) == []


def test_a_status_is_looked_at_until_it_is_right() -> None:
    rate, every = QueueStatusRate(), queues(1, 2)
    rate.mark(every)
    assert turn(rate, 0) == every
    assert rate.choose(lambda queue: None, STATUS_INTERVAL_MS, busy=False) == []
    assert rate.due_ms is None
    assert turn(rate, 2 * STATUS_INTERVAL_MS) == []


def test_statuses_that_are_right_take_no_turn() -> None:
    rate = QueueStatusRate()
    rate.mark(queues(*range(3 * STATUS_BURST)))
    wrong = queues(0, 3 * STATUS_BURST - 1)
    assert rate.choose(lambda q: write_of(q) if q in wrong else None, 0, busy=True) == [*map(write_of, wrong)]


def test_of_many_queues_the_longest_unwritten_are_first() -> None:
    """Each of 20 more than a burst changes all the time: after the burst, 5 in half a second."""
    rate, every = QueueStatusRate(), queues(*range(STATUS_BURST + 20))
    rate.mark(every)
    assert turn(rate, 0) == every[:STATUS_BURST]
    later = [queue for at in range(1, 6) for queue in turn(rate, at * STATUS_INTERVAL_MS)]
    assert later == [*every[STATUS_BURST:], *every[:5]]


def test_under_load_more_cluster_queues_than_local_queues_are_written() -> None:
    """A thousand of each: only its tenant reads the status of a LocalQueue."""
    rate = QueueStatusRate()
    local = [(kinds.LOCAL_QUEUES, key) for _, key in queues(*range(1000))]
    rate.mark([*local, *queues(*range(1000))])
    turn(rate, 0)
    second = [queue for at_ms in (500, 1000) for queue in turn(rate, at_ms)]
    assert second == [
        *queues(*range(STATUS_BURST, STATUS_BURST + 5)),
        local[STATUS_BURST],
        *queues(*range(STATUS_BURST + 5, STATUS_BURST + 10)),
        local[STATUS_BURST + 1],
    ]


def test_under_load_few_queues_are_written_as_seldom_as_many() -> None:
    """After the burst, each once in STATUS_BUSY_INTERVAL_S."""
    rate, every = QueueStatusRate(), queues(*range(20))
    rate.mark(every)
    burst_ends_ms = STATUS_BURST // len(every) * STATUS_INTERVAL_MS
    for at_ms in range(0, burst_ends_ms + 1, STATUS_INTERVAL_MS):
        turn(rate, at_ms)
    began_ms = burst_ends_ms + STATUS_INTERVAL_MS
    later = [
        turn(rate, began_ms + at_ms) for at_ms in range(0, STATUS_BUSY_INTERVAL_S * 1000, STATUS_INTERVAL_MS)
    ]
    assert sorted(q for chosen in later for q in chosen) == every


def test_a_queue_that_is_written_otherwise_keeps_its_turn() -> None:
    """A queue that gets its finalizer in the same pass, for example."""
    rate, every = QueueStatusRate(), queues(1, 2)
    rate.mark(every)
    first = rate.choose(write_of, 0, busy=False, written={every[0]})
    assert first == [write_of(every[1])]
    assert turn(rate, STATUS_INTERVAL_MS) == every


def test_more_are_written_without_load() -> None:
    rate = QueueStatusRate()
    rate.mark(queues(*range(3 * STATUS_BURST)))
    assert len(turn(rate, 0, busy=False)) == STATUS_BURST
    assert len(turn(rate, STATUS_INTERVAL_MS, busy=False)) == STATUS_PER_S * STATUS_INTERVAL_MS // 1000


def test_a_queue_is_not_starved_by_others_that_change_more_often() -> None:
    rate = QueueStatusRate()
    often, seldom = queues(*range(2 * STATUS_BURST)), queues(9999)
    written = set()
    rate.mark(often + seldom)
    for at_ms in range(0, 40_000, STATUS_INTERVAL_MS):
        rate.mark(often)
        written |= {*turn(rate, at_ms)}
    assert seldom[0] in written
