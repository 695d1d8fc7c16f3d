"""Round-robin selection, so that no group delays another."""

from collections.abc import Callable, Hashable, Iterable
from itertools import chain, islice, zip_longest
from typing import TypeVar

T = TypeVar("T")


def round_robin(items: Iterable[T], group_of: Callable[[T], Hashable], limit: int) -> list[T]:
    """Returns the first `limit` items, round-robin by group; within a group, items keep their order."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(group_of(item), []).append(item)
    wrapped = zip_longest(*([(item,) for item in group] for group in groups.values()), fillvalue=())
    return list(islice(chain.from_iterable(chain.from_iterable(wrapped)), limit))
