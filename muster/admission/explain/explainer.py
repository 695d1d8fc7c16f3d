"""Why a workload waits, as one sentence for its user.

The sentences speak of the state after the plan, so that an unchanged cluster gives an unchanged
text. They complete "the workload …".
"""

from collections.abc import Hashable
from dataclasses import replace

from muster.admission.cycle.entry import Entry, EntryOutcome
from muster.admission.cycle.nominate import failed_checks, refusal
from muster.admission.explain.diagnosis import Blocked, blocked, diagnose
from muster.admission.explain.sentences import leaving, no_flavor, short, too_large
from muster.admission.explain.verdict import Verdict, Wait, verdict_of
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
from muster.admission.queueing.backoff import is_backing_off
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState
from muster.admission.wait_note import TRANSIENT_REASONS, WaitNote, earliest, with_note

_ANYTHING = Toleration("", "Exists", "", None)


class Explainer:
    """Turns verdicts into `Waiting`, over the state that the last cycle left."""

    def __init__(self, state: WorkingState, now_ms: int) -> None:
        self._state = state
        self.now_ms = now_ms
        self._told: dict[tuple[Hashable, Verdict], Waiting] = {}
        self._infeasible: dict[Hashable, Waiting | None] = {}

    def not_queued(self, workload: Workload) -> Waiting | None:
        """Explains a workload that takes part in no cycle; None if it does."""
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
        if is_backing_off(workload, self.now_ms):
            why = "waits for the end of its backoff after a failed attempt"
            ends_ms = workload.requeue_at_ms
            until_ms = None if ends_ms == NEVER_MS else ends_ms
            return Waiting(workload.key, WaitReason.BACKOFF, why, until_ms)
        return None

    def pending(
        self,
        workload: Workload,
        head: Entry | None,
        behind: Workload | None,
        alike: Hashable,
        note: WaitNote | None,
    ) -> Waiting:
        """Explains a workload of an active queue: `head` is its entry in the last cycle, if it was a head,
        `behind` the head that it waits behind, `note` what an optional rule says.

        `until_ms` is the rule's time or the next boost of its priority, whichever comes first."""
        waiting = self.queued(workload, verdict_of(head, behind), alike)
        if workload.preempting and waiting.reason is WaitReason.QUOTA:
            # It is ahead of others because of victims, if only those of another workload: the API shows this
            # by the reason.
            waiting = replace(waiting, reason=WaitReason.PREEMPTION)
        waiting = with_note(waiting, note)
        aging = self._state.rules.aging
        if aging is None or waiting.reason not in TRANSIENT_REASONS:
            return waiting
        boost_ms = aging.next_boost_ms(workload.queued_at_ms, self.now_ms)
        return replace(waiting, until_ms=earliest(waiting.until_ms, boost_ms))

    def queued(self, workload: Workload, verdict: Verdict, alike: Hashable) -> Waiting:
        """Explains a workload that the cycles did not admit; those of a queue that are `alike` get the same
        answer to the same verdict."""
        found = self._told.get((alike, verdict))
        if found is None:
            found = self._told[alike, verdict] = self._answer(workload, verdict, alike)
        if found.workload == workload.key:
            return found
        return replace(found, workload=workload.key)

    def _answer(self, workload: Workload, verdict: Verdict, alike: Hashable) -> Waiting:
        """Obstacles that no waiting removes come first."""
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
                why = leaving(verdict.victims)
                return _waiting(workload, WaitReason.PREEMPTION, why, others=verdict.victims)
            case Wait.OVERLAPPING:
                why = f"{leaving(verdict.victims)}, and for {verdict.other}, which is ahead of it"
                return _waiting(workload, WaitReason.QUOTA, why, others=(*verdict.victims, verdict.other))
            case Wait.KEPT:
                why = f"waits because the quota it needs is kept for {verdict.other}, which is ahead of it"
                return _waiting(workload, WaitReason.QUOTA, why, others=(verdict.other,))
            case Wait.BEHIND:
                strict = " (StrictFIFO)" if queue.strategy is QueueingStrategy.STRICT_FIFO else ""
                why = f"waits behind {verdict.other}, the head of ClusterQueue {queue.name}{strict}"
                return _waiting(workload, WaitReason.BEHIND_HEAD, why, others=(verdict.other,))
            case Wait.GATED:
                why = "waits because it would have to preempt others, which a preemption gate forbids as yet"
                return _waiting(workload, WaitReason.GATED, why)
        return self._no_room(workload) or _waiting(
            workload, WaitReason.QUOTA, "fits now, and is tried again with the next change"
        )

    def _refused(self, workload: Workload, queue: ClusterQueue) -> Waiting | None:
        """Returns why the workload is not nominated (cycle/nominate.py)."""
        match refusal(workload, queue, self._state.snapshot.namespaces):
            case EntryOutcome.CHECK_FAILED:
                failed = ", ".join(sorted(failed_checks(workload)))
                return _waiting(workload, WaitReason.CHECK_FAILED, f"waits for a new attempt at {failed}")
            case EntryOutcome.WRONG_NAMESPACE:
                why = f"ClusterQueue {queue.name} takes no workloads from namespace {workload.namespace}"
                return _waiting(workload, WaitReason.REFUSED, why)
            case EntryOutcome.REFUSED:
                return _waiting(workload, WaitReason.REFUSED, f"can not be admitted: {workload.refused}")
        return None

    def _never_fits(self, workload: Workload) -> Waiting | None:
        """The obstacle that it has even while nothing else runs; None without one."""
        queue, node = self._place(workload)
        flavors = self._state.flavors[queue.name]
        counts = self._fewest(workload)
        blocks = blocked(flavors, node, workload)
        if blocks:
            return self._blocked(workload, queue, node, blocks)
        found = diagnose(flavors, node, workload, counts, empty=True)
        if found.shortfalls:
            why = too_large(node, found.shortfalls, found.exclusions)
            return _lacking(workload, WaitReason.NEVER_FITS, why, found.shortfalls, found.exclusions)
        no_place = _no_place(found.assignment)
        why = f"can never be placed: {no_place}, even if all nodes were empty"
        return _waiting(workload, WaitReason.NEVER_FITS, why) if no_place else None

    def _blocked(
        self, workload: Workload, queue: ClusterQueue, node: QuotaNode, blocks: tuple[Blocked, ...]
    ) -> Waiting:
        """Obstacles to all flavors; and if it could use them all, the quota that it would still lack."""
        exclusions = tuple(exclusion for one in blocks for exclusion in one.exclusions)
        flavors, freed = self._state.flavors[queue.name], _freed(workload, blocks)
        shortfalls: tuple[Shortfall, ...] = ()
        if not blocked(flavors, node, freed):
            shortfalls = diagnose(flavors, node, freed, self._fewest(freed), empty=True).shortfalls
        then = f"; and it {too_large(node, shortfalls, ())}" if shortfalls else ""
        why = no_flavor(queue, blocks, then)
        return _lacking(workload, WaitReason.NO_FLAVOR, why, shortfalls, exclusions)

    def _no_room(self, workload: Workload) -> Waiting | None:
        """The quota or nodes that it lacks now; None if it lacks nothing."""
        queue, node = self._place(workload)
        found = diagnose(self._state.flavors[queue.name], node, workload, self._fewest(workload))
        if found.shortfalls:
            why = short(node, found.shortfalls, found.exclusions)
            return _lacking(workload, WaitReason.QUOTA, why, found.shortfalls, found.exclusions)
        no_place = _no_place(found.assignment)
        why = f"could have quota, but waits for nodes: {no_place}"
        return _waiting(workload, WaitReason.TOPOLOGY, why) if no_place else None

    def _fewest(self, workload: Workload) -> tuple[int, ...]:
        """Pods of each pod set with which it would be admitted; empty if that is with all."""
        spares = any(pod_set.count_min is not None for pod_set in workload.pod_sets)
        if not (spares and self._state.rules.partial_admission):
            return ()
        return tuple(
            pod_set.count if pod_set.count_min is None else min(pod_set.count, pod_set.count_min)
            for pod_set in workload.pod_sets
        )

    def _place(self, workload: Workload) -> tuple[ClusterQueue, QuotaNode]:
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


def _freed(workload: Workload, blocks: tuple[Blocked, ...]) -> Workload:
    """The workload with blocked pods that ask nothing of their nodes and tolerate every taint."""
    names = {exclusion.pod_set for one in blocks for exclusion in one.exclusions}
    return replace(
        workload,
        pod_sets=tuple(
            replace(pod_set, node_selector={}, affinity=(), tolerations=(_ANYTHING,))
            if pod_set.name in names
            else pod_set
            for pod_set in workload.pod_sets
        ),
    )


def _no_place(assignment: Assignment) -> str:
    """Empty if its pods find places, or need none."""
    misplaced = (choice for choice in assignment.pod_sets if choice.misplaced)
    return next((f"for pod set {choice.name}, {choice.misplaced}" for choice in misplaced), "")
