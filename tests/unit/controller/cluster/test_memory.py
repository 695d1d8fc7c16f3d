"""Values are computed once, until their objects change or a pass does not ask for them."""

from muster.controller.cluster.memory import Memory


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, one: list[int], other: list[int]) -> list[int] | None:
        self.calls += 1
        return [*one, *other] or None


def test_the_same_objects_are_read_once() -> None:
    memory, make, one, other = Memory(), Maker(), [1], [2]
    first = memory.of(make, "key", one, other)
    memory.turn()
    assert memory.of(make, "key", one, other) is first
    assert memory.of(make, "another", one, other) == first
    assert make.calls == 2


def test_none_is_cached_too() -> None:
    memory, make, none = Memory(), Maker(), list[int]()
    assert [memory.of(make, "key", none, none) for _ in range(2)] == [None, None]
    assert make.calls == 1


def test_an_equal_object_is_a_different_key() -> None:
    memory, make, one = Memory(), Maker(), [1]
    memory.of(make, "key", one, [2])
    memory.of(make, "key", one, [2])
    assert make.calls == 2


def test_values_of_different_functions_are_kept_apart() -> None:
    memory, makers, one = Memory(), (Maker(), Maker()), [1]
    for make in makers:
        memory.of(make, "key", one, one)
    assert [make.calls for make in makers] == [1, 1]


def test_values_that_no_pass_asked_for_are_dropped() -> None:
    memory, make, one = Memory(), Maker(), [1]
    memory.of(make, "key", one, one)
    memory.turn()
    memory.turn()
    memory.of(make, "key", one, one)
    assert make.calls == 2
