"""Values are computed once, until their objects change or a pass does not ask for them."""

from muster.cluster.pass_cache import PassCache


class Maker:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, inputs: list[int], other: list[int]) -> list[int] | None:
        self.calls += 1
        return [*inputs, *other] or None


def test_the_same_objects_are_read_once() -> None:
    cache, make, numbers, other = PassCache(), Maker(), [1], [2]
    first = cache.get(make, "key", numbers, other)
    cache.begin_full_pass()
    assert cache.get(make, "key", numbers, other) is first
    assert cache.get(make, "another", numbers, other) == first
    assert make.calls == 2


def test_none_is_cached_too() -> None:
    cache, make, none = PassCache(), Maker(), list[int]()
    assert [cache.get(make, "key", none, none) for _ in range(2)] == [None, None]
    assert make.calls == 1


def test_an_equal_object_is_a_different_key() -> None:
    cache, make, first = PassCache(), Maker(), [1]
    cache.get(make, "key", first, [2])
    cache.get(make, "key", first, [2])
    assert make.calls == 2


def test_values_of_different_functions_are_kept_apart() -> None:
    cache, makers, first = PassCache(), (Maker(), Maker()), [1]
    for make in makers:
        cache.get(make, "key", first, first)
    assert [make.calls for make in makers] == [1, 1]


def test_values_that_a_full_pass_did_not_ask_for_are_dropped() -> None:
    cache, make, first = PassCache(), Maker(), [1]
    for key in ("kept", "not asked for"):
        cache.get(make, key, first, first)
    cache.begin_full_pass()
    cache.get(make, "kept", first, first)
    cache.end_full_pass()
    assert make.calls == 2
    cache.get(make, "kept", first, first)
    assert make.calls == 2
    cache.get(make, "not asked for", first, first)
    assert make.calls == 3
