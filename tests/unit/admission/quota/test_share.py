"""Shares of nodes. By default, queue q of cohort ml borrows GPUs of flavor l4."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from muster.admission import FlavorResource, Quota
from muster.admission.quota.share import DominantShare, Share, dominant_share
from muster.admission.quota.tree import QuotaNode
from tests.unit.admission.builders import GPU, cohort, fr, node, queue, snapshot

L4, T4, CPU = fr("l4"), fr("t4"), fr("l4", "cpu")


def weighted(thousandths: int | str) -> Share:
    return Share(False, Fraction(thousandths))


def both(gpu: int, cpu: int) -> dict[str, dict[str, int]]:
    return {"l4": {GPU: gpu, "cpu": cpu}}


LENDER = queue("lender", 6, cohort="ml")
ALONE = snapshot(queue("q", 4))
PAIR = snapshot([queue("q", 4, cohort="ml"), LENDER])
HEAVY = snapshot([queue("q", 4, cohort="ml", weight=Fraction(3)), LENDER])
LIGHT = snapshot([queue("q", 4, cohort="ml", weight=Fraction(1, 2)), LENDER])
WEIGHTLESS = snapshot([queue("q", 4, cohort="ml", weight=Fraction(0)), LENDER])
NOTHING_TO_LEND = snapshot([queue("q", 0, cohort="ml"), queue("lender", 0, cohort="ml")])
TWO_RESOURCES = snapshot(
    [queue("q", both(4, 1000), cohort="ml"), queue("lender", both(6, 9000), cohort="ml")]
)
TWO_FLAVORS = snapshot(
    [
        queue("q", {"l4": {GPU: 2}, "t4": {GPU: 2}}, cohort="ml"),
        queue("lender", {"l4": {GPU: 3}, "t4": {GPU: 3}}, cohort="ml"),
    ]
)
LENDS_LITTLE = snapshot([queue("q", 4, cohort="ml"), queue("lender", Quota(6, None, 1), cohort="ml")])
NESTED = snapshot(
    [queue("q", 4, cohort="ml"), queue("lender", 6, cohort="org")],
    cohorts=(cohort("ml", "org", {"l4": {GPU: Quota(0, 3)}}), cohort("org", None, {"l4": {GPU: 10}})),
)

CASES: dict[str, tuple[QuotaNode, Mapping[FlavorResource, int], DominantShare]] = {
    "a queue alone": (node(ALONE), {L4: 9}, DominantShare(weighted(0))),
    "nothing used": (node(PAIR), {}, DominantShare(weighted(0))),
    "its own quota": (node(PAIR), {L4: 4}, DominantShare(weighted(0))),
    "a tenth of all": (node(PAIR), {L4: 5}, DominantShare(weighted(100), GPU, (L4,))),
    "more than there is": (node(PAIR), {L4: 24}, DominantShare(weighted(2000), GPU, (L4,))),
    "weight three": (node(HEAVY), {L4: 5}, DominantShare(weighted("100/3"), GPU, (L4,))),
    "weight one half": (node(LIGHT), {L4: 5}, DominantShare(weighted(200), GPU, (L4,))),
    "weight zero": (node(WEIGHTLESS), {L4: 5}, DominantShare(Share(True, Fraction(100)), GPU, (L4,))),
    "weight zero, its own quota": (node(WEIGHTLESS), {L4: 4}, DominantShare(weighted(0))),
    "nothing to lend": (node(NOTHING_TO_LEND), {L4: 1}, DominantShare(weighted(0), "", (L4,))),
    "a flavor without quota": (node(PAIR), {T4: 9}, DominantShare(weighted(0))),
    "the larger of two resources": (
        node(TWO_RESOURCES),
        {L4: 6, CPU: 4000},
        DominantShare(weighted(300), "cpu", (L4, CPU)),
    ),
    "the first name of equal resources": (
        node(TWO_RESOURCES),
        {L4: 6, CPU: 3000},
        DominantShare(weighted(200), "cpu", (L4, CPU)),
    ),
    "flavors of a resource together": (
        node(TWO_FLAVORS),
        {L4: 3, T4: 4},
        DominantShare(weighted(300), GPU, (L4, T4)),
    ),
    "quota of another flavor does not help": (
        node(TWO_FLAVORS),
        {L4: 3},
        DominantShare(weighted(100), GPU, (L4,)),
    ),
    "what is not lent does not count": (
        node(LENDS_LITTLE),
        {L4: 5},
        DominantShare(weighted(200), GPU, (L4,)),
    ),
    "of what its cohort may borrow": (node(NESTED), {L4: 5}, DominantShare(weighted("1000/7"), GPU, (L4,))),
    "a cohort": (node(NESTED).lineage[1], {L4: 5}, DominantShare(weighted(50), GPU, (L4,))),
    "the root": (node(NESTED).root, {L4: 25}, DominantShare(weighted(0))),
}


@pytest.mark.parametrize(("of", "usage", "expected"), CASES.values(), ids=CASES.keys())
def test_dominant_share(of: QuotaNode, usage: Mapping[FlavorResource, int], expected: DominantShare) -> None:
    of.add(usage)
    assert dominant_share(of) == expected
    of.remove(usage)
    assert dominant_share(of) == DominantShare(weighted(0))


def test_borrowing_at_weight_zero_comes_last() -> None:
    shares = [
        Share(True, Fraction(2)),
        weighted(3000),
        Share(True, Fraction(1)),
        weighted(0),
        weighted("1/3"),
    ]
    assert sorted(shares) == [shares[3], shares[4], shares[1], shares[2], shares[0]]


ASKED = {
    "what is borrowed": ({L4: 1}, True),
    "something else": ({T4: 1}, False),
    "nothing of it": ({L4: 0, T4: 1}, False),
    "nothing": ({}, False),
}


@pytest.mark.parametrize(("requested", "expected"), ASKED.values(), ids=ASKED.keys())
def test_borrows_any(requested: Mapping[FlavorResource, int], expected: bool) -> None:
    assert DominantShare(weighted(1), GPU, (L4,)).borrows_any(requested) is expected
