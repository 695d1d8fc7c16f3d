"""The result of flavor assignment: flavors for each pod set, and the searches that chose them.

Topology placement (flavors/placement.py) then adds topology assignments, or lowers modes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.admission.flavors.attempts import FlavorRefusal, FlavorSearch, Obstacle, ScanProgress
from muster.admission.flavors.demand import Demand, added
from muster.admission.flavors.fungibility import BEST, Grade, Mode
from muster.admission.model import Admission, FlavorResource, PodSetAssignment, TopologyAssignment
from muster.admission.topology import TopologyUsage


@dataclass(init=False, slots=True)
class PodSetChoice:
    """The flavors of a pod set. Without flavors the mode is NO_FIT and the last search has the reason."""

    name: str
    count: int
    requests: Mapping[str, int]  # of all its pods; includes `pods` if the queue has quota for it
    flavors: dict[str, str]  # by resource
    grades: dict[str, Grade]  # by resource
    tried: dict[str, int]  # by resource, see ScanProgress
    mode: Mode  # of its worst resource
    searches: list[FlavorSearch]
    topology: TopologyAssignment | None
    topology_delayed: bool
    misplaced: str  # why no topology domain fits, as a sentence

    # Written out, as mypyc does not compile the method that `dataclass` adds.
    def __init__(self, name: str, count: int, requests: Mapping[str, int]) -> None:
        self.name = name
        self.count = count
        self.requests = requests
        self.flavors = {}
        self.grades = {}
        self.tried = {}
        self.mode = Mode.FIT
        self.searches = []
        self.topology = None
        self.topology_delayed = False
        self.misplaced = ""

    @classmethod
    def of(cls, demand: Demand) -> "PodSetChoice":
        """Returns an empty choice for the demand; held nodes are kept."""
        choice = cls(demand.pod_set.name, demand.pods, demand.requests)
        if demand.held is not None:
            choice.topology = demand.held.topology
            choice.topology_delayed = demand.held.topology_delayed
        return choice

    @property
    def obstacle(self) -> Obstacle | None:
        """Returns the worst obstacle of its groups, as all must be removed."""
        if self.mode is not Mode.NO_FIT:
            return None
        if self.misplaced:
            return Obstacle.TOPOLOGY
        return max(
            (obstacle for search in self.searches if (obstacle := search.obstacle)), default=Obstacle.MISMATCH
        )

    def keep_held(self, flavors: Mapping[str, str]) -> None:
        """Adds flavors that the workload already holds."""
        self.flavors |= flavors
        self.grades |= dict.fromkeys(flavors, BEST)
        self.tried |= dict.fromkeys(flavors, 0)

    def add_best(self, search: FlavorSearch) -> None:
        """Adds the best flavor of a search; without one, the pod set gets no flavors.

        As in Kueue, a flavor may count as fitting although one of its resources needs preemption: if another
        one borrows from farther away, PreemptionOverBorrowing grades that one worst, and its mode is FIT.
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


@dataclass(init=False, slots=True)
class Assignment:
    """The flavors of a workload. If a pod set got none, the search ended there and the mode is NO_FIT.

    `usage` is the additional usage, without that of a slice that the workload replaces."""

    pod_sets: list[PodSetChoice]
    usage: dict[FlavorResource, int]
    borrowing: int  # the distance (QuotaNode.borrowing_level); 0: none
    mode: Mode  # of its worst pod set
    placed: tuple[TopologyUsage, ...]  # additional
    _admission: Admission | None

    def __init__(self) -> None:
        self.pod_sets = []
        self.usage = {}
        self.borrowing = 0
        self.mode = Mode.FIT
        self.placed = ()
        self._admission = None

    @property
    def contested(self) -> set[FlavorResource]:
        """Returns the flavor resources that need preemption."""
        return {
            FlavorResource(choice.flavors[resource], resource)
            for choice in self.pod_sets
            for resource, grade in choice.grades.items()
            if grade.mode is not Mode.FIT
        }

    @property
    def progress(self) -> ScanProgress:
        """Returns where the search ended, for the next cycle."""
        return ScanProgress(tuple(choice.tried for choice in self.pod_sets))

    @property
    def nominated(self) -> dict[str, dict[str, str]]:
        """Returns flavors by pod set and resource, to pin another assignment of the cycle to them."""
        return {choice.name: choice.flavors for choice in self.pod_sets}

    @property
    def obstacle(self) -> Obstacle | None:
        """Returns the main reason why the workload does not fit (Kueue: resolveNoFitReason)."""
        return max((obstacle for choice in self.pod_sets if (obstacle := choice.obstacle)), default=None)

    @property
    def refusal(self) -> FlavorRefusal | None:
        """Returns why a pod set got no flavor, if any did not."""
        for choice in self.pod_sets:
            if choice.searches and choice.searches[-1].best is None:
                return FlavorRefusal.of(choice.name, choice.searches[-1])
        return None

    def add(self, demand: Demand, choice: PodSetChoice) -> None:
        """Adds the choice of a pod set."""
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
        """Lowers the mode of a pod set to the mode that its topology allows."""
        choice.grades = {resource: Grade(mode, grade.borrowing) for resource, grade in choice.grades.items()}
        choice.mode = mode
        self.mode = min(self.mode, mode)

    def fail(self, choice: PodSetChoice, why: str) -> None:
        """Fails a pod set that these flavors cannot place, though their quota suffices."""
        choice.misplaced = why
        choice.mode = self.mode = Mode.NO_FIT

    def admission(self, cluster_queue: str) -> Admission:
        """Returns the admission; the assignment must not change afterwards. Usage is 0 for flavors that a pod
        set takes only to follow its group (a leader without requests)."""
        if self._admission is None:
            self._admission = Admission(cluster_queue, tuple(map(_pod_set_assignment, self.pod_sets)))
        return self._admission


def _pod_set_assignment(choice: PodSetChoice) -> PodSetAssignment:
    return PodSetAssignment(
        choice.name,
        choice.count,
        choice.flavors,
        {resource: choice.requests.get(resource, 0) for resource in choice.flavors},
        choice.topology,
        choice.topology_delayed,
    )
