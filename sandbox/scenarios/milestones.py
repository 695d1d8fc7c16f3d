"""Scenarios as data: which jobs are submitted when, and the order of their milestones. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.cluster.kinds import Kind, Object
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.observations import JobRef, Seen, World

Cast = Mapping[str, JobRef]
"""The jobs of a scenario by their role, such as `dev`."""

Look = Callable[[World, Cast], str]
"""Returns a description of what was observed, or an empty string if it was not."""


@dataclass(frozen=True)
class Chapter:
    """A milestone; once observed, the job with the role `submit` is created, or that with the role `remove`
    deleted. One that might be observed too early is checked only `after` another chapter.
    """

    title: str
    look: Look
    submit: str = ""
    remove: str = ""
    after: str = ""


@dataclass(frozen=True)
class Scenario:
    """`kinds` are watched. `taken_up` tells from a job, as the API server would create it, whether the
    stack's admission policies are active. `examples` are files of the folder examples/ by role; the first is
    submitted at the start."""

    name: str
    says: str
    kinds: Sequence[Kind]
    taken_up: Callable[[Object], bool]
    examples: Mapping[str, str]
    chapters: Sequence[Chapter]

    def chapter(self, title: str) -> Chapter:
        """Returns the chapter with that title."""
        return next(c for c in self.chapters if c.title == title)


@dataclass(frozen=True)
class Milestone:
    """`at`: when first observed (None: never); `detail`: what was observed; `problem`: why it is invalid."""

    title: str
    at: float | None
    detail: str
    problem: str = ""


class Progress:
    """Follows the changes and records when each milestone is first observed."""

    def __init__(self, scenario: Scenario, cast: Cast) -> None:
        self.world = World()
        self._scenario, self._cast = scenario, cast
        self._first: dict[str, tuple[float, str]] = {}

    def see(self, seen: Seen) -> list[Milestone]:
        """Applies one change; returns the milestones that it reached."""
        self.world.see(seen)
        reached = []
        for chapter in self._scenario.chapters:
            due = chapter.title not in self._first and (not chapter.after or chapter.after in self._first)
            if due and (detail := chapter.look(self.world, self._cast)):
                self._first[chapter.title] = (seen.at, detail)
                reached.append(chapter.title)
        return [m for m in self.milestones() if m.title in reached] if reached else []

    def milestones(self) -> list[Milestone]:
        """Returns all milestones in order, with problems of those missing or too early."""
        found: list[Milestone] = []
        for chapter in self._scenario.chapters:
            at, detail = self._first.get(chapter.title, (None, ""))
            found.append(Milestone(chapter.title, at, detail, _problem(at, found)))
        return found

    @property
    def done(self) -> bool:
        """Whether all milestones were observed, in order or not."""
        return len(self._first) == len(self._scenario.chapters)


def is_suspended(job: Object) -> bool:
    """Whether the job was suspended at creation, as with engines that use Kueue's labels."""
    return bool(job["spec"].get("suspend") or cluster_spec(job).get("suspend"))


def check(scenario: Scenario, events: Iterable[Seen], cast: Cast) -> list[Milestone]:
    """Returns the milestones of these events, which must be in order of time."""
    progress = Progress(scenario, cast)
    for seen in events:
        progress.see(seen)
    return progress.milestones()


def _problem(at: float | None, earlier: list[Milestone]) -> str:
    if at is None:
        return "not seen"
    for milestone in earlier:
        if milestone.at is None:
            return f"seen without: {milestone.title}"
        if milestone.at > at:
            return f"seen before: {milestone.title}"
    return ""
