"""Scenarios as data: the jobs to submit, and the milestones to observe in this order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.cluster.kinds import Kind, Object
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.observations import JobRef, ObservedChange, ObservedObjects

JobsByRole = Mapping[str, JobRef]
"""The jobs of a scenario by their role, such as `dev`."""

Check = Callable[[ObservedObjects, JobsByRole], str]
"""Returns a description of what was observed, or an empty string if it was not."""


@dataclass(frozen=True)
class Milestone:
    """Once observed, the job with the role `submit` is created, or that with the role `remove`
    deleted. One that might be observed too early is checked only `after` another milestone.
    """

    title: str
    check: Check
    submit: str = ""
    remove: str = ""
    after: str = ""


@dataclass(frozen=True)
class Scenario:
    """`kinds` are watched. `policies_active` tells from a job, as the API server would create it, whether the
    stack's admission policies are active. `examples` are files of the folder examples/ by role; the first is
    submitted at the start."""

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
    """`at`: when first observed (None: never); `detail`: what was observed; `problem`: why it is invalid."""

    title: str
    at: float | None
    detail: str
    problem: str = ""


class Progress:
    """Follows the changes and records when each milestone is first observed."""

    def __init__(self, scenario: Scenario, jobs: JobsByRole) -> None:
        self.observed = ObservedObjects()
        self._scenario, self._jobs = scenario, jobs
        self._first: dict[str, tuple[float, str]] = {}

    def apply(self, change: ObservedChange) -> list[MilestoneResult]:
        """Applies one change; returns the results of the milestones that it reached."""
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
        """Returns the results in order, with problems of milestones missing or too early."""
        found: list[MilestoneResult] = []
        for milestone in self._scenario.milestones:
            at, detail = self._first.get(milestone.title, (None, ""))
            found.append(MilestoneResult(milestone.title, at, detail, _problem(at, found)))
        return found

    @property
    def done(self) -> bool:
        """Whether all milestones were observed, in order or not."""
        return len(self._first) == len(self._scenario.milestones)


def is_suspended(job: Object) -> bool:
    """Whether the job was suspended at creation, as with engines that use Kueue's labels."""
    return bool(job["spec"].get("suspend") or cluster_spec(job).get("suspend"))


def check(scenario: Scenario, changes: Iterable[ObservedChange], jobs: JobsByRole) -> list[MilestoneResult]:
    """Returns the results after these changes, which must be in order of time."""
    progress = Progress(scenario, jobs)
    for change in changes:
        progress.apply(change)
    return progress.results()


def _problem(at: float | None, earlier: list[MilestoneResult]) -> str:
    if at is None:
        return "not seen"
    for milestone in earlier:
        if milestone.at is None:
            return f"seen without: {milestone.title}"
        if milestone.at > at:
            return f"seen before: {milestone.title}"
    return ""
