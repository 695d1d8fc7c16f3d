"""The capacity of a leaf, and what is left of it.

Nodes are shared by all flavors that select them, so a host's capacity is one object in all their trees.
"""

from collections.abc import Mapping
from typing import NamedTuple

from muster.admission.model import Node, Resources

PODS = "pods"
_COUNT_MAX = 2**31 - 1  # pods of a set that asks for nothing

Requests = tuple[tuple[str, int], ...]
"""Requests of one pod, sorted by resource."""


class PodCount(NamedTuple):
    """How many pods fit, and the resource that allows no more."""

    pods: int
    limited_by: str


Journal = list["LeafCapacity"]
"""The leaves that have changed, one after the other; a leaf may occur many times."""


class LeafCapacity:
    """`total` is what nodes offer less what pods take that no admission accounts for; `free` is what
    placed gangs leave of it; `assumed` is what one placement has already given away. Every change is
    written down in the journal, for tables of what is left."""

    __slots__ = ("_assumed", "_journal", "free", "total")

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self.total: dict[str, int] = {}
        self.free: dict[str, int] = {}
        self._assumed: dict[str, int] = {}

    def bring(self, node: Node) -> None:
        """A node of this leaf."""
        for resource, amount in node.allocatable.items():
            self._bring(resource, amount)
        for resource, amount in node.used.items():
            self._bring(resource, -amount)

    def _bring(self, resource: str, amount: int) -> None:
        self.total[resource] = self.total.get(resource, 0) + amount
        self.free[resource] = self.free.get(resource, 0) + amount

    def take(self, requests: Requests, pods: int) -> None:
        """Pods that are placed here; a negative number of pods releases as much."""
        for resource, amount in requests:
            self.free[resource] = self.free.get(resource, 0) - amount * pods
        self._journal.append(self)

    def assume(self, requests: Requests, pods: int) -> None:
        for resource, amount in requests:
            self._assumed[resource] = self._assumed.get(resource, 0) + amount * pods
        self._journal.append(self)

    def forget(self) -> None:
        """Drops what was assumed."""
        self._assumed.clear()
        self._journal.append(self)

    def holds(self, amounts: Mapping[str, int]) -> bool:
        return all(amount <= self.free.get(resource, 0) for resource, amount in amounts.items() if amount)

    def left(self, empty: bool = False) -> Mapping[str, int]:
        """`empty`: as if no gang were placed, but for what is assumed. May be negative."""
        base = self.total if empty else self.free
        if not self._assumed:
            return base
        return {
            resource: base.get(resource, 0) - self._assumed.get(resource, 0)
            for resource in {*base, *self._assumed}
        }


def of_one_pod(requests: Resources) -> Requests:
    """Requests of one pod, with one of the node's `pods`."""
    return tuple(sorted({**requests, PODS: requests.get(PODS, 0) + 1}.items()))


def count_in(requests: Requests, left: Mapping[str, int]) -> PodCount:
    """Among resources that limit alike, the first by name is named (Kueue: pkg/resources/requests.go)."""
    pods, limited_by = _COUNT_MAX + 1, ""
    for resource, amount in requests:
        fitting = min(max(0, left.get(resource, 0) // amount), _COUNT_MAX) if amount else _COUNT_MAX
        if fitting < pods:
            pods, limited_by = fitting, resource
    return PodCount(pods, limited_by)
