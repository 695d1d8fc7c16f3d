"""Quota usage as values: the quota, usage, borrowing and lending of each node of the tree."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muster.admission.model import FlavorResource
from muster.admission.quota.share import Share, dominant_share
from muster.admission.quota.tree import QuotaNode, QuotaTree, Usage


@dataclass(frozen=True, slots=True)
class ColumnUsage:
    """The usage of a flavor's resource at one node, in the core's units.

    `nominal` is the node's own quota; `total` adds the nodes below it. `used` is held by workloads below the
    node, and includes `borrowed`. `lent` is own quota that the node does not use and others do; `available`
    can be used now, including borrowing."""

    nominal: int
    total: int
    used: int
    borrowed: int
    lent: int
    available: int


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """The usage of a ClusterQueue or Cohort; `parent` is the cohort above it, `share` its dominant resource
    share."""

    name: str
    is_cohort: bool
    parent: str | None
    share: Share
    columns: Mapping[FlavorResource, ColumnUsage]


def quota_usage(tree: QuotaTree) -> Iterator[NodeUsage]:
    """Yields all nodes: cohorts, each after its parent, then ClusterQueues."""
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
