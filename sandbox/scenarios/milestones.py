"""Scenarios as data: who is submitted when, and what must be seen of them, in which order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.cluster.kinds import Kind, Object
from sandbox.scenarios.gangs import cluster_spec
from sandbox.scenarios.observations import JobRef, Seen, World

Cast = Mapping[str, JobRef]
"""The jobs of a scenario by their role, such as `dev`."""

Look = Callable[[World, Cast], str]
"""Says what it sees, or an empty string while it does not see it."""


@dataclass(frozen=True)
class Chapter:
    """Something that must be seen; once it is, the job in the role `submit` is created, or that in the role
    `remove` deleted. What may look the same before and after another chapter is looked for only `after` it.
    """

    title: str
    look: Look
    submit: str = ""
    remove: str = ""
    after: str = ""


@dataclass(frozen=True)
class Scenario:
    """`kinds` are watched. `taken_up` says of a job, as the API server would create it, that the stack's
    admission policies are in force. `examples` are files of the folder examples/ by role; the first of them
    is submitted at the start."""

    name: str
    says: str
    kinds: Sequence[Kind]
    taken_up: Callable[[Object], bool]
    examples: Mapping[str, str]
    chapters: Sequence[Chapter]

    def chapter(self, title: str) -> Chapter:
        """The chapter with that title."""
        return next(c for c in self.chapters if c.title == title)


@dataclass(frozen=True)
class Milestone:
    """`at`: when first seen (None: never); `detail`: what was seen; `problem`: why it does not count."""

    title: str
    at: float | None
    detail: str
    problem: str = ""


class Progress:
    """Follows the changes and notes when each milestone is first seen."""

    def __init__(self, scenario: Scenario, cast: Cast) -> None:
        self.world = World()
        self._scenario, self._cast = scenario, cast
        self._first: dict[str, tuple[float, str]] = {}

    def see(self, seen: Seen) -> list[Milestone]:
        """Takes in one change; returns the milestones that it reached."""
        self.world.see(seen)
        reached = []
        for chapter in self._scenario.chapters:
            due = chapter.title not in self._first and (not chapter.after or chapter.after in self._first)
            if due and (detail := chapter.look(self.world, self._cast)):
                self._first[chapter.title] = (seen.at, detail)
                reached.append(chapter.title)
        return [m for m in self.milestones() if m.title in reached] if reached else []

    def milestones(self) -> list[Milestone]:
        """All of them in order, with what is missing or came too early."""
        found: list[Milestone] = []
        for chapter in self._scenario.chapters:
            at, detail = self._first.get(chapter.title, (None, ""))
            found.append(Milestone(chapter.title, at, detail, _problem(at, found)))
        return found

    @property
    def done(self) -> bool:
        """Whether all were seen, in order or not."""
        return len(self._first) == len(self._scenario.chapters)


def is_suspended(job: Object) -> bool:
    """What engines that read Kueue's labels do to a queued job that is created."""
    return bool(job["spec"].get("suspend") or cluster_spec(job).get("suspend"))


def check(scenario: Scenario, events: Iterable[Seen], cast: Cast) -> list[Milestone]:
    """The milestones as these events, in the order of their times, show them."""
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
