"""What keeps a workload that stands in a queue of an arena, as of its last pass."""

from dataclasses import replace

from muster.admission.cycle.entry import Outcome
from muster.admission.cycle.reserve import claimed_by
from muster.admission.engine.arena import Arena
from muster.admission.explain import Explainer, Verdict, Wait
from muster.admission.model import Aging, Waiting, WaitReason, Workload
from muster.admission.rules.aging import next_rise_ms
from muster.admission.rules.remark import OPEN, earliest, remarked

_WAITS = {
    Outcome.PREEMPTING: Wait.PREEMPTING,
    Outcome.OVERLAPPING: Wait.OVERLAPPING,
    Outcome.CROWDED_OUT: Wait.KEPT,
    Outcome.DEFERRED: Wait.KEPT,
    Outcome.GATED: Wait.GATED,
}


def why_it_waits(arena: Arena, explainer: Explainer, workload: Workload, aging: Aging | None) -> Waiting:
    """Until when is that of whatever comes first: a rule's moment, or the next rise of its priority."""
    group, behind = arena.queues[workload.cluster_queue].place(workload)
    head = arena.heads.get(workload.key)
    if behind is not None:
        verdict = Verdict(Wait.BEHIND, behind.key)
    elif head is not None:
        leaving = [target.holding for target in head.targets] or claimed_by(head)
        victims = tuple(holding.workload.key for holding in leaving)
        verdict = Verdict(_WAITS.get(head.outcome, Wait.NO_ROOM), head.rival, victims)
    else:
        verdict = Verdict(Wait.NO_ROOM)
    waiting = explainer.queued(workload, verdict, group)
    if workload.preempting and waiting.reason is WaitReason.QUOTA:
        # it comes first for the sake of victims, if only those of another one: objects say so by the reason
        waiting = replace(waiting, reason=WaitReason.PREEMPTION)
    waiting = remarked(waiting, arena.remark(workload, group) if behind is None else None)
    if aging is None or waiting.reason not in OPEN:
        return waiting
    rises_ms = next_rise_ms(aging, workload.queued_at_ms, explainer.now_ms)
    return replace(waiting, until_ms=earliest(waiting.until_ms, rises_ms))
