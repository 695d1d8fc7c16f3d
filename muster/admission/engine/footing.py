"""What the prospects of a queue's workloads rest on, and whether that is still as it was."""

from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState


class Footing:
    """Of one queue: who holds quota in it, and what is used in the cohorts above it, below the root.

    Whatever is worked out from that alone holds as long as `token` is the same object."""

    __slots__ = (
        "_below",
        "_known",
        "flavors",
        "holdings",
        "node",
        "one_flavor",
        "queue",
        "rules",
        "state",
        "token",
    )

    def __init__(self, state: WorkingState, node: QuotaNode) -> None:
        self.state = state
        self.node = node
        self.queue = state.queue(node.name)
        self.flavors = state.flavors[node.name]
        self.holdings = state.holdings[node.name]
        self.one_flavor = all(len(group.flavors) == 1 for group in self.queue.groups)
        self.token = object()
        self._below = node.lineage[:-1]
        self._known: tuple[object, ...] = ()

    def renew(self) -> bool:
        """Whether anything is different from the last time."""
        found = self.holdings.version, *[tuple(node.usage.values()) for node in self._below]
        if found == self._known:
            return False
        self._known = found
        self.token = object()
        return True
