"""The result of an assigner: flavors for each pod set, with the searches that led to them.

A topology (flavors/placement.py) adds to the choices where the pods go, or makes their modes worse.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.admission.flavors.attempts import FlavorRefusal, FlavorSearch, Obstacle, ScanProgress
from muster.admission.flavors.demand import Demand, added
from muster.admission.flavors.fungibility import BEST, Grade, Mode
from muster.admission.model import Admission, FlavorResource, PodSetAssignment, TopologyAssignment
from muster.admission.topology import TopologyUsage


@dataclass(slots=True)
class PodSetChoice:
    """Flavors for a pod set. If it got none, its mode is NO_FIT and the last search says why."""

    name: str
    count: int
    requests: Mapping[str, int]  # of all its pods; of `pods` too where the queue counts them
    flavors: dict[str, str] = field(default_factory=dict)  # by resource
    grades: dict[str, Grade] = field(default_factory=dict)  # by resource
    tried: dict[str, int] = field(default_factory=dict)  # by resource, see ScanProgress
    mode: Mode = Mode.FIT  # that of its worst resource
    searches: list[FlavorSearch] = field(default_factory=list)
    topology: TopologyAssignment | None = None
    topology_delayed: bool = False
    misplaced: str = ""  # why its pods find no places, as a sentence

    @classmethod
    def of(cls, demand: Demand) -> "PodSetChoice":
        choice = cls(demand.pod_set.name, demand.pods, demand.requests)
        if demand.held is not None:
            choice.topology = demand.held.topology
            choice.topology_delayed = demand.held.topology_delayed
        return choice

    @property
    def obstacle(self) -> Obstacle | None:
        """The worst obstacle of its groups, as each has to be removed."""
        if self.mode is not Mode.NO_FIT:
            return None
        if self.misplaced:
            return Obstacle.TOPOLOGY
        return max(
            (found for search in self.searches if (found := search.obstacle)), default=Obstacle.MISMATCH
        )

    def keep(self, flavors: Mapping[str, str]) -> None:
        """Takes the flavors that the workload holds already."""
        self.flavors |= flavors
        self.grades |= dict.fromkeys(flavors, BEST)
        self.tried |= dict.fromkeys(flavors, 0)

    def take(self, search: FlavorSearch) -> None:
        """The best flavor found; without one, the pod set gets none at all.

        Where a resource fits by borrowing from afar, and preemption nearer by is preferred to that, Kueue
        grades another resource that has to be preempted as no worse, and takes the flavor for one that fits.
        """
        self.searches.append(search)
        if search.best is None:
            self.mode = Mode.NO_FIT
            self.flavors, self.grades, self.tried = {}, {}, {}
            return
        grades = search.best.grades
        self.flavors |= dict.fromkeys(grades, search.best.flavor)
        self.grades |= grades
        self.tried |= dict.fromkeys(grades, search.tried)
        if search.best.grade.mode is not Mode.FIT:
            self.mode = min(self.mode, *(grade.mode for grade in grades.values()))


@dataclass(slots=True)
class Assignment:
    """The flavors found. If a pod set got none, no later one was looked at, and the mode is NO_FIT.

    `usage` is what the workload would use beyond what a slice that it replaces has."""

    pod_sets: list[PodSetChoice] = field(default_factory=list)
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    borrowing: int = 0  # from how far away, 0 if not at all
    mode: Mode = Mode.FIT  # that of the worst pod set
    placed: tuple[TopologyUsage, ...] = ()  # what it would take of topologies
    _admission: Admission | None = None

    @property
    def contested(self) -> set[FlavorResource]:
        """Resources of flavors that do not fit without preemption."""
        return {
            FlavorResource(choice.flavors[resource], resource)
            for choice in self.pod_sets
            for resource, grade in choice.grades.items()
            if grade.mode is not Mode.FIT
        }

    @property
    def progress(self) -> ScanProgress:
        """Where the search ended, for the next cycle."""
        return ScanProgress(tuple(choice.tried for choice in self.pod_sets))

    @property
    def nominated(self) -> dict[str, dict[str, str]]:
        """Flavors by pod set and resource, to pin another assignment of the same cycle to them."""
        return {choice.name: choice.flavors for choice in self.pod_sets}

    @property
    def obstacle(self) -> Obstacle | None:
        """The main reason why the workload does not fit (Kueue: resolveNoFitReason)."""
        return max((found for choice in self.pod_sets if (found := choice.obstacle)), default=None)

    @property
    def refusal(self) -> FlavorRefusal | None:
        """Set if a pod set got no flavor."""
        for choice in self.pod_sets:
            if choice.searches and choice.searches[-1].best is None:
                return FlavorRefusal.of(choice.name, choice.searches[-1])
        return None

    def add(self, demand: Demand, choice: PodSetChoice) -> None:
        """A pod set's part."""
        usage, grades = self.usage, choice.grades
        for resource, flavor in choice.flavors.items():
            fr = FlavorResource(flavor, resource)
            usage[fr] = usage.get(fr, 0) + added(demand, resource)
            if grades[resource].borrowing > self.borrowing:
                self.borrowing = grades[resource].borrowing
        if choice.mode < self.mode:
            self.mode = choice.mode
        self.pod_sets.append(choice)

    def worsen(self, choice: PodSetChoice, mode: Mode) -> None:
        """Lowers the mode of a pod set to what its topology allows."""
        choice.grades = {resource: Grade(mode, grade.borrowing) for resource, grade in choice.grades.items()}
        choice.mode = mode
        self.mode = min(self.mode, mode)

    def fail(self, choice: PodSetChoice, why: str) -> None:
        """Fails a pod set that cannot be placed with these flavors, though it could have their quota."""
        choice.misplaced = why
        choice.mode = self.mode = Mode.NO_FIT

    def admission(self, cluster_queue: str) -> Admission:
        """The admission to reserve; the assignment must not change any more. Of a flavor that the pods only
        follow (a leader's that asks for nothing) they use nothing."""
        if self._admission is None:
            self._admission = Admission(cluster_queue, tuple(map(_reserved, self.pod_sets)))
        return self._admission


def _reserved(choice: PodSetChoice) -> PodSetAssignment:
    return PodSetAssignment(
        choice.name,
        choice.count,
        choice.flavors,
        {resource: choice.requests.get(resource, 0) for resource in choice.flavors},
        choice.topology,
        choice.topology_delayed,
    )
