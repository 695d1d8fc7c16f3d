"""A scheduling cycle: the heads of all queues, each nominated and then processed in order.

Kueue: pkg/scheduler/scheduler.go, nominate and processEntry. Kueue writes between two cycles;
here the working state moves on, and what is to be written becomes the plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.cycle.state import Holding, WorkingState
from muster.admission.explain import Verdict, Wait
from muster.admission.flavors.assigner import Assignment, FlavorAssigner, Mode, Simulate, total_requests
from muster.admission.model import (
    Admission,
    FlavorResource,
    PodSetAssignment,
    Preemption,
    PreemptionPolicy,
    Workload,
)
from muster.admission.preemption.classical import Preemptor, Target
from muster.admission.queueing.order import CycleOrder, cycle_order
from muster.admission.queueing.pending import PendingQueue
from muster.admission.quota.tree import QuotaNode, Usage


@dataclass(frozen=True, slots=True)
class Nomination:
    """What a head could get, and whom that would cost their quota."""

    workload: Workload
    queue: PendingQueue
    assignment: Assignment
    targets: tuple[Target, ...]

    @property
    def node(self) -> QuotaNode:
        return self.queue.node

    @property
    def usage(self) -> Usage:
        return self.assignment.usage


@dataclass(slots=True)
class Outcome:
    """What the cycles so far came to; keys are the workloads'."""

    admitted: dict[str, Admission] = field(default_factory=dict)
    preemptions: list[Preemption] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    nominations: dict[str, tuple[int, Nomination]] = field(default_factory=dict)  # by state version


