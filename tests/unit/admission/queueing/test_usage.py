"""Weighted usage of LocalQueues, and the penalty of an admission."""

from fractions import Fraction

import pytest

from muster.admission.queueing.usage import USAGE_MAX, entry_penalty, weighted
from tests.unit.admission.builders import GPU

CONSUMED = {"cpu": 2500, GPU: 3}
HALF = Fraction(1, 2)

WEIGHTED = {
    "cpus, not millicores; other resources unchanged": ({}, Fraction(1), Fraction(11, 2)),
    "by the weights of the resources": (
        {GPU: Fraction(10), "memory": Fraction(7)},
        Fraction(1),
        Fraction(65, 2),
    ),
    "by that of the LocalQueue": ({}, Fraction(11), HALF),
    "one without weight goes last": ({}, Fraction(0), USAGE_MAX),
}


@pytest.mark.parametrize(("weights", "weight", "expected"), WEIGHTED.values(), ids=WEIGHTED.keys())
def test_usage_is_weighted_by_resource_and_queue(
    weights: dict[str, Fraction], weight: Fraction, expected: Fraction
) -> None:
    assert weighted(CONSUMED, weights, weight) == expected


def test_both_weights_together() -> None:
    weights = {"gpu": Fraction(3)}
    assert weighted({"cpu": 1500, "gpu": 2}, weights, Fraction(2)) == Fraction(15, 4)
    assert weighted({}, weights, Fraction(0)) == USAGE_MAX


PENALTIES = {
    "half of it, if a sample comes each half-life": (Fraction(1), Fraction(11, 4)),
    "more, if half-lives pass between samples": (HALF, Fraction(33, 8)),
    "none, if nothing is forgotten": (Fraction(0), Fraction(0)),
}


@pytest.mark.parametrize(("samples", "expected"), PENALTIES.values(), ids=PENALTIES.keys())
def test_admission_adds_an_entry_penalty(samples: Fraction, expected: Fraction) -> None:
    """`samples`: their number in a half-life."""
    assert entry_penalty(CONSUMED, {}, Fraction(1), samples) == expected
