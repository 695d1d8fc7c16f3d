"""Explains why a workload waits, in one sentence for its user.

The sentences describe the state after the plan, so that the text does not change while the cluster does not.
They complete "the workload …".
"""

from collections.abc import Hashable
from dataclasses import replace

from muster.admission.cycle.entry import Entry, EntryOutcome
from muster.admission.cycle.nominate import failed_checks, refusal
from muster.admission.explain.diagnosis import Blocked, blocked, diagnose
from muster.admission.explain.sentences import leaving, no_flavor, short, too_large
from muster.admission.explain.verdict import HeadWait, Wait, verdict_of
from muster.admission.flavors.assignment import Assignment
from muster.admission.model import (
    NEVER_MS,
    ClusterQueue,
    Exclusion,
    QueueingStrategy,
    Shortfall,
    StopPolicy,
    Toleration,
    Waiting,
    WaitReason,
    Workload,
)
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.over_budget import of_pending
from muster.admission.state.state import WorkingState
from muster.admission.wait_note import TRANSIENT_REASONS, WaitNote, earliest, with_note

_ANYTHING = Toleration("", "Exists", "", None)


class Explainer:
    """Turns verdicts into `Waiting`, using the state after the last cycle."""

    def __init__(self, state: WorkingState, now_ms: int) -> None:
        self._state = state
        self.now_ms = now_ms
        self._cache: dict[tuple[Hashable, HeadWait], Waiting] = {}
        self._infeasible: dict[Hashable, Waiting | None] = {}

    def not_queued(self, workload: Workload) -> Waiting | None:
        """Explains a workload that is in no queue; None if it is queued."""
        name = workload.cluster_queue
        queue = self._state.snapshot.cluster_queues.get(name)
        if queue is None:
            return _waiting(workload, WaitReason.QUEUE_INACTIVE, f"ClusterQueue {name} does not exist")
        if name in self._state.inactive:
            why = f"ClusterQueue {name} is inactive: {self._state.inactive[name]}"
            return _waiting(workload, WaitReason.QUEUE_INACTIVE, why)
        if queue.stop is not StopPolicy.NONE:
            why = f"ClusterQueue {name} is stopped (stopPolicy {queue.stop})"
            return _waiting(workload, WaitReason.QUEUE_STOPPED, why)
        if workload.is_backing_off(self.now_ms):
            why = "waits for the end of its backoff after a failed attempt"
            ends_ms = workload.requeue_at_ms
            until_ms = None if ends_ms == NEVER_MS else ends_ms
            return Waiting(workload.key, WaitReason.BACKOFF, why, until_ms)
        return None

    def hypothetical(self, workload: Workload) -> Waiting | None:
        """Explains what would be missing for a workload that is not in the state; None if it would fit."""
        return self.not_queued(workload) or self._never_fits(workload) or self._lacks_now(workload)

    def pending(
        self,
        workload: Workload,
        head: Entry | None,
        behind: Workload | None,
        alike: Hashable,
        note: WaitNote | None,
    ) -> Waiting:
        """Explains a workload of an active queue: `head` is its entry in the last cycle, if it was a head;
        `behind` the head that blocks it; `note` comes from an optional rule.

        `until_ms` is the rule's time or the next boost of its priority, whichever is earlier."""
        waiting = self.queued(workload, verdict_of(head, behind), alike)
        if workload.preempting and waiting.reason is WaitReason.QUOTA:
            # It has precedence because of targets, even if another workload claimed them: the reason shows
            # that in the API.
            waiting = replace(waiting, reason=WaitReason.PREEMPTION)
        waiting = with_note(with_note(waiting, note), self._over_budget(workload))
        aging = self._state.rules.aging
        if aging is None or waiting.reason not in TRANSIENT_REASONS:
            return waiting
        boost_ms = aging.next_boost_ms(workload.queued_at_ms, self.now_ms)
        return replace(waiting, until_ms=earliest(waiting.until_ms, boost_ms))

    def _over_budget(self, workload: Workload) -> WaitNote | None:
        """Returns the note on a workload over a soft budget."""
        used_up = of_pending(self._state.used_up, workload)
        if used_up is None:
            return None
        return WaitNote(f"and takes only free quota as {used_up.message}", used_up.until_ms)

    def queued(self, workload: Workload, verdict: HeadWait, alike: Hashable) -> Waiting:
        """Explains a workload that the cycles did not admit. Workloads of a queue with equal `alike` and
        verdict get the same explanation."""
        waiting = self._cache.get((alike, verdict))
        if waiting is None:
            waiting = self._cache[alike, verdict] = self._explain(workload, verdict, alike)
        if waiting.workload == workload.key:
            return waiting
        return replace(waiting, workload=workload.key)

    def _explain(self, workload: Workload, verdict: HeadWait, alike: Hashable) -> Waiting:
        """Returns obstacles that cannot resolve by themselves first."""
        queue = self._state.snapshot.cluster_queues[workload.cluster_queue]
        refused = self._refused(workload, queue)
        if refused is not None:
            return refused
        if alike not in self._infeasible:
            self._infeasible[alike] = self._never_fits(workload)
        infeasible = self._infeasible[alike]
        if infeasible is not None:
            return infeasible
        match verdict.wait:
            case Wait.PREEMPTING:
                why = leaving(verdict)
                return _waiting(workload, WaitReason.PREEMPTION, why, others=verdict.targets)
            case Wait.OVERLAPPING:
                why = f"{leaving(verdict)}, and for {verdict.other}, which is ahead of it"
                return _waiting(workload, WaitReason.QUOTA, why, others=(*verdict.targets, verdict.other))
            case Wait.RESERVED:
                why = (
                    f"waits because the quota it needs is reserved for {verdict.other}, which is ahead of it"
                )
                return _waiting(workload, WaitReason.QUOTA, why, others=(verdict.other,))
            case Wait.BEHIND:
                strict = " (StrictFIFO)" if queue.strategy is QueueingStrategy.STRICT_FIFO else ""
                why = f"waits behind {verdict.other}, the head of ClusterQueue {queue.name}{strict}"
                return _waiting(workload, WaitReason.BEHIND_HEAD, why, others=(verdict.other,))
            case Wait.GATED:
                why = "waits because it requires preemption, and a preemption gate is closed"
                return _waiting(workload, WaitReason.GATED, why)
        return self._lacks_now(workload) or _waiting(
            workload, WaitReason.QUOTA, "fits now, and is retried after the next change"
        )

    def _refused(self, workload: Workload, queue: ClusterQueue) -> Waiting | None:
        """Returns why the workload is not nominated (cycle/nominate.py)."""
        match refusal(self._state, workload, queue):
            case EntryOutcome.CHECK_FAILED:
                failed = ", ".join(sorted(failed_checks(workload)))
                why = f"waits for a retry of admission checks: {failed}"
                return _waiting(workload, WaitReason.CHECK_FAILED, why)
            case EntryOutcome.WRONG_NAMESPACE:
                why = (
                    f"namespace {workload.namespace} does not match the namespaceSelector of ClusterQueue "
                    f"{queue.name}"
                )
                return _waiting(workload, WaitReason.REFUSED, why)
            case EntryOutcome.REFUSED:
                why = workload.refused or "its gang holds no quota"
                return _waiting(workload, WaitReason.REFUSED, f"cannot be admitted: {why}")
        return None

    def _never_fits(self, workload: Workload) -> Waiting | None:
        """Returns the obstacle that remains even if no other workload runs; None without one."""
        queue, node = self._queue(workload)
        flavors = self._state.flavors[queue.name]
        counts = self._min_counts(workload)
        blocks = blocked(flavors, node, workload)
        if blocks:
            return self._blocked(workload, queue, node, blocks)
        diagnosis = diagnose(flavors, node, workload, counts, empty=True)
        if diagnosis.shortfalls:
            why = too_large(node, diagnosis.shortfalls, diagnosis.exclusions)
            return _lacking(workload, WaitReason.NEVER_FITS, why, diagnosis.shortfalls, diagnosis.exclusions)
        unplaced = _unplaced(diagnosis.assignment)
        why = f"cannot fit its topology: {unplaced}, even if all nodes were empty"
        return _waiting(workload, WaitReason.NEVER_FITS, why) if unplaced else None

    def _blocked(
        self, workload: Workload, queue: ClusterQueue, node: QuotaNode, blocks: tuple[Blocked, ...]
    ) -> Waiting:
        """Returns the exclusions of all flavors, and the quota that the workload would lack if it could use
        them."""
        exclusions = tuple(exclusion for block in blocks for exclusion in block.exclusions)
        flavors, unconstrained = self._state.flavors[queue.name], _unconstrained(workload, blocks)
        shortfalls: tuple[Shortfall, ...] = ()
        if not blocked(flavors, node, unconstrained):
            counts = self._min_counts(unconstrained)
            shortfalls = diagnose(flavors, node, unconstrained, counts, empty=True).shortfalls
        also = f"; and it {too_large(node, shortfalls, ())}" if shortfalls else ""
        why = no_flavor(queue, blocks, also)
        return _lacking(workload, WaitReason.NO_FLAVOR, why, shortfalls, exclusions)

    def _lacks_now(self, workload: Workload) -> Waiting | None:
        """Returns the quota or nodes that the workload lacks now; None if it lacks nothing."""
        queue, node = self._queue(workload)
        diagnosis = diagnose(self._state.flavors[queue.name], node, workload, self._min_counts(workload))
        if diagnosis.shortfalls:
            why = short(node, diagnosis.shortfalls, diagnosis.exclusions)
            return _lacking(workload, WaitReason.QUOTA, why, diagnosis.shortfalls, diagnosis.exclusions)
        unplaced = _unplaced(diagnosis.assignment)
        why = f"has enough quota, but waits for nodes: {unplaced}"
        return _waiting(workload, WaitReason.TOPOLOGY, why) if unplaced else None

    def _min_counts(self, workload: Workload) -> tuple[int, ...]:
        """Returns the minimum pods of each pod set for partial admission; empty if all pods are needed."""
        is_partial = any(pod_set.count_min is not None for pod_set in workload.pod_sets)
        if not (is_partial and self._state.rules.partial_admission):
            return ()
        return tuple(
            pod_set.count if pod_set.count_min is None else min(pod_set.count, pod_set.count_min)
            for pod_set in workload.pod_sets
        )

    def _queue(self, workload: Workload) -> tuple[ClusterQueue, QuotaNode]:
        name = workload.cluster_queue
        return self._state.snapshot.cluster_queues[name], self._state.tree.queues[name]


