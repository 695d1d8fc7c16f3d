"""Why a workload waits, as one sentence for the person who submitted it.

The sentences speak of the state after the plan, so that an unchanged cluster gives an unchanged
text. They complete "the workload …".
"""

from collections.abc import Callable, Hashable, Iterable
from enum import Enum, auto
from fractions import Fraction
from typing import NamedTuple

from muster.admission import quantities
from muster.admission.cycle.eligible import failed_checks, refusal
from muster.admission.cycle.entry import Outcome
from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import Refusal, Shortage
from muster.admission.model import (
    NEVER_MS,
    ClusterQueue,
    FlavorResource,
    QueueingStrategy,
    Shortfall,
    StopPolicy,
    Waiting,
    WaitReason,
    Workload,
)
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState

_NAMES_MAX = 2  # workloads named in a sentence


class Wait(Enum):
    """What the last cycle said of a workload that was, or was not, at the head of its queue."""

    NO_ROOM = auto()
    PREEMPTING = auto()  # its victims are leaving
    OVERLAPPING = auto()  # it needs those whom another one has preempted
    KEPT = auto()  # it would fit, but the quota is reserved for another one
    BEHIND = auto()
    GATED = auto()  # it would have to preempt, and may not yet


class Verdict(NamedTuple):
    wait: Wait
    other: str = ""  # key of the workload that it waits for
    victims: tuple[str, ...] = ()  # keys


class Explainer:
    """Turns verdicts into `Waiting`, over the state that the last cycle left."""

    def __init__(self, state: WorkingState, now_ms: int) -> None:
        self._state = state
        self.now_ms = now_ms
        self._told: dict[tuple[Hashable, Verdict], Waiting] = {}
        self._hopeless: dict[Hashable, Waiting | None] = {}

    def not_queued(self, workload: Workload) -> Waiting | None:
        """For a workload that takes part in no cycle; None if it does."""
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
        if workload.requeue_at_ms is not None and workload.requeue_at_ms > self.now_ms:
            why = "waits for the end of its backoff after a failed attempt"
            until_ms = workload.requeue_at_ms if workload.requeue_at_ms < NEVER_MS else None
            return Waiting(workload.key, WaitReason.BACKOFF, why, until_ms)
        return None

    def queued(self, workload: Workload, verdict: Verdict, alike: Hashable) -> Waiting:
        """For a workload that the cycles did not admit; those of a queue that are `alike` get the same
        answer to the same verdict."""
        found = self._told.get((alike, verdict))
        if found is None:
            found = self._told[alike, verdict] = self._answer(workload, verdict, alike)
        if found.workload == workload.key:
            return found
        return Waiting(
            workload.key, found.reason, found.message, found.until_ms, found.shortfall, found.others
        )

    def _answer(self, workload: Workload, verdict: Verdict, alike: Hashable) -> Waiting:
        """What no waiting can cure comes first."""
        queue = self._state.snapshot.cluster_queues[workload.cluster_queue]
        refused = self._refused(workload, queue)
        if refused is not None:
            return refused
        if alike not in self._hopeless:
            self._hopeless[alike] = self._what_is_hopeless(workload)
        hopeless = self._hopeless[alike]
        if hopeless is not None:
            return hopeless
        match verdict.wait:
            case Wait.PREEMPTING:
                why = _leaving(verdict.victims)
                return _waiting(workload, WaitReason.PREEMPTION, why, others=verdict.victims)
            case Wait.OVERLAPPING:
                why = f"{_leaving(verdict.victims)}, and for {verdict.other}, which is ahead of it"
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
        """Why it is not so much as looked at (cycle/eligible.py)."""
        match refusal(workload, queue, self._state.snapshot.namespaces):
            case Outcome.CHECK_FAILED:
                failed = ", ".join(sorted(failed_checks(workload)))
                return _waiting(workload, WaitReason.CHECK_FAILED, f"waits for a new attempt at {failed}")
            case Outcome.WRONG_NAMESPACE:
                why = f"ClusterQueue {queue.name} takes no workloads from namespace {workload.namespace}"
                return _waiting(workload, WaitReason.REFUSED, why)
            case Outcome.REFUSED:
                return _waiting(workload, WaitReason.REFUSED, f"can not be admitted: {workload.refused}")
        return None

    def _what_is_hopeless(self, workload: Workload) -> Waiting | None:
        """What speaks against it even while nothing else runs."""
        queue, node = self._place(workload)
        flavors = self._state.flavors[queue.name]
        assignment = FlavorAssigner(flavors, node, workload, empty=True).assign()
        refusal = assignment.refusal
        if refusal is None:
            no_place = _no_place(assignment)
            why = f"can never be placed: {no_place}, even if all nodes were empty"
            return _waiting(workload, WaitReason.NEVER_FITS, why) if no_place else None
        if not refusal.shortages:
            return _waiting(workload, WaitReason.NO_FLAVOR, _no_flavor(queue, refusal))
        shortage = _nearest(refusal, node.potentially_available)
        lack = _shortfall(node, shortage)
        return _waiting(workload, WaitReason.NEVER_FITS, _too_large(node, lack), lack)

    def _no_room(self, workload: Workload) -> Waiting | None:
        """What is missing now; None if nothing is."""
        queue, node = self._place(workload)
        assignment = FlavorAssigner(self._state.flavors[queue.name], node, workload).assign()
        refusal = assignment.refusal
        if refusal is None:
            no_place = _no_place(assignment)
            why = f"could have quota, but waits for nodes: {no_place}"
            return _waiting(workload, WaitReason.TOPOLOGY, why) if no_place else None
        shortage = _nearest(refusal, lambda fr: max(0, node.available(fr)))
        lack = _shortfall(node, shortage)
        return _waiting(workload, WaitReason.QUOTA, _short(node, lack), lack)

    def _place(self, workload: Workload) -> tuple[ClusterQueue, QuotaNode]:
        name = workload.cluster_queue
        return self._state.snapshot.cluster_queues[name], self._state.tree.queues[name]


