"""Orders the groups of a comparison by the effect of the change, and names groups without an effect."""

from collections.abc import Iterable
from math import inf

from muster.forecast.results.comparison import Comparison, Difference
from muster.forecast.results.waits import JobGroup, in_order


class Effects:
    """Effects of a change on the groups of a comparison."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self.differences: dict[JobGroup, dict[str, Difference]] = {}
        for difference in comparison.differences:
            self.differences.setdefault(difference.group, {})[difference.statistic] = difference

    @property
    def groups(self) -> list[JobGroup]:
        """All groups of either side: all jobs first, then queues, the largest effect first."""
        every = in_order({group for group, _ in self._comparison.waits} | set(self._comparison.never))
        by_queue: dict[str, float] = {}
        for group in every:
            by_queue[group.queue] = max(by_queue.get(group.queue, 0.0), self.effect_s(group))
        return sorted(every, key=lambda group: (bool(group.queue), -by_queue[group.queue], group.queue))

    def effect_s(self, group: JobGroup) -> float:
        """Returns the largest change of a statistic in seconds, regardless of its direction; infinite if
        jobs no longer start, start only after the change, or exist on one side only."""
        before, after = self._comparison.never.get(group, (0.0, 0.0))
        differences = self.differences.get(group)
        if before != after or not differences:
            return inf if before != after or self._starts(group) else 0.0
        return max(abs(difference.change_s) for difference in differences.values())

    def is_unchanged(self, group: JobGroup) -> bool:
        """Returns whether no statistic changes by a second in the mean or in the band."""
        spans = (
            span
            for difference in self.differences.get(group, {}).values()
            for span in (difference.change_s, difference.low_s, difference.high_s)
        )
        return round(min(self.effect_s(group), 1)) == 0 and not any(map(round, spans))

    def changed_rows(self, groups: Iterable[JobGroup]) -> list[JobGroup]:
        """Returns the groups to show: groups with an effect, their queues, and all jobs."""
        groups = list(groups)
        changed = {group for group in groups if not self.is_unchanged(group)}
        queues = {JobGroup(), *(JobGroup(group.queue) for group in changed)}
        return [group for group in groups if group in changed | queues]

    def _starts(self, group: JobGroup) -> bool:
        """Returns whether a job of the group starts on either side."""
        pairs = (pair for (of, _), pair in self._comparison.waits.items() if of == group)
        return any(value is not None for pair in pairs for value in pair)
