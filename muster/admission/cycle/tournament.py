"""Orders the heads of a cycle with fair sharing.

At every cohort the nominees of its children compete. The winner is the nominee whose admission would give its
child the smallest share; the winner at the root is processed next. Kueue:
pkg/scheduler/fair_sharing_iterator.go.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from muster.admission.cycle.entry import Entry
from muster.admission.model import FairSharing, Rules, Workload
from muster.admission.quota.share import DominantShare, Share, dominant_share
from muster.admission.quota.tree import QuotaNode, Usage


class Rank(NamedTuple):
    """The rank of a nominee among the nominees of a cohort's children; the lowest wins. UID and key break
    ties."""

    over_budget: bool
    settled: bool  # it does not wait for preemption targets
    borrows: bool  # its queue would borrow some of the resources that it requests
    share: Share
    rank_below: int
    queued_at_ms: int
    uid: str
    key: str


def rank(workload: Workload, usage: Usage, child: DominantShare, preempting: bool, rules: Rules) -> Rank:
    """Returns the rank of a workload. `child` is the share of the cohort's child that nominates it, including
    its usage.

    Kueue: entryComparer.less."""
    sharing = rules.fair_sharing or FairSharing()
    return Rank(
        workload.over_budget,
        not (preempting and rules.prioritize_preemptors),
        sharing.prioritize_non_borrowing and child.borrows_any(usage),
        child.share,
        -workload.priority_rank if rules.priority_sorting_within_cohort else 0,
        workload.queued_at_ms,
        workload.uid,
        workload.key,
    )


_Ranked = tuple[Rank, Entry]


@dataclass(slots=True, eq=False)
class _Bracket:
    """The remaining heads below a cohort; a queue without a cohort has its own bracket."""

    heads: list[_Ranked] = field(default_factory=list)  # of its direct queues, best last
    cohorts: list[QuotaNode] = field(default_factory=list)
    nominee: _Ranked | None = None  # ranked among its siblings' nominees


class Tournament:
    """Iterates over all heads. The caller must update the quota tree for each head before it takes the next.

    Such an update changes shares only between the head's queue and the root: all other nominees keep their
    ranks.
    """

    __slots__ = ("_brackets", "_rules")

    def __init__(self, heads: Iterable[Entry], rules: Rules) -> None:
        """`heads` are nominated."""
        self._rules = rules
        self._brackets: dict[QuotaNode, _Bracket] = {}
        for head in heads:
            cohorts = _matches(head)
            self._connect(cohorts)
            self._brackets[cohorts[0]].heads.append(self._ranked(head, head.node))

    def __iter__(self) -> Iterator[Entry]:
        """Iterates over the trees by name; they do not depend on each other."""
        for node in sorted(self._brackets, key=lambda node: -len(node.lineage)):
            self._brackets[node].heads.sort(key=lambda ranked: ranked[0], reverse=True)
            self._nominate(node)
        for root in sorted({node.root for node in self._brackets}, key=lambda root: root.name):
            while (nominee := self._brackets[root].nominee) is not None:
                _, head = nominee
                yield head
                self._leave(head)

    def _connect(self, cohorts: tuple[QuotaNode, ...]) -> None:
        connected = cohorts[0] in self._brackets
        self._brackets.setdefault(cohorts[0], _Bracket())
        for child, cohort in pairwise(cohorts):
            if connected:
                return
            connected = cohort in self._brackets
            self._brackets.setdefault(cohort, _Bracket()).cohorts.append(child)

    def _leave(self, head: Entry) -> None:
        cohorts = _matches(head)
        self._brackets[cohorts[0]].heads.pop()
        for cohort in cohorts:
            self._nominate(cohort)

    def _nominate(self, node: QuotaNode) -> None:
        """Sets the node's nominee: the best of its children's, which are all set."""
        bracket = self._brackets[node]
        nominees = (self._brackets[cohort].nominee for cohort in bracket.cohorts)
        best = min((*bracket.heads[-1:], *filter(None, nominees)), default=None, key=lambda ranked: ranked[0])
        if best is not None and node.parent is not None:
            best = self._ranked(best[1], node)
        bracket.nominee = best

    def _ranked(self, head: Entry, child: QuotaNode) -> _Ranked:
        """Ranks a head as the nominee of `child` in the cohort above."""
        # The share includes the head, so its usage is in the tree while that is computed.
        head.node.add(head.usage)
        share = dominant_share(child)
        head.node.remove(head.usage)
        return rank(head.ranked, head.usage, share, head.preempting, self._rules), head


def _matches(head: Entry) -> tuple[QuotaNode, ...]:
    """Returns the cohorts in which the head competes, from its own up to the root."""
    return head.node.lineage[1:] or head.node.lineage