def _waiting(
    workload: Workload,
    reason: WaitReason,
    message: str,
    shortfall: Shortfall | None = None,
    others: tuple[str, ...] = (),
) -> Waiting:
    return Waiting(workload.key, reason, message, shortfall=shortfall, others=others)


def _nearest(refusal: Refusal, room: Callable[[FlavorResource], int]) -> Shortage:
    """Of the flavors the one that lacks least, and of it the resource that lacks most.

    Among equals a device says more than cpu and memory.
    """

    def lack(shortage: Shortage) -> tuple[Fraction, bool]:
        missing = shortage.needed - room(shortage.wanted)
        return Fraction(missing, shortage.needed), "/" in shortage.wanted.resource

    return min((max(shortages, key=lack) for shortages in refusal.shortages), key=lack)


def _shortfall(node: QuotaNode, shortage: Shortage) -> Shortfall:
    fr = shortage.wanted
    return Shortfall(
        *fr,
        needed=shortage.needed,
        nominal=node.quota(fr).nominal,
        used=node.usage.get(fr, 0),
        available=max(0, node.available(fr)),
        most=node.potentially_available(fr),
    )


def _short(node: QuotaNode, lack: Shortfall) -> str:
    def amount(units: int) -> str:
        return quantities.format(lack.resource, units)

    own = max(0, lack.nominal - lack.used)
    left = f"{amount(min(own, lack.available))} of {amount(lack.nominal)} left"
    sentence = f"needs {_needed(lack)} but ClusterQueue {node.name} has {left}"
    if node.parent is None:
        return sentence
    if lack.available < own:
        return f"{sentence}, as cohort {node.parent.name} has lent out {amount(own - lack.available)}"
    if node.quota(FlavorResource(lack.flavor, lack.resource)).borrowing_limit == 0:
        return f"{sentence} and may not borrow"
    if lack.available == own:
        return f"{sentence} and cohort {node.parent.name} has nothing to lend"
    return f"{sentence} and cohort {node.parent.name} can lend {amount(lack.available - own)} more"


def _too_large(node: QuotaNode, lack: Shortfall) -> str:
    def amount(units: int) -> str:
        return quantities.format(lack.resource, units)

    borrowed = f" ({amount(lack.most - lack.nominal)} of it borrowed)" if lack.most > lack.nominal else ""
    return (
        f"needs {_needed(lack)} but ClusterQueue {node.name} can never have more than "
        f"{amount(lack.most)}{borrowed}: ask for less, or have its quota raised"
    )


def _no_flavor(queue: ClusterQueue, refusal: Refusal) -> str:
    pods = f"pod set {refusal.pod_set} asks for {refusal.resource}"
    if not refusal.covered:
        return f"{pods}, which ClusterQueue {queue.name} has no quota for"
    reasons = ", ".join(f"{flavor} {reason}" for flavor, reason in refusal.mismatches)
    return f"{pods}, but matches no flavor of ClusterQueue {queue.name}: {reasons}"


def _no_place(assignment: Assignment) -> str:
    """Empty if its pods find places, or need none."""
    misplaced = (choice for choice in assignment.pod_sets if choice.misplaced)
    return next((f"for pod set {choice.name}, {choice.misplaced}" for choice in misplaced), "")


def _leaving(victims: tuple[str, ...]) -> str:
    named = list(victims[:_NAMES_MAX])
    if len(victims) > _NAMES_MAX:
        named.append(f"{len(victims) - _NAMES_MAX} more")
    workloads = "workload" if len(victims) == 1 else "workloads"
    return f"waits for {len(victims)} preempted {workloads} to leave first: {_enumerate(named)}"


def _enumerate(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _needed(lack: Shortfall) -> str:
    return f"{quantities.format(lack.resource, lack.needed)} {lack.resource} of flavor {lack.flavor}"
