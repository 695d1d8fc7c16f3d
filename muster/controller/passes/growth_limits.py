"""Why elastic gangs don't grow: prompt for new sizes, and refreshed later."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from muster.admission import Waiting
from muster.controller.passes.explanations import AGAIN_INTERVAL_MS

Waits = Mapping[str, Waiting]
"""Why the next replica of a pod set waits, by pod set; without pod sets whose next replica fits."""


@dataclass(frozen=True, slots=True)
class GangSize:
    """The size of a gang: its explanation is outdated once it changes."""

    granted: Mapping[str, int]
    asked: Mapping[str, int]
    full: frozenset[str]  # pod sets without free quota for another replica


@dataclass(frozen=True, slots=True)
class _Explanation:
    waits: Waits
    size: GangSize
    at_ms: int


class GrowthLimits:
    """The last explanation of each elastic gang with quota, by key."""

    def __init__(self) -> None:
        self._by_gang: dict[str, _Explanation] = {}  # the oldest first

    def explain(
        self,
        sizes: Mapping[str, GangSize],
        waits_of: Callable[[str], Waits],
        now_ms: int,
        limit: int | None,
    ) -> Iterable[tuple[str, Waits]]:
        """Returns why the gangs of these sizes don't grow, without gangs that are not explained yet. At most
        `limit` explanations are new or refreshed; None for all."""
        for key in self._by_gang.keys() - sizes.keys():
            del self._by_gang[key]
        due = dict.fromkeys(key for key in sizes if self._is_new(key, sizes[key]))
        due |= dict.fromkeys(
            key
            for key, explanation in self._by_gang.items()
            if limit is None or not 0 <= now_ms - explanation.at_ms < AGAIN_INTERVAL_MS
        )
        for key in list(due)[:limit]:
            self._by_gang.pop(key, None)
            self._by_gang[key] = _Explanation(waits_of(key), sizes[key], now_ms)
        return [(key, e.waits) for key, e in self._by_gang.items() if e.size == sizes[key]]

    def _is_new(self, key: str, size: GangSize) -> bool:
        explanation = self._by_gang.get(key)
        return explanation is None or explanation.size != size
