"""Tests of how many statuses of queues are written, and of which."""

from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.process.queue_status_rate import BURST, INTERVAL_MS, PER_S, QueueStatusRate
from muster.kube import kinds
from muster.kube.writes import Delete


def changed(*names: int) -> list[PlannedWrite]:
    return [PlannedWrite(f"{name:04}", Delete(kinds.CLUSTER_QUEUES, f"{name:04}")) for name in names]


def test_statuses_of_some_queues_are_all_written_at_once() -> None:
    rate = QueueStatusRate()
    every = changed(*range(BURST))
    assert rate.choose(every, 0) == (every, False)
    assert rate.due_ms == INTERVAL_MS


def test_of_many_queues_the_longest_unwritten_are_first() -> None:
    """Each of 120 changes all the time: after the burst, 5 in half a second."""
    rate, every = QueueStatusRate(), changed(*range(BURST + 20))
    chosen, more = rate.choose(every, 0)
    assert chosen == every[:BURST]
    assert more
    a_time = PER_S * INTERVAL_MS // 1000
    assert rate.choose(every, 500) == (every[BURST : BURST + a_time], True)
    later = [planned for turn in range(2, 6) for planned in rate.choose(every, turn * 500)[0]]
    assert later == [*every[BURST + a_time :], *every[:a_time]]


def test_a_queue_is_not_starved_by_others_that_change_more_often() -> None:
    rate = QueueStatusRate()
    often, seldom = changed(*range(2 * BURST)), changed(9999)
    written = [
        planned for at_ms in range(0, 20_000, 500) for planned in rate.choose(often + seldom, at_ms)[0]
    ]
    assert seldom[0] in written
