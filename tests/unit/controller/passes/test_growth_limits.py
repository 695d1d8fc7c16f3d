"""Explanations of growth: prompt for new sizes, and bounded in number."""

from muster.admission import Waiting, WaitReason
from muster.controller.passes.explanations import AGAIN_INTERVAL_MS
from muster.controller.passes.growth_limits import GangSize, GrowthLimits, Waits

NOW_MS = 1_000_000


class Asked:
    """Explains gangs, and records which."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, key: str) -> Waits:
        self.keys.append(key)
        return {"gpu": Waiting(key, WaitReason.QUOTA, f"explanation {len(self.keys)}")}


def size(granted: int = 2) -> GangSize:
    return GangSize({"gpu": granted}, {"gpu": granted}, frozenset({"gpu"}))


def explained(limits: GrowthLimits, sizes: dict[str, GangSize], at_ms: int, limit: int | None) -> list[str]:
    """Returns the gangs that are explained by a pass."""
    asked = Asked()
    limits.explain(sizes, asked, at_ms, limit)
    return asked.keys


def test_gangs_are_explained_again_when_their_size_changes_or_after_a_while() -> None:
    limits, sizes = GrowthLimits(), {"a": size(), "b": size()}
    assert explained(limits, sizes, NOW_MS, 20) == ["a", "b"]
    assert explained(limits, sizes, NOW_MS + 1, 20) == []
    assert explained(limits, {**sizes, "b": size(3)}, NOW_MS + 2, 20) == ["b"]
    assert explained(limits, {**sizes, "b": size(3)}, NOW_MS + AGAIN_INTERVAL_MS, 20) == ["a"]


def test_pass_without_limits_explains_all() -> None:
    limits, sizes = GrowthLimits(), {"a": size(), "b": size()}
    assert explained(limits, sizes, NOW_MS, None) == explained(limits, sizes, NOW_MS, None) == ["a", "b"]


def test_number_of_explanations_is_bounded_and_new_sizes_come_first() -> None:
    limits, sizes = GrowthLimits(), {"a": size(), "b": size(), "c": size()}
    asked = Asked()
    assert [key for key, _ in limits.explain(sizes, asked, NOW_MS, 2)] == ["a", "b"], "c is not explained yet"
    later_ms = NOW_MS + AGAIN_INTERVAL_MS
    assert explained(limits, sizes, later_ms, 2) == ["c", "a"]


def test_outdated_sizes_have_no_explanation() -> None:
    limits, asked = GrowthLimits(), Asked()
    limits.explain({"a": size()}, asked, NOW_MS, 1)
    assert list(limits.explain({"a": size(3)}, asked, NOW_MS, 0)) == []
    assert list(limits.explain({}, asked, NOW_MS, 0)) == []
