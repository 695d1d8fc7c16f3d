"""Aging: who waits long rises in priority, step by step, up to a limit.

It counts for the order within a queue and among the heads of a cycle. Whom a workload may preempt
goes by the priority that was declared, and so does who wins there: age alone never sends anybody
away. While it runs a workload keeps what it rose by when it got its quota, so that those it was let
in before do not take its place at once; as that only protects, preemption can not go round in circles.
"""

from muster.admission.model import Aging


def rise(aging: Aging, waited_ms: int) -> int:
    """What is added to the priority of who waited for so long."""
    return min(aging.rise_max, aging.step * (max(0, waited_ms) // aging.period_ms))


def next_rise_ms(aging: Aging, queued_at_ms: int, now_ms: int) -> int | None:
    """When it rises next; None at the limit."""
    if rise(aging, now_ms - queued_at_ms) >= aging.rise_max:
        return None
    return queued_at_ms + (max(0, now_ms - queued_at_ms) // aging.period_ms + 1) * aging.period_ms
