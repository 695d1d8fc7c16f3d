"""Scenarios as data: the jobs to submit, and the milestones to observe in order. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.cluster.kinds import Kind, Object
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects

JobsByRole = Mapping[str, JobRef]
"""The jobs of a scenario by role, such as `dev`."""

Check = Callable[[ObservedObjects, JobsByRole], str]
"""A function that returns a description of the observation; empty if the milestone is not reached."""


@dataclass(frozen=True)
class Milestone:
    """A milestone. When it is observed, the job with the role `submit` is created, or the job with the role
    `remove` is deleted. A milestone that could be observed too early is checked only `after` another.
    """

    title: str
    check: Check
    submit: str = ""
    remove: str = ""
    after: str = ""


@dataclass(frozen=True)
class Scenario:
    """A scenario. `kinds` are the kinds to watch. `policies_active` returns whether the stack's admission
    policies have changed a job in a dry run. `examples` are files in the folder examples/ by role; the first
    is submitted at the start."""

    name: str
    summary: str
    kinds: Sequence[Kind]
    policies_active: Callable[[Object], bool]
    examples: Mapping[str, str]
    milestones: Sequence[Milestone]

    def milestone(self, title: str) -> Milestone:
        """Returns the milestone with this title."""
        return next(m for m in self.milestones if m.title == title)


@dataclass(frozen=True)
class MilestoneResult:
    """The result of a milestone. `at` is the time of its first observation, None if it was not observed;
    `detail` describes the observation; `problem` is why the result is invalid."""

    title: str
    at: float | None
    detail: str
    problem: str = ""


class MilestoneTracker:
    """Applies the observed changes, and records the first observation of each milestone."""

    def __init__(self, scenario: Scenario, jobs: JobsByRole) -> None:
        self.observed = ObservedObjects()
        self._scenario, self._jobs = scenario, jobs
        self._first: dict[str, tuple[float, str]] = {}

    def apply(self, change: ObservedChange) -> list[MilestoneResult]:
        """Applies a change; returns the results of the milestones that it reached."""
        self.observed.apply(change)
        reached = []
        for milestone in self._scenario.milestones:
            due = milestone.title not in self._first and (
                not milestone.after or milestone.after in self._first
            )
            if due and (detail := milestone.check(self.observed, self._jobs)):
                self._first[milestone.title] = (change.at, detail)
                reached.append(milestone.title)
        return [r for r in self.results() if r.title in reached] if reached else []

    def results(self) -> list[MilestoneResult]:
        """Returns the results in order, with the problems of missing or early milestones."""
        results: list[MilestoneResult] = []
        for milestone in self._scenario.milestones:
            at, detail = self._first.get(milestone.title, (None, ""))
            results.append(MilestoneResult(milestone.title, at, detail, _problem(at, results)))
        return results

    @property
    def done(self) -> bool:
        """True if all milestones were observed, in any order."""
        return len(self._first) == len(self._scenario.milestones)


def is_suspended(job: Object) -> bool:
    """Returns whether the job was suspended at creation, as with engines that use Kueue's labels."""
    return bool(job["spec"].get("suspend") or cluster_spec(job).get("suspend"))


def check(scenario: Scenario, changes: Iterable[ObservedChange], jobs: JobsByRole) -> list[MilestoneResult]:
    """Returns the results after these changes, which must be sorted by time."""
    tracker = MilestoneTracker(scenario, jobs)
    for change in changes:
        tracker.apply(change)
    return tracker.results()


def _problem(at: float | None, earlier: list[MilestoneResult]) -> str:
    if at is None:
        return "not observed"
    for milestone in earlier:
        if milestone.at is None:
            return f"observed without: {milestone.title}"
        if milestone.at > at:
            return f"observed before: {milestone.title}"
    return ""
