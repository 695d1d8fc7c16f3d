"""Why a workload waits, as one sentence for the person who submitted it.

The sentences speak of the state after the plan, so that an unchanged cluster gives an unchanged
text. They complete "the workload …".
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction

from muster.admission import quantities
from muster.admission.cycle.state import WorkingState
from muster.admission.flavors.assigner import FlavorAssigner, Refusal, Shortage
from muster.admission.model import (
    ClusterQueue,
    FlavorResource,
    QueueingStrategy,
    StopPolicy,
    Waiting,
    WaitReason,
    Workload,
)
from muster.admission.queueing.pending import shape
from muster.admission.quota.tree import QuotaNode

_NAMES_MAX = 2  # workloads named in a sentence


class Wait(Enum):
    """What the last cycle said of a workload that was, or was not, at the head of its queue."""

    NO_ROOM = auto()
    PREEMPTING = auto()  # its victims are leaving
    OVERLAPPING = auto()  # it needs those whom another one has preempted
    KEPT = auto()  # it would fit, but the quota is reserved for another one
    OUTRANKED = auto()  # its admission in this plan was taken back for another one
    BEHIND = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    wait: Wait
    other: str = ""  # key of the workload that it waits for
    victims: tuple[str, ...] = ()  # keys


class Explainer:
    """Turns verdicts into `Waiting`, over the state that the last cycle left."""

    def __init__(self, state: WorkingState, now_ms: int) -> None:
        self._state = state
        self._now_ms = now_ms
        self._answers: dict[Hashable, Waiting | None] = {}

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
        if workload.requeue_at_ms is not None and workload.requeue_at_ms > self._now_ms:
            why = "waits for the end of its backoff after a failed attempt"
            return Waiting(workload.key, WaitReason.BACKOFF, why, workload.requeue_at_ms)
        return None

    def queued(self, workload: Workload, verdict: Verdict) -> Waiting:
        """For a workload that the cycles did not admit. What no waiting can cure comes first."""
        queue = self._state.snapshot.cluster_queues[workload.cluster_queue]
        hopeless = self._once(workload, self._hopeless)
        if hopeless is not None:
            return hopeless
        match verdict.wait:
            case Wait.PREEMPTING:
                return _waiting(workload, WaitReason.PREEMPTION, _leaving(verdict.victims))
            case Wait.OVERLAPPING:
                why = f"{_leaving(verdict.victims)}, and for {verdict.other}, which is ahead of it"
                return _waiting(workload, WaitReason.QUOTA, why)
            case Wait.KEPT:
                why = f"waits because the quota it needs is kept for {verdict.other}, which is ahead of it"
                return _waiting(workload, WaitReason.QUOTA, why)
            case Wait.OUTRANKED:
                why = f"waits because {verdict.other}, which is ahead of it, needs its quota"
                return _waiting(workload, WaitReason.QUOTA, why)
            case Wait.BEHIND:
                strict = " (StrictFIFO)" if queue.strategy is QueueingStrategy.STRICT_FIFO else ""
                why = f"waits behind {verdict.other}, the head of ClusterQueue {queue.name}{strict}"
                return _waiting(workload, WaitReason.BEHIND_HEAD, why)
        return self._once(workload, self._no_room) or _waiting(
            workload, WaitReason.QUOTA, "fits now, and is tried again with the next change"
        )

    def _once(self, workload: Workload, answer: Callable[[Workload], Waiting | None]) -> Waiting | None:
        """The answer for the first workload of a shape serves all of it."""
        key = (answer.__name__, workload.cluster_queue, shape(workload))
        if key not in self._answers:
            self._answers[key] = answer(workload)
        found = self._answers[key]
        return found and _waiting(workload, found.reason, found.message)

    def _hopeless(self, workload: Workload) -> Waiting | None:
        """What speaks against it even while nothing else runs."""
        queue, node = self._place(workload)
        refusal = (
            FlavorAssigner(queue, node, self._state.snapshot.flavors, empty=True).assign(workload).refusal
        )
        if refusal is None:
            return None
        if not refusal.shortages:
            return _waiting(workload, WaitReason.NO_FLAVOR, _no_flavor(queue, refusal))
        shortage = _nearest(refusal, node.potentially_available)
        return _waiting(workload, WaitReason.NEVER_FITS, _too_large(node, shortage))

    def _no_room(self, workload: Workload) -> Waiting | None:
        """What is missing now; None if nothing is."""
        queue, node = self._place(workload)
        refusal = FlavorAssigner(queue, node, self._state.snapshot.flavors).assign(workload).refusal
        if refusal is None:
            return None
        shortage = _nearest(refusal, lambda fr: max(0, node.available(fr)))
        return _waiting(workload, WaitReason.QUOTA, _short(node, shortage))

    def _place(self, workload: Workload) -> tuple[ClusterQueue, QuotaNode]:
        name = workload.cluster_queue
        return self._state.snapshot.cluster_queues[name], self._state.tree.queues[name]


def _waiting(workload: Workload, reason: WaitReason, message: str) -> Waiting:
    return Waiting(workload.key, reason, message)


def _nearest(refusal: Refusal, room: Callable[[FlavorResource], int]) -> Shortage:
    """Of the flavors the one that lacks least, and of it the resource that lacks most.

    Among equals a device says more than cpu and memory.
    """

    def lack(shortage: Shortage) -> tuple[Fraction, bool]:
        missing = shortage.needed - room(shortage.wanted)
        return Fraction(missing, shortage.needed), "/" in shortage.wanted.resource

    return min((max(shortages, key=lack) for shortages in refusal.shortages), key=lack)


def _short(node: QuotaNode, shortage: Shortage) -> str:
    fr = shortage.wanted
    nominal = node.quota(fr).nominal
    own = max(0, nominal - node.usage.get(fr, 0))
    room = max(0, node.available(fr))
    left = f"{_amount(fr, min(own, room))} of {_amount(fr, nominal)} left"
    sentence = f"needs {_of_flavor(shortage)} but ClusterQueue {node.name} has {left}"
    if node.parent is None:
        return sentence
    if room < own:
        return f"{sentence}, as cohort {node.parent.name} has lent out {_amount(fr, own - room)}"
    if node.quota(fr).borrowing_limit == 0:
        return f"{sentence} and may not borrow"
    if room == own:
        return f"{sentence} and cohort {node.parent.name} has nothing to lend"
    return f"{sentence} and cohort {node.parent.name} can lend {_amount(fr, room - own)} more"


def _too_large(node: QuotaNode, shortage: Shortage) -> str:
    fr = shortage.wanted
    nominal = node.quota(fr).nominal
    most = node.potentially_available(fr)
    borrowed = f" ({_amount(fr, most - nominal)} of it borrowed)" if most > nominal else ""
    return (
        f"needs {_of_flavor(shortage)} but ClusterQueue {node.name} can never have more than "
        f"{_amount(fr, most)}{borrowed}: ask for less, or have its quota raised"
    )


def _no_flavor(queue: ClusterQueue, refusal: Refusal) -> str:
    pods = f"pod set {refusal.pod_set} asks for {refusal.resource}"
    if not refusal.covered:
        return f"{pods}, which ClusterQueue {queue.name} has no quota for"
    reasons = ", ".join(f"{flavor} {reason}" for flavor, reason in refusal.mismatches)
    return f"{pods}, but matches no flavor of ClusterQueue {queue.name}: {reasons}"


def _leaving(victims: tuple[str, ...]) -> str:
    named = list(victims[:_NAMES_MAX])
    if len(victims) > _NAMES_MAX:
        named.append(f"{len(victims) - _NAMES_MAX} more")
    workloads = "workload" if len(victims) == 1 else "workloads"
    return f"waits for {len(victims)} preempted {workloads} to leave first: {_enumerate(named)}"


def _enumerate(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _of_flavor(shortage: Shortage) -> str:
    fr = shortage.wanted
    return f"{_amount(fr, shortage.needed)} {fr.resource} of flavor {fr.flavor}"


def _amount(fr: FlavorResource, units: int) -> str:
    return quantities.format(fr.resource, units)
