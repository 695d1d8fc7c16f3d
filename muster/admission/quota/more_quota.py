"""A hypothetical ClusterQueue node with more nominal quota."""

from dataclasses import replace

from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode, Usage


def with_more_quota(node: QuotaNode, extra: Usage) -> QuotaNode:
    """Returns a copy of the queue's node and its cohorts with `extra` nominal quota.

    The copies have no children: they serve to compute available quota, not to search preemption targets."""
    copy = _copy(node)
    copy.quotas = {
        **node.quotas,
        **{
            fr: replace(node.quota(fr), nominal=node.quota(fr).nominal + amount)
            for fr, amount in extra.items()
        },
    }
    # The change of quota and of usage that the node below passes to its parent.
    quota_change, usage_change = dict(extra), dict.fromkeys(extra, 0)
    for changed, original in zip(copy.lineage, node.lineage, strict=True):
        for fr in extra:
            changed.subtree[fr] = changed.subtree.get(fr, 0) + quota_change[fr]
            changed.usage[fr] = changed.usage.get(fr, 0) + usage_change[fr]
        changed.compute_limits()
        for fr in extra:
            quota_change[fr] = _lent(changed, fr) - _lent(original, fr)
            usage_change[fr] = _usage_at_parent(changed, fr) - _usage_at_parent(original, fr)
    return copy


def _copy(node: QuotaNode) -> QuotaNode:
    parent = _copy(node.parent) if node.parent else None
    copy = QuotaNode(node.name, node.quotas, node.weight, parent)
    copy.subtree, copy.usage, copy.height = dict(node.subtree), dict(node.usage), node.height
    return copy


def _lent(node: QuotaNode, fr: FlavorResource) -> int:
    return node.subtree.get(fr, 0) - node.local_quota(fr)


def _usage_at_parent(node: QuotaNode, fr: FlavorResource) -> int:
    """Returns the part of the node's usage that counts at its parent."""
    return max(0, node.usage.get(fr, 0) - node.local_quota(fr))
