"""A ClusterQueue's node as it would be with more nominal quota."""

from dataclasses import replace

from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode, Usage


def with_more_quota(node: QuotaNode, extra: Usage) -> QuotaNode:
    """A copy of the queue's node and of the cohorts above it, with so much more nominal quota. The copies
    have no children: what is available can be asked, victims can not be searched."""
    copy = _copied(node)
    copy.quotas = {
        **node.quotas,
        **{fr: replace(node.quota(fr), nominal=node.quota(fr).nominal + more) for fr, more in extra.items()},
    }
    gained, freed = dict(extra), dict.fromkeys(extra, 0)
    for of, before in zip(copy.lineage, node.lineage, strict=True):
        for fr in extra:
            of.subtree[fr] = of.subtree.get(fr, 0) + gained[fr]
            of.usage[fr] = of.usage.get(fr, 0) - freed[fr]
        of.settle()
        for fr in extra:
            gained[fr] = _lent(of, fr) - _lent(before, fr)
            freed[fr] = _passed_on(before, fr) - _passed_on(of, fr)
    return copy


def _copied(node: QuotaNode) -> QuotaNode:
    parent = _copied(node.parent) if node.parent else None
    copy = QuotaNode(node.name, node.quotas, node.weight, parent)
    copy.subtree, copy.usage, copy.height = dict(node.subtree), dict(node.usage), node.height
    return copy


def _lent(node: QuotaNode, fr: FlavorResource) -> int:
    return node.subtree.get(fr, 0) - node.local_quota(fr)


def _passed_on(node: QuotaNode, fr: FlavorResource) -> int:
    """The part of its usage that counts at the parent."""
    return max(0, node.usage.get(fr, 0) - node.local_quota(fr))
