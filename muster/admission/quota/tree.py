"""The quota tree: the nodes of all ClusterQueues, over cohorts of any depth."""

from collections.abc import Container, Iterable, Iterator, Mapping
from fractions import Fraction

from muster.admission.model import ClusterQueue, Cohort, FlavorResource, Quota, ResourceGroup, Snapshot
from muster.admission.quota.node import QuotaNode


class QuotaTree:
    """Nodes of all ClusterQueues under their cohorts; a cohort in a cycle has none.

    A queue that is not active keeps its quota and usage in the tree, as in Kueue, but is no
    child that a search for victims would meet.
    """

    __slots__ = ("_cohorts", "queues")

    def __init__(self, snapshot: Snapshot, active: Container[str]) -> None:
        parents = cohort_parents(snapshot)
        cohorts = self._cohorts = dict[str, QuotaNode]()
        for name in parents_first(parents, cyclic_cohorts(parents)):
            parent = cohorts.get(parents[name] or "")
            node = QuotaNode(name, *_terms(snapshot.cohorts.get(name)), parent)
            cohorts[name] = node
            if node.parent:
                node.parent.cohorts.append(node)
        self.queues: dict[str, QuotaNode] = {}
        for name, queue in sorted(snapshot.cluster_queues.items()):
            parent = cohorts.get(queue.cohort or "")
            node = QuotaNode(name, *_terms(queue), parent)
            self.queues[name] = node
            if node.parent and name in active:
                node.parent.queues.append(node)
        _lift([*cohorts.values(), *self.queues.values()])

    def take_quotas(self, snapshot: Snapshot) -> set[QuotaNode]:
        """Takes quotas and weights of a snapshot with the same queues and cohorts. Returns the roots of trees
        where any of them has changed: usage is to be added to these again."""
        terms = {node: _terms(snapshot.cohorts.get(name)) for name, node in self._cohorts.items()}
        terms |= {node: _terms(snapshot.cluster_queues[name]) for name, node in self.queues.items()}
        changed = {node.root for node, found in terms.items() if found != (node.quotas, node.weight)}
        reset = [node for node in terms if node.root in changed]
        for node in reset:
            node.reset(*terms[node])
        _lift(reset)
        return changed


def _terms(owner: ClusterQueue | Cohort | None) -> tuple[dict[FlavorResource, Quota], Fraction]:
    """Quotas, and the weight of its share; a cohort that is only named has none of its own."""
    return (quotas_of(owner.groups), owner.weight) if owner is not None else ({}, Fraction(1))


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def _lift(nodes: list[QuotaNode]) -> None:
    """Sums subtree quotas and heights up the tree, deepest nodes first."""
    # A node lends what is left above its own lending limit, which is known once its children are summed up.
    for node in sorted(nodes, key=lambda node: -len(node.lineage)):
        node.settle()
        if node.cohorts or node.queues:
            node.height = 1 + max((child.height for child in node.cohorts), default=0)
        if node.parent:
            for fr, amount in node.subtree.items():
                lent = amount - node.local_quota(fr)
                node.parent.subtree[fr] = node.parent.subtree.get(fr, 0) + lent


def cohort_parents(snapshot: Snapshot) -> dict[str, str | None]:
    """Cohorts that are declared or only named, with their parents; names in order."""
    parents: dict[str, str | None] = {name: cohort.parent for name, cohort in snapshot.cohorts.items()}
    named = [cohort.parent for cohort in snapshot.cohorts.values()]
    named += [queue.cohort for queue in snapshot.cluster_queues.values()]
    for name in named:
        if name is not None:
            parents.setdefault(name, None)
    return dict(sorted(parents.items()))


def cyclic_cohorts(parents: Mapping[str, str | None]) -> frozenset[str]:
    """The cohorts whose way up never ends."""
    ends: dict[str, bool] = {}
    for start in parents:
        way: dict[str, None] = {}
        name: str | None = start
        while name is not None and name not in ends and name not in way:
            way[name] = None
            name = parents[name]
        ended = name is None or ends.get(name, False)
        ends.update(dict.fromkeys(way, ended))
    return frozenset(name for name, ended in ends.items() if not ended)


def parents_first(parents: Mapping[str, str | None], cyclic: Container[str]) -> Iterator[str]:
    seen: set[str] = set()
    for start in parents:
        way = []
        name: str | None = start
        while name is not None and name not in seen and name not in cyclic:
            seen.add(name)
            way.append(name)
            name = parents[name]
        yield from reversed(way)
