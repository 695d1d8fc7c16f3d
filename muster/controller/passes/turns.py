"""Takes turns, so that none delays another."""

from collections.abc import Callable, Hashable, Iterable
from itertools import chain, islice, zip_longest
from typing import TypeVar

T = TypeVar("T")


def by_turns(items: Iterable[T], turn_of: Callable[[T], Hashable], most: int) -> list[T]:
    """Returns the first `most` items, by turns of what `turn_of` returns; within a turn they keep their
    order."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(turn_of(item), []).append(item)
    wrapped = zip_longest(*([(item,) for item in group] for group in groups.values()), fillvalue=())
    return list(islice(chain.from_iterable(chain.from_iterable(wrapped)), most))