class Cycle:
    """One cycle. What it reserves for preemptors lasts until its end."""

    def __init__(
        self, state: WorkingState, queues: Mapping[str, PendingQueue], outcome: Outcome, now_ms: int
    ) -> None:
        self._state = state
        self._queues = queues
        self._outcome = outcome
        self._now_ms = now_ms
        self._changed = False
        self._reserved: list[tuple[Nomination, Usage]] = []
        self._leaving: dict[str, tuple[Target, Nomination]] = {}  # by the victim's key

    def run(self) -> bool:
        """Whether anything changed; if not, another cycle would do the same."""
        heads = [(queue, queue.head()) for queue in self._queues.values()]
        nominations = [self._nominate(queue, head) for queue, head in heads if head is not None]
        for nomination in sorted(nominations, key=self._order):
            self._process(nomination)
        for nomination, usage in self._reserved:
            nomination.node.remove(usage)
        for target, preemptor in self._leaving.values():
            self._send_away(target, preemptor)
        return self._changed

    def _order(self, head: Nomination) -> CycleOrder:
        verdict = self._outcome.verdicts.get(head.workload.key)
        claims = verdict is not None and verdict.wait is Wait.PREEMPTING
        return cycle_order(head.workload, head.workload.preempting or claims, head.assignment.borrowing)

    def _nominate(self, queue: PendingQueue, head: Workload) -> Nomination:
        version = self._state.version(queue.node)
        known = self._outcome.nominations.get(head.key)
        if known is not None and known[0] == version:
            return known[1]
        preemptor = Preemptor(self._state, head, queue.queue, queue.node)
        assignment = self._assigner(queue, preemptor.simulate).assign(head)
        targets: tuple[Target, ...] = ()
        if assignment.mode not in (Mode.NO_FIT, Mode.FIT):
            targets = self._worthwhile(queue, head, preemptor.targets(assignment.usage, assignment.contested))
        nomination = Nomination(head, queue, assignment, targets)
        self._outcome.nominations[head.key] = version, nomination
        return nomination

    def _worthwhile(self, queue: PendingQueue, head: Workload, targets: list[Target]) -> tuple[Target, ...]:
        """The targets, if the head is let in once they are gone.

        Pod sets choose one after the other: with the victims gone a first one may choose so that
        the next finds no place. Kueue preempts all the same, and again when the victims are back.
        """
        with self._state.without(target.holding for target in targets):
            then = self._assigner(queue).assign(head)
        return tuple(targets) if then.mode is Mode.FIT else ()

    def _assigner(self, queue: PendingQueue, simulate: Simulate | None = None) -> FlavorAssigner:
        return FlavorAssigner(queue.queue, queue.node, self._state.snapshot.flavors, simulate)

    def _process(self, head: Nomination) -> None:
        if head.assignment.mode is Mode.FIT:
            self._admit(head)
        elif head.targets:
            self._preempt(head)
        else:
            if head.assignment.mode is not Mode.NO_FIT:
                self._reserve_unreclaimable(head)
            self._outcome.verdicts[head.workload.key] = Verdict(Wait.NO_ROOM)
            self._changed |= head.queue.park_head()

    def _admit(self, head: Nomination) -> None:
        if not (self._fits_after_preemptions(head) and self._fits_now(head)):
            self._keep_waiting(head)
            return
        workload = head.workload
        admission = _admission(head)
        holding = Holding(workload, head.node, dict(head.usage), self._now_ms, False, admission)
        self._state.hold(holding)
        self._outcome.admitted[workload.key] = admission
        head.queue.admit_head()
        self._changed = True

    def _preempt(self, head: Nomination) -> None:
        """Claims the targets, unless another head of this cycle has claimed one of them."""
        victims = tuple(target.holding.workload.key for target in head.targets)
        claimed = next((self._leaving[victim] for victim in victims if victim in self._leaving), None)
        if claimed is not None:
            verdict = Verdict(Wait.OVERLAPPING, claimed[1].workload.key, victims)
            self._outcome.verdicts[head.workload.key] = verdict
        elif not self._fits_after_preemptions(head):
            self._keep_waiting(head)
        else:
            self._reserve(head, head.usage)
            self._leaving |= {
                victim: (target, head) for victim, target in zip(victims, head.targets, strict=True)
            }
            self._outcome.verdicts[head.workload.key] = Verdict(Wait.PREEMPTING, victims=victims)

    def _fits_after_preemptions(self, head: Nomination) -> bool:
        """Beside all that this cycle has admitted and reserved, once its victims are gone."""
        leaving = {key: target.holding for key, (target, _) in self._leaving.items()}
        leaving |= {target.holding.workload.key: target.holding for target in head.targets}
        with self._state.without(leaving.values()):
            return head.node.fits(head.usage)

    def _fits_now(self, head: Nomination) -> bool:
        """While the victims still run. Kueue does not ask this, and may admit too much meanwhile."""
        if not self._leaving:
            return True
        for nomination, usage in self._reserved:
            nomination.node.remove(usage)
        fits = head.node.fits(head.usage)
        for nomination, usage in self._reserved:
            nomination.node.add(usage)
        return fits

    def _keep_waiting(self, head: Nomination) -> None:
        """It keeps its place at the head; what it needs is reserved, or just went to another one."""
        rivals = (
            nomination.workload.key
            for nomination, usage in self._reserved
            if nomination.node.root is head.node.root and usage.keys() & head.usage.keys()
        )
        verdict = Verdict(Wait.KEPT, next(rivals, ""))
        self._outcome.verdicts[head.workload.key] = verdict

    def _reserve_unreclaimable(self, head: Nomination) -> None:
        """Keeps its own quota for a head that finds no victims and could not reclaim it later.

        Kueue: reserveCapacityForUnreclaimablePreempt, quotaResourcesToReserve.
        """
        if head.queue.queue.reclaim_within_cohort is PreemptionPolicy.ANY:
            return
        share: dict[FlavorResource, int] = {}
        for fr, amount in head.usage.items():
            quota = head.node.quota(fr)
            limit = quota.borrowing_limit if head.assignment.borrowing else 0
            if limit is not None:
                amount = min(amount, quota.nominal + limit - head.node.usage.get(fr, 0))
            share[fr] = max(0, amount)
        self._reserve(head, share)

    def _reserve(self, head: Nomination, usage: Usage) -> None:
        head.node.add(usage)
        self._reserved.append((head, usage))

    def _send_away(self, target: Target, preemptor: Nomination) -> None:
        """Evicts a victim; one that this very plan admits has not started and is taken back."""
        holding = target.holding
        workload = holding.workload
        if holding.admission is not None:
            self._state.take_back(holding)
            del self._outcome.admitted[workload.key]
            self._queues[workload.cluster_queue].put_back(workload)
            verdict = Verdict(Wait.OUTRANKED, preemptor.workload.key)
            self._outcome.verdicts[workload.key] = verdict
            self._changed = True
        elif not holding.evicted:
            self._state.evict(holding)
            preemption = Preemption(workload.key, preemptor.workload.key, target.reason)
            self._outcome.preemptions.append(preemption)
            self._changed = True


def _admission(head: Nomination) -> Admission:
    queue = head.queue.queue
    pod_sets = []
    for pod_set, flavors in zip(head.workload.pod_sets, head.assignment.flavors, strict=True):
        requests = total_requests(pod_set, queue)
        usage = {resource: requests[resource] for resource in flavors}
        pod_sets.append(PodSetAssignment(pod_set.name, pod_set.count, flavors, usage))
    return Admission(queue.name, tuple(pod_sets))
