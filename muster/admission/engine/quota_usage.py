"""Quotas and their usage as values: what each node of the tree has, uses, borrows and lends."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muster.admission.model import FlavorResource
from muster.admission.quota.share import Share, dominant_share
from muster.admission.quota.tree import QuotaNode, QuotaTree, Usage


@dataclass(frozen=True, slots=True)
class ColumnUsage:
    """A flavor's resource at one node, in the core's units.

    `nominal` is its own quota, `total` includes those below it. `used` is held by workloads below it; it has
    `borrowed` a part of that. `lent` is quota of its own that it does not use and could not take now, as
    others use it; `available` could be taken now, own and borrowed."""

    nominal: int
    total: int
    used: int
    borrowed: int
    lent: int
    available: int


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """A ClusterQueue or a Cohort, and the cohort above it. `share` is its dominant resource share."""

    name: str
    is_cohort: bool
    parent: str | None
    share: Share
    columns: Mapping[FlavorResource, ColumnUsage]


def quota_usage(tree: QuotaTree) -> Iterator[NodeUsage]:
    """Yields all nodes: cohorts after those above them, then ClusterQueues."""
    totals: dict[QuotaNode, dict[FlavorResource, int]] = defaultdict(lambda: defaultdict(int))
    used: dict[QuotaNode, dict[FlavorResource, int]] = defaultdict(lambda: defaultdict(int))
    cohorts, queues = tree.cohorts.values(), tree.queues.values()
    for node in (*cohorts, *queues):
        for above in node.lineage:
            for fr, quota in node.quotas.items():
                totals[above][fr] += quota.nominal
    for node in queues:
        for above in node.lineage:
            for fr, amount in node.usage.items():
                used[above][fr] += amount
    for node in cohorts:
        yield _node(node, True, totals[node], used[node])
    for node in queues:
        yield _node(node, False, totals[node], used[node])


def _node(node: QuotaNode, is_cohort: bool, totals: Usage, used: Usage) -> NodeUsage:
    columns = {
        fr: _column(node, fr, totals.get(fr, 0), used.get(fr, 0))
        for fr in sorted({*totals, *filter(used.get, used)})
    }
    parent = node.parent.name if node.parent else None
    return NodeUsage(node.name, is_cohort, parent, dominant_share(node).share, columns)


def _column(node: QuotaNode, fr: FlavorResource, total: int, used: int) -> ColumnUsage:
    own, at_node, available = node.subtree.get(fr, 0), node.usage.get(fr, 0), node.available(fr)
    return ColumnUsage(
        nominal=node.quota(fr).nominal,
        total=total,
        used=used,
        borrowed=max(0, at_node - own) if node.parent else 0,
        lent=max(0, own - at_node - max(0, available)) if node.parent else 0,
        available=available,
    )
