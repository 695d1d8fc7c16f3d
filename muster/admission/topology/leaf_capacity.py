"""The total and free capacity of a leaf.

Flavors may share nodes, so the trees of all flavors use the same object for the capacity of a host.
"""

from collections.abc import Mapping
from typing import NamedTuple

from muster.admission.model import Node, Resources

PODS = "pods"
_COUNT_MAX = 2**31 - 1  # for pods without requests

Requests = tuple[tuple[str, int], ...]
"""Requests of one pod, sorted by resource."""


class PodCount(NamedTuple):
    """The number of pods that fit, and the limiting resource."""

    pods: int
    limited_by: str


Journal = list["LeafCapacity"]
"""The leaves whose capacity changed, in order; a leaf may occur repeatedly."""


class LeafCapacity:
    """The capacity of a leaf. `total` is the allocatable capacity minus the usage of pods without an
    admission; `free` is `total` minus the usage of placed gangs; assumed usage is that of the placement in
    progress. The journal records each change, so that cached capacities can be refreshed."""

    __slots__ = ("_assumed", "_journal", "free", "total")

    def __init__(self, journal: "Journal") -> None:
        self._journal = journal
        self.total: dict[str, int] = {}
        self.free: dict[str, int] = {}
        self._assumed: dict[str, int] = {}

    def add_node(self, node: Node) -> None:
        """Adds the capacity of a node of this leaf."""
        for resource, amount in node.allocatable.items():
            self._add_capacity(resource, amount)
        for resource, amount in node.used.items():
            self._add_capacity(resource, -amount)

    def _add_capacity(self, resource: str, amount: int) -> None:
        self.total[resource] = self.total.get(resource, 0) + amount
        self.free[resource] = self.free.get(resource, 0) + amount

    def take(self, requests: Requests, pods: int) -> None:
        """Adds the usage of pods that are placed here; a negative number removes it."""
        for resource, amount in requests:
            self.free[resource] = self.free.get(resource, 0) - amount * pods
        self._journal.append(self)

    def assume(self, requests: Requests, pods: int) -> None:
        for resource, amount in requests:
            self._assumed[resource] = self._assumed.get(resource, 0) + amount * pods
        self._journal.append(self)

    def clear_assumed(self) -> None:
        """Removes assumed usage."""
        self._assumed.clear()
        self._journal.append(self)

    def fits(self, amounts: Mapping[str, int]) -> bool:
        return all(amount <= self.free.get(resource, 0) for resource, amount in amounts.items() if amount)

    def remaining(self, empty: bool = False) -> Mapping[str, int]:
        """Returns free capacity minus assumed usage, which may be negative. `empty` ignores placed gangs."""
        base = self.total if empty else self.free
        if not self._assumed:
            return base
        return {
            resource: base.get(resource, 0) - self._assumed.get(resource, 0)
            for resource in {*base, *self._assumed}
        }


def requests_of_one_pod(requests: Resources) -> Requests:
    """Returns the requests of one pod, including one of the node's `pods`."""
    return tuple(sorted({**requests, PODS: requests.get(PODS, 0) + 1}.items()))


def count_pods(requests: Requests, free: Mapping[str, int]) -> PodCount:
    """Counts the pods that fit. Of equally limiting resources it names the first by name.

    Source: Kueue's pkg/resources/requests.go."""
    pods, limited_by = _COUNT_MAX + 1, ""
    for resource, amount in requests:
        fitting = min(max(0, free.get(resource, 0) // amount), _COUNT_MAX) if amount else _COUNT_MAX
        if fitting < pods:
            pods, limited_by = fitting, resource
    return PodCount(pods, limited_by)
