"""Records the growth of elastic gangs in a simulation."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.forecast.results.growth import Growth


@dataclass(frozen=True, slots=True)
class GroupSize:
    """The pods of a group that hold quota, the number that it asks for, and the accelerators of its workers
    above the minimum."""

    granted: int
    asked: int
    accelerators: int
    flavor: str


@dataclass(slots=True)
class _Group:
    size: GroupSize
    since_ms: int
    waiting: deque[tuple[int, int]] = field(default_factory=deque)  # since when, pods; the oldest first

    @property
    def waits(self) -> int:
        return sum(pods for _, pods in self.waiting)


@dataclass(slots=True)
class _Attempt:
    since_ms: int
    groups: dict[str, _Group] = field(default_factory=dict)
    below_since_ms: int | None = None  # None: its demand is met

    @property
    def is_below(self) -> bool:
        return any(group.waiting for group in self.groups.values())


class GrowthRecord:
    """Notes sizes of elastic gangs, and adds rows to `growth`. Workers are granted in the order in which they
    were asked for; those asked for last are withdrawn first."""

    def __init__(self) -> None:
        self.growth = Growth()
        self._attempts: dict[int, _Attempt] = {}

    def note(self, now_ms: int, job: int, pod_set: str, size: GroupSize) -> None:
        """Notes the present size of a group."""
        attempt = self._attempts.setdefault(job, _Attempt(now_ms))
        group = attempt.groups.setdefault(pod_set, _Group(size, now_ms))
        more = size.granted - group.size.granted
        for asked_ms, pods in _taken(group.waiting.popleft, group.waiting.appendleft, more):
            self._add(job, asked_ms, now_ms, pods)
        self._note_use(job, group, now_ms)
        group.size = size
        waits, asks = group.waits, max(0, size.asked - size.granted)
        if asks > waits:
            group.waiting.append((now_ms, asks - waits))
        else:
            list(_taken(group.waiting.pop, group.waiting.append, waits - asks))
        self._note_below(job, attempt, now_ms, is_below=attempt.is_below)

    def end(self, now_ms: int, job: int) -> None:
        """Notes the end of an attempt."""
        attempt = self._attempts.pop(job, None)
        if attempt is None:
            return
        for group in attempt.groups.values():
            self._note_use(job, group, now_ms)
            for asked_ms, pods in group.waiting:
                self._add(job, asked_ms, -1, pods)
        self._note_below(job, attempt, now_ms, is_below=False)
        held_ms = self.growth.held_ms
        held_ms[job] = held_ms.get(job, 0) + now_ms - attempt.since_ms

    def close(self, now_ms: int) -> None:
        """Ends all attempts."""
        for job in list(self._attempts):
            self.end(now_ms, job)

    def _note_use(self, job: int, group: _Group, now_ms: int) -> None:
        """Adds the use of a group since its last change."""
        if group.size.accelerators:
            used, key = self.growth.accelerator_ms, (job, group.size.flavor)
            used[key] = used.get(key, 0) + group.size.accelerators * (now_ms - group.since_ms)
        group.since_ms = now_ms

    def _note_below(self, job: int, attempt: _Attempt, now_ms: int, *, is_below: bool) -> None:
        since_ms = attempt.below_since_ms
        if since_ms is not None:
            below_ms = self.growth.below_ms
            below_ms[job] = below_ms.get(job, 0) + now_ms - since_ms
        attempt.below_since_ms = now_ms if is_below else None

    def _add(self, job: int, asked_ms: int, granted_ms: int, pods: int) -> None:
        growth = self.growth
        growth.job.append(job)
        growth.asked_ms.append(asked_ms)
        growth.granted_ms.append(granted_ms)
        growth.pods.append(pods)


def _taken(
    take: Callable[[], tuple[int, int]], give: Callable[[tuple[int, int]], None], count: int
) -> list[tuple[int, int]]:
    """Takes pods from one end of a queue, at most `count`; the remainder of an entry is returned."""
    taken: list[tuple[int, int]] = []
    while count > 0:
        try:
            asked_ms, pods = take()
        except IndexError:  # more than were asked for: the core grants only what is asked
            break
        if pods > count:
            give((asked_ms, pods - count))
        taken.append((asked_ms, min(pods, count)))
        count -= pods
    return taken
