"""Values are computed once for each struct, and dropped with it."""

import pytest

from muster.objects.derived import Derived
from muster.objects.meta import View


class Part(View, gc=True, weakref=True):
    size: int = 1


class Sizes:
    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, part: Part) -> int:
        self.asked.append(part.size)
        if part.size < 0:
            raise ValueError("negative")
        return 10 * part.size


def test_a_value_is_computed_once_for_a_struct() -> None:
    sizes = Sizes()
    derived, first, other = Derived(sizes), Part(size=1), Part(size=2)
    assert [derived(part) for part in (first, other, first, other)] == [10, 20, 10, 20]
    assert sizes.asked == [1, 2]


def test_an_error_is_raised_on_every_call() -> None:
    sizes, part = Sizes(), Part(size=-1)
    derived = Derived(sizes)
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            derived(part)
    assert sizes.asked == [-1, -1]


def test_a_value_is_dropped_with_its_struct() -> None:
    """The next struct may be at the same address."""
    derived = Derived(Sizes())
    assert [derived(Part(size=size)) for size in range(100)] == [10 * size for size in range(100)]
    assert not derived._entries