def _waiting(workload: Workload, reason: WaitReason, message: str, others: tuple[str, ...] = ()) -> Waiting:
    return Waiting(workload.key, reason, message, others=others)


def _lacking(
    workload: Workload,
    reason: WaitReason,
    message: str,
    shortfalls: tuple[Shortfall, ...],
    exclusions: tuple[Exclusion, ...],
) -> Waiting:
    return Waiting(workload.key, reason, message, shortfalls=shortfalls, exclusions=exclusions)


def _unconstrained(workload: Workload, blocks: tuple[Blocked, ...]) -> Workload:
    """Returns the workload without node selectors and affinity of blocked pod sets, which tolerate all
    taints."""
    names = {exclusion.pod_set for block in blocks for exclusion in block.exclusions}
    return replace(
        workload,
        pod_sets=tuple(
            replace(pod_set, node_selector={}, affinity=(), tolerations=(_ANYTHING,))
            if pod_set.name in names
            else pod_set
            for pod_set in workload.pod_sets
        ),
    )


def _unplaced(assignment: Assignment) -> str:
    """Returns why a pod set does not fit its topology; empty if all fit, or have none."""
    misplaced = (choice for choice in assignment.pod_sets if choice.misplaced)
    return next((f"for pod set {choice.name}, {choice.misplaced}" for choice in misplaced), "")
