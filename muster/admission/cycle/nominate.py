"""Nominates a head: computes its assignment, and the preemption targets that it needs.

Kueue: nominate, getAssignments and getInitialAssignments in pkg/scheduler/scheduler.go.
"""

from collections.abc import Iterable, Mapping

from muster.admission.cycle.entry import Entry, EntryOutcome, FlavorScan
from muster.admission.cycle.nomination_cache import Nomination, NominationCache
from muster.admission.flavors.assigner import FlavorAssigner, Pinned, Simulate
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.flavors.partial_admission import Counts, reduce_counts
from muster.admission.model import CheckState, ClusterQueue, FlavorResource, LabelSelector, Workload
from muster.admission.nodes import holds
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.preemption.search import Target
from muster.admission.preemption.shared_targets import SharedTargets
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState


def nominate(
    state: WorkingState,
    head: Entry,
    cycle: int,
    shared_targets: SharedTargets | None = None,
    nominations: NominationCache | None = None,
) -> bool:
    """Sets the head's assignment and targets; returns False if it is refused before that. `shared_targets`
    are targets that heads nominated in the same state have found, `nominations` those of earlier cycles."""
    refused = refusal(state, head.workload, head.queue)
    if refused is not None:
        head.outcome = refused
        return False
    # Not for a scan, which continues after the first flavor, nor for a slice, which is assigned only what it
    # needs beyond the replaced one: an equivalent workload would get another assignment.
    assignment_cache = head.assignment_cache if head.scan is None and head.workload.replaces is None else None
    cached = None if assignment_cache is None else assignment_cache.lookup(head.node)
    if cached is not None:
        head.assignment = cached
        return True
    if nominations is not None and not _is_repeatable(state, head):
        nominations = None
    nomination = None if nominations is None else nominations.lookup(state, head.workload)
    if nomination is not None:
        head.assignment, head.targets = nomination
        return True
    if head.workload.replaces is not None:
        head.replaced = _replaced(state, head)
    progress = None if head.scan is None else _progress(state, head, head.scan, cycle)
    head.assignment, head.targets = _Options(state, head, progress, shared_targets=shared_targets).best()
    if nominations is not None:
        nominations.store(state, head.workload, (head.assignment, head.targets))
    if assignment_cache is not None and _is_cacheable(state, head):
        assignment_cache.store(head.assignment)
    return True


def renominate(state: WorkingState, head: Entry, claimed_targets: Iterable[Holding]) -> None:
    """Nominates the head again as if the targets had been removed, with the flavors that it was nominated
    for."""
    with state.absent(claimed_targets):
        head.assignment, head.targets = _Options(state, head, pinned=head.assignment.nominated).best()


def _is_repeatable(state: WorkingState, head: Entry) -> bool:
    """Returns whether the nomination depends only on the head's workload, and on quotas and holdings: not on
    a scan, on the time, or on nodes."""
    return (
        head.scan is None
        and head.workload.replaces is None
        and state.min_runtime is None
        and state.flavors[head.queue.name].placer_of(head.workload) is None
    )


def _is_cacheable(state: WorkingState, head: Entry) -> bool:
    """Returns whether the head has no partial admission, and no topology."""
    if any(pod_set.count_min is not None for pod_set in head.workload.pod_sets):
        return False
    return state.flavors[head.queue.name].placer_of(head.workload) is None


def _progress(state: WorkingState, head: Entry, scan: FlavorScan, cycle: int) -> ScanProgress | None:
    """Returns where the search for flavors continues; None to start with the first (Kueue:
    lastAssignmentOutdated).

    The progress of the previous cycle is always valid, an older one until a workload releases quota of the
    queue.
    """
    recent = state.rules.keep_flavor_scan and cycle - scan.cycle <= 1
    return scan.progress if recent or state.generation(head.queue.name) == scan.generation else None


def _replaced(state: WorkingState, head: Entry) -> Holding | None:
    """Returns the slice of the same job that the head replaces, if it is in the same queue and namespace."""
    replaced = state.holdings[head.queue.name].get(head.workload.replaces or "")
    return replaced if replaced and replaced.workload.namespace == head.workload.namespace else None


