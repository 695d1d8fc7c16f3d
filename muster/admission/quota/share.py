"""The weighted dominant resource share of a node: how much it borrows of what could be lent to it.

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
    """Ordered as Kueue's CompareDRS: a borrower of weight zero comes after all others.

    `value` is in thousandths of what could be lent, divided by the weight unless that is zero."""

    weightless: bool
    value: Fraction


@dataclass(frozen=True, slots=True)
class DominantShare:
    """A share, the resource that it is dominated by ("" without one) and all that is borrowed.

    A resource without anything to lend is borrowed without a share: more was taken than quotas allow now."""

    share: Share
    resource: str = ""
    borrowed: tuple[FlavorResource, ...] = ()

    def borrows_any(self, requested: Usage) -> bool:
        """Whether any of it is borrowed (Kueue: IsBorrowingOn)."""
        return any(requested.get(fr, 0) > 0 for fr in self.borrowed)


_NONE = Share(False, Fraction(0))
_NOTHING = DominantShare(_NONE)


def dominant_share(node: QuotaNode) -> DominantShare:
    """The share by the node's present usage; a root cannot borrow."""
    if node.parent is None:
        return _NOTHING
    borrowed: dict[str, int] = {}
    borrowed_from = []
    for fr, quota in node.subtree.items():
        amount = node.usage.get(fr, 0) - quota
        if amount > 0:
            borrowed[fr.resource] = borrowed.get(fr.resource, 0) + amount
            borrowed_from.append(fr)
    if not borrowed:
        return _NOTHING
    units = _units(node, node.parent)
    values = [(units[name] * borrowed[name], name) for name in sorted(borrowed) if name in units]
    if not values:
        return DominantShare(_NONE, "", tuple(borrowed_from))
    value, resource = max(values, key=lambda pair: pair[0])  # the first name of equals
    return DominantShare(Share(not node.weight, value), resource, tuple(borrowed_from))


def _units(node: QuotaNode, parent: QuotaNode) -> dict[str, Fraction]:
    """The share that one borrowed unit adds, by resource that the parent could have any of.

    Quotas and weights never change under a tree, so this is worked out once a node.
    """
    if node.units is None:
        lendable: dict[str, int] = {}
        for fr in parent.root.subtree:  # has what any node below has
            lendable[fr.resource] = lendable.get(fr.resource, 0) + parent.potentially_available(fr)
        scale = Fraction(_SCALE) / (node.weight or 1)
        node.units = {name: scale / amount for name, amount in lendable.items() if amount > 0}
    return node.units
