"""Tests the order of heads with fair sharing. In each case, every queue has one head, with its name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission import ClusterQueue, Cohort, FairSharing, Quota, Rules
from muster.admission.cycle.entry import Entry
from muster.admission.cycle.tournament import Tournament, rank
from muster.admission.flavors.assignment import Assignment
from muster.admission.quota.share import dominant_share
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState
from tests.unit.admission.builders import GPU, cohort, fr, queue, running, snapshot, workload
from tests.unit.admission.strategies import PROPERTY

L4, T4 = fr("l4"), fr("t4")
FAIR = Rules(fair_sharing=FairSharing())
BY_SHARE_FIRST = Rules(fair_sharing=FairSharing(prioritize_non_borrowing=False))
WITHOUT_PRIORITIES = replace(FAIR, priority_sorting_within_cohort=False)
PREEMPTORS_FIRST = replace(FAIR, prioritize_preemptors=True)

Head = Mapping[str, Any]  # gpus wanted, and fields of the workload; `preempting` for the parent_cohort


def entries(state: WorkingState, heads: Mapping[str, Head]) -> list[Entry]:
    entries_list = []
    for name, fields in heads.items():
        fields = {"gpus": 1, "flavor": "l4", "preempting": False, **fields}
        usage = {fr(fields.pop("flavor")): fields.pop("gpus")}
        preempting = fields.pop("preempting")
        head = workload(name, name, 1, **fields)
        node = state.tree.queues[name]
        entry = Entry(head, state.queue(name), node, preempting)
        entry.assignment = Assignment()
        entry.assignment.usage = usage
        entries_list.append(entry)
    return entries_list


def processed(order: Iterable[Entry]) -> Iterator[str]:
    """Every head gets what it wants, whether there is room or not."""
    for head in order:
        head.node.add(head.usage)
        yield head.queue.name


def mate(name: str, quota: int | Quota = 2, in_cohort: str | None = "ml", **fields: Any) -> ClusterQueue:
    return queue(name, quota, cohort=in_cohort, **fields)


PAIR = [mate("a"), mate("b"), mate("lender", 6)]
TWO_FLAVORS = {"l4": {GPU: 2}, "t4": {GPU: 2}}
DEEP = (cohort("left", "ml"), cohort("right", "ml"), cohort("ml", None, {"l4": {GPU: 8}}))

CASES: dict[str, tuple[Rules, list[ClusterQueue], tuple[Cohort, ...], Mapping[str, Head], str]] = {
    "the smaller share": (FAIR, PAIR, (), {"a": {"gpus": 5}, "b": {"gpus": 4}}, "b a"),
    "the smaller share for the weight": (
        FAIR, [mate("a", weight=Fraction(3)), mate("b")], (), {"a": {"gpus": 5}, "b": {"gpus": 4}}, "a b",
    ),
    "a borrower of weight zero last": (
        FAIR, [mate("a", weight=Fraction(0)), mate("b")], (), {"a": {"gpus": 3}, "b": {"gpus": 5}}, "b a",
    ),
    "of equal shares the higher priority": (FAIR, PAIR, (), {"a": {}, "b": {"priority": 1}}, "b a"),
    "by the rules not the higher priority": (
        WITHOUT_PRIORITIES, PAIR, (), {"a": {}, "b": {"priority": 1}}, "a b",
    ),
    "of equal priorities the longer wait": (FAIR, PAIR, (), {"a": {"queued_at_ms": 1}, "b": {}}, "b a"),
    "of equals the lower UID": (FAIR, PAIR, (), {"a": {"uid": "2"}, "b": {"uid": "1"}}, "b a"),
    "a preemptor last by its share": (
        FAIR, PAIR, (), {"a": {"gpus": 5, "preempting": True}, "b": {"gpus": 4}}, "b a",
    ),
    "a preemptor first by the rules": (
        PREEMPTORS_FIRST, PAIR, (), {"a": {"gpus": 5, "preempting": True}, "b": {"gpus": 4}}, "a b",
    ),
    "each tree for itself, by name": (
        FAIR, [mate("b", in_cohort=None), mate("a", in_cohort="other"), mate("c", in_cohort=None)], (),
        {"a": {"gpus": 1}, "b": {"gpus": 9}, "c": {}}, "b c a",
    ),
    "by cohorts first": (
        FAIR, [mate("a", 0, "left"), mate("b", 0, "right"), mate("c", 0, "right")], DEEP,
        {"a": {"gpus": 3}, "b": {"gpus": 2}, "c": {"gpus": 2}}, "b a c",
    ),
    "a queue next to a cohort": (
        FAIR, [mate("a", 0), mate("b", 0, "right"), mate("c", 0, "right")], DEEP,
        {"a": {"gpus": 4}, "b": {"gpus": 2}, "c": {"gpus": 3}}, "b a c",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "queues", "cohorts", "heads", "expected"), CASES.values(), ids=CASES.keys()
)
def test_heads_win_in_order_of_their_shares(
    rules: Rules,
    queues: list[ClusterQueue],
    cohorts: tuple[Cohort, ...],
    heads: Mapping[str, Head],
    expected: str,
) -> None:
    state = WorkingState(snapshot(queues, cohorts=cohorts))
    assert " ".join(processed(Tournament(entries(state, heads), rules))) == expected


@pytest.mark.parametrize(("rules", "expected"), [(FAIR, "b a"), (BY_SHARE_FIRST, "a b")], ids=str)
def test_head_that_does_not_borrow_its_requests_goes_first(rules: Rules, expected: str) -> None:
    """Queue b has a larger share, but of another flavor."""
    queues = [queue(name, TWO_FLAVORS, cohort="ml") for name in "ab"]
    state = WorkingState(snapshot(queues, running("x", "b", 4, "t4"), running("y", "a", 2)))
    assert " ".join(processed(Tournament(entries(state, {"a": {}, "b": {}}), rules))) == expected


def naive_order(heads: list[Entry], rules: Rules) -> Iterator[Entry]:
    """The definition: before every head, all matches of its tree are played again."""
    for root in sorted({head.node.root for head in heads}, key=lambda root: root.name):
        coming = {head.node: head for head in heads if head.node.root is root}
        while coming:
            head = _winner(root, coming, rules)
            assert head is not None
            del coming[head.node]
            yield head


def _winner(node: QuotaNode, coming: Mapping[QuotaNode, Entry], rules: Rules) -> Entry | None:
    if node in coming:
        return coming[node]
    nominees = []
    for child in (*node.cohorts, *node.queues):
        nominee = _winner(child, coming, rules)
        if nominee is not None:
            nominee.node.add(nominee.usage)
            share = dominant_share(child)
            nominee.node.remove(nominee.usage)
            nominees.append(
                (rank(nominee.workload, nominee.usage, share, nominee.preempting, rules), nominee)
            )
    return min(nominees, key=lambda ranked: ranked[0], default=(None, None))[1]


@st.composite
def races(draw: st.DrawFn) -> tuple[list[ClusterQueue], list[Cohort], dict[str, Head], Rules]:
    weights = st.sampled_from((Fraction(1), Fraction(2), Fraction(0)))
    limits = st.sampled_from((None, None, 1))
    quotas = st.builds(Quota, st.integers(0, 3), limits, limits)
    cohorts: list[Cohort] = []
    for index in range(draw(st.integers(1, 4))):
        parent = draw(st.sampled_from([None, *(parent_cohort.name for parent_cohort in cohorts)]))
        child_cohorts = cohort(f"c{index}", parent, {"l4": {GPU: draw(quotas)}})
        cohorts.append(replace(child_cohorts, weight=draw(weights)))
    names = [f"q{index}" for index in range(draw(st.integers(1, 6)))]
    in_cohorts = st.sampled_from([None, *(parent_cohort.name for parent_cohort in cohorts)])
    queues = [mate(name, draw(quotas), draw(in_cohorts), weight=draw(weights)) for name in names]
    heads: dict[str, Head] = {
        name: {"gpus": draw(st.integers(1, 4)), "priority": draw(st.integers(0, 1))}
        for name in names
        if draw(st.integers(0, 3))
    }
    return queues, cohorts, heads, draw(st.sampled_from((FAIR, BY_SHARE_FIRST, WITHOUT_PRIORITIES)))


@PROPERTY
@given(races())
def test_it_is_as_if_all_matches_were_played_again(
    race: tuple[list[ClusterQueue], list[Cohort], dict[str, Head], Rules],
) -> None:
    queues, cohorts, heads, rules = race
    states = [WorkingState(snapshot(queues, cohorts=cohorts)) for _ in range(2)]
    first, other = (entries(state, heads) for state in states)
    order = list(processed(Tournament(first, rules)))
    assert order == list(processed(naive_order(other, rules)))
    assert sorted(order) == sorted(heads)