class _Options:
    """The assignments that a head could get in the current state."""

    __slots__ = ("_head", "_lazy_preemptor", "_pinned", "_progress", "_shared_targets", "_state")

    def __init__(
        self,
        state: WorkingState,
        head: Entry,
        progress: ScanProgress | None = None,
        pinned: Pinned | None = None,
        shared_targets: SharedTargets | None = None,
    ) -> None:
        self._state = state
        self._head = head
        self._progress = progress
        self._pinned = pinned
        self._shared_targets = shared_targets
        self._lazy_preemptor: Preemptor | None = None

    def best(self) -> Nomination:
        """Returns an assignment of all pods, with targets if it needs preemption; else of as many pods as
        possible, with or without targets. If nothing fits, returns one of all pods without targets."""
        assigner = self._assigner(self._simulate)
        full = assigner.assign()
        if full.mode is Mode.FIT:
            return full, ()
        # All pods with preemption are preferred to fewer pods without it (Kueue: getInitialAssignments).
        nomination = self._attempt(full, ())
        if nomination is None and self._state.rules.partial_admission:
            nomination = reduce_counts(
                self._head.workload.pod_sets, lambda counts: self._attempt(assigner.assign(counts), counts)
            )
        assignment, targets = nomination or (full, ())
        self._assign_nodes(assignment, targets)
        return assignment, targets

    def _assign_nodes(self, assignment: Assignment, targets: tuple[Target, ...]) -> None:
        """Assigns the nodes that the pods will use once the targets have terminated, so that the cycle can
        reserve them."""
        placer = self._state.flavors[self._head.queue.name].placer_of(self._head.workload)
        if placer is not None and assignment.mode not in (Mode.NO_FIT, Mode.FIT):
            with self._state.without(target.holding for target in targets):
                placer.reserve(self._head.workload, assignment, bool(targets))

    def _attempt(self, assignment: Assignment, counts: Counts) -> Nomination | None:
        if assignment.mode is Mode.FIT:
            return assignment, ()
        targets = () if assignment.mode is Mode.NO_FIT else self._targets(assignment, counts)
        return (assignment, targets) if targets else None

    def _targets(self, assignment: Assignment, counts: Counts) -> tuple[Target, ...]:
        """Returns the targets, if the head would be admitted after their release.

        Pod sets choose flavors in sequence: after the release the first may choose so that the next finds no
        nodes. Kueue preempts nevertheless, and again when the targets are back.
        """
        placer = self._state.flavors[self._head.queue.name].placer_of(self._head.workload)
        finds_places = placer.search(self._head.workload, assignment) if placer else None
        targets = self._preemptor().targets(assignment.usage, assignment.contested, finds_places)
        # A single pod set without topology chooses the same flavors again.
        if not targets or (placer is None and len(self._head.workload.pod_sets) == 1):
            return tuple(targets)
        with self._state.without(target.holding for target in targets):
            after_release = self._assigner(None).assign(counts)
        return tuple(targets) if after_release.mode is Mode.FIT else ()

    def _simulate(self, fr: FlavorResource, needed: int) -> Grade:
        return self._preemptor().simulate(fr, needed)

    def _preemptor(self) -> Preemptor:
        # Created on demand: most nominated heads fit.
        if self._lazy_preemptor is None:
            state, head = self._state, self._head
            self._lazy_preemptor = Preemptor(
                state,
                head.workload,
                head.queue,
                head.node,
                state.rules,
                state.snapshot.local_usage,
                self._shared_targets,
            )
        return self._lazy_preemptor

    def _assigner(self, simulate: Simulate | None) -> FlavorAssigner:
        head = self._head
        replaced = head.replaced
        return FlavorAssigner(
            self._state.flavors[head.queue.name],
            head.node,
            head.workload,
            simulate,
            replaced=() if replaced is None else replaced.pod_sets,
            progress=self._progress,
            pinned=self._pinned,
        )


Labels = Mapping[str, str]
_FAILED = frozenset({CheckState.RETRY, CheckState.REJECTED})


def refusal(state: WorkingState, workload: Workload, queue: ClusterQueue) -> EntryOutcome | None:
    """Returns the outcome of a head that must not be nominated; None if it may be (Kueue: nominate,
    ValidateAdmissibility)."""
    if workload.checks and failed_checks(workload):
        return EntryOutcome.CHECK_FAILED
    selector = queue.namespaces
    if selector is None or (
        selector.requirements and not selects(selector, state.snapshot.namespaces.get(workload.namespace, {}))
    ):
        return EntryOutcome.WRONG_NAMESPACE
    if workload.surplus_of and not _gang_holds_quota(state, workload, queue):
        return EntryOutcome.REFUSED
    return EntryOutcome.REFUSED if workload.refused else None


def _gang_holds_quota(state: WorkingState, surplus: Workload, queue: ClusterQueue) -> bool:
    """Returns whether the gang of the surplus holds quota of the same queue, and is not being evicted."""
    gang = state.holdings[queue.name].get(surplus.surplus_of)
    return gang is not None and not gang.evicted


def failed_checks(workload: Workload) -> list[str]:
    """Returns the names of the admission checks that failed and were not reset yet."""
    return [name for name, state in workload.checks.items() if state in _FAILED]


def selects(selector: LabelSelector, labels: Labels) -> bool:
    """Returns whether the queue's namespaceSelector matches the namespace's labels."""
    return all(holds(requirement, labels.get(requirement.key)) for requirement in selector.requirements)
