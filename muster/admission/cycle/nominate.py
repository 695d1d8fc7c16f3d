"""The assignment of a head, and the targets that it needs.

Kueue: nominate, getAssignments and getInitialAssignments in pkg/scheduler/scheduler.go.
"""

from collections.abc import Iterable, Mapping

from muster.admission.cycle.entry import Entry, FlavorScan, Outcome
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

Found = tuple[Assignment, tuple[Target, ...]]


def nominate(
    state: WorkingState, head: Entry, cycle: int, shared_targets: SharedTargets | None = None
) -> bool:
    """Fills in the assignment and its targets; False if the head is refused before that. `shared_targets`:
    those of heads that were nominated in the same state."""
    refused = refusal(head.workload, head.queue, state.snapshot.namespaces)
    if refused is not None:
        head.outcome = refused
        return False
    # A scan goes on behind the first flavor, and a slice is assigned what it needs beyond the former one:
    # what these get is not what an equivalent workload would get.
    assignment_cache = head.assignment_cache if head.scan is None and head.workload.replaces is None else None
    known = None if assignment_cache is None else assignment_cache.lookup(head.node)
    if known is not None:
        head.assignment = known
        return True
    if head.workload.replaces is not None:
        head.replaced = _replaced(state, head)
    progress = None if head.scan is None else _progress(state, head, head.scan, cycle)
    head.assignment, head.targets = _Options(state, head, progress, shared_targets=shared_targets).best()
    if assignment_cache is not None and _is_cacheable(state, head):
        assignment_cache.store(head.assignment)
    return True


def renominate(state: WorkingState, head: Entry, gone: Iterable[Holding]) -> None:
    """Nominates again as if these had left, with the flavors that the head was nominated for."""
    with state.absent(gone):
        head.assignment, head.targets = _Options(state, head, pinned=head.assignment.nominated).best()


def _is_cacheable(state: WorkingState, head: Entry) -> bool:
    """Whether it can only be admitted as a whole, and is not placed on a topology."""
    if any(pod_set.count_min is not None for pod_set in head.workload.pod_sets):
        return False
    return state.flavors[head.queue.name].placer_of(head.workload) is None


def _progress(state: WorkingState, head: Entry, scan: FlavorScan, cycle: int) -> ScanProgress | None:
    """Where the search for flavors goes on; None at the first one (Kueue: lastAssignmentOutdated).

    Where it ended in the cycle before holds whatever has happened since, an older one as long as
    no workload has left the queue.
    """
    recent = state.rules.keep_flavor_scan and cycle - scan.cycle <= 1
    return scan.progress if recent or state.generation(head.queue.name) == scan.generation else None


def _replaced(state: WorkingState, head: Entry) -> Holding | None:
    """The slice of the same job that it grows from, if that is in its queue and namespace."""
    found = state.holdings[head.queue.name].get(head.workload.replaces or "")
    return found if found and found.workload.namespace == head.workload.namespace else None


class _Options:
    """The assignments that a head could get in the present state."""

    __slots__ = ("_head", "_made", "_pinned", "_progress", "_shared_targets", "_state")

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
        self._made: Preemptor | None = None

    def best(self) -> Found:
        """Returns an assignment of all pods, with targets if need be; else of as many pods as fit, with
        targets or without. If nothing fits, of all pods without targets."""
        assigner = self._assigner(self._simulate)
        full = assigner.assign()
        if full.mode is Mode.FIT:
            return full, ()
        # All pods by preemption come before fewer pods without it (Kueue: getInitialAssignments).
        found = self._attempt(full, ())
        if found is None and self._state.rules.partial_admission:
            found = reduce_counts(
                self._head.workload.pod_sets, lambda counts: self._attempt(assigner.assign(counts), counts)
            )
        assignment, targets = found or (full, ())
        self._take_places(assignment, targets)
        return assignment, targets

    def _take_places(self, assignment: Assignment, targets: tuple[Target, ...]) -> None:
        """Finds the places that the pods will have once the targets are gone, so that the cycle can keep
        them."""
        placer = self._state.flavors[self._head.queue.name].placer_of(self._head.workload)
        if placer is not None and assignment.mode not in (Mode.NO_FIT, Mode.FIT):
            with self._state.without(target.holding for target in targets):
                placer.reserve(self._head.workload, assignment, bool(targets))

    def _attempt(self, assignment: Assignment, counts: Counts) -> Found | None:
        if assignment.mode is Mode.FIT:
            return assignment, ()
        targets = () if assignment.mode is Mode.NO_FIT else self._targets(assignment, counts)
        return (assignment, targets) if targets else None

    def _targets(self, assignment: Assignment, counts: Counts) -> tuple[Target, ...]:
        """Returns the victims, if the head is admitted once they are gone.

        Several pod sets choose one after the other: with those gone a first one may choose so that the
        next finds no place. Kueue preempts all the same, and again when they are back.
        """
        placer = self._state.flavors[self._head.queue.name].placer_of(self._head.workload)
        finds_places = placer.search(self._head.workload, assignment) if placer else None
        targets = self._preemptor().targets(assignment.usage, assignment.contested, finds_places)
        # A single pod set without topology chooses the same again: the searched room is all it needs.
        if not targets or (placer is None and len(self._head.workload.pod_sets) == 1):
            return tuple(targets)
        with self._state.without(target.holding for target in targets):
            then = self._assigner(None).assign(counts)
        return tuple(targets) if then.mode is Mode.FIT else ()

    def _simulate(self, fr: FlavorResource, needed: int) -> Grade:
        return self._preemptor().simulate(fr, needed)

    def _preemptor(self) -> Preemptor:
        # Most heads that are nominated fit: only the others need one.
        if self._made is None:
            state, head = self._state, self._head
            self._made = Preemptor(
                state,
                head.workload,
                head.queue,
                head.node,
                state.rules,
                state.snapshot.local_usage,
                self._shared_targets,
            )
        return self._made

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


def refusal(workload: Workload, queue: ClusterQueue, namespaces: Mapping[str, Labels]) -> Outcome | None:
    """The outcome of a head that must not be nominated; None if it may (Kueue: nominate,
    ValidateAdmissibility)."""
    if workload.checks and failed_checks(workload):
        return Outcome.CHECK_FAILED
    selector = queue.namespaces
    if selector is None or (
        selector.requirements and not selects(selector, namespaces.get(workload.namespace, {}))
    ):
        return Outcome.WRONG_NAMESPACE
    return Outcome.REFUSED if workload.refused else None


def failed_checks(workload: Workload) -> list[str]:
    return [name for name, state in workload.checks.items() if state in _FAILED]


def selects(selector: LabelSelector, labels: Labels) -> bool:
    return all(holds(of, labels.get(of.key)) for of in selector.requirements)
