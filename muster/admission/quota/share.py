"""The weighted dominant resource share of a node: its borrowing relative to the lendable quota.

Kueue: pkg/cache/scheduler/fair_sharing.go, but with exact fractions where Kueue has floats.
Shares are compared among the children of one cohort only.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from muster.admission.model import FlavorResource
from muster.admission.quota.tree import QuotaNode, Usage

_SCALE = 1000  # shares are thousandths, as in the API's status.fairSharing.weightedShare


class Share(NamedTuple):
    """A share, ordered as by Kueue's CompareDRS: borrowers of weight zero come last.

    `value` is in thousandths of the lendable quota, divided by the weight unless that is zero."""

    weightless: bool
    value: Fraction


@dataclass(frozen=True, slots=True)
class DominantShare:
    """A share, its dominant resource ("" without one) and all borrowed quota.

    `borrowed` may include resources without lendable quota, which add no share: quotas shrank below the
    usage."""

    share: Share
    resource: str = ""
    borrowed: tuple[FlavorResource, ...] = ()

    def borrows_any(self, requested: Usage) -> bool:
        """Returns whether a requested resource is borrowed (Kueue: IsBorrowingOn)."""
        return any(requested.get(fr, 0) > 0 for fr in self.borrowed)


_ZERO = Share(False, Fraction(0))
_NOT_BORROWING = DominantShare(_ZERO)


def dominant_share(node: QuotaNode) -> DominantShare:
    """Returns the share of the node's current usage; a root cannot borrow."""
    if node.parent is None:
        return _NOT_BORROWING
    borrowed: dict[str, int] = {}
    borrowed_from = []
    for fr, quota in node.subtree.items():
        amount = node.usage.get(fr, 0) - quota
        if amount > 0:
            borrowed[fr.resource] = borrowed.get(fr.resource, 0) + amount
            borrowed_from.append(fr)
    if not borrowed:
        return _NOT_BORROWING
    units = _units(node, node.parent)
    values = [(units[name] * borrowed[name], name) for name in sorted(borrowed) if name in units]
    if not values:
        return DominantShare(_ZERO, "", tuple(borrowed_from))
    value, resource = max(values, key=lambda pair: pair[0])  # of equals, the first by name
    return DominantShare(Share(not node.weight, value), resource, tuple(borrowed_from))


def _units(node: QuotaNode, parent: QuotaNode) -> dict[str, Fraction]:
    """Returns the share that one borrowed unit adds, for each resource with potential quota at the parent.

    It depends on quotas and weights alone, so it is computed once.
    """
    if node.units is None:
        lendable: dict[str, int] = {}
        for fr in parent.root.subtree:  # includes all resources of the tree
            lendable[fr.resource] = lendable.get(fr.resource, 0) + parent.potentially_available(fr)
        scale = Fraction(_SCALE) / (node.weight or 1)
        node.units = {name: scale / amount for name, amount in lendable.items() if amount > 0}
    return node.units
