"""Recent usage of LocalQueues, by which some queues order their workloads.

Kueue: admission fair sharing, pkg/util/admissionfairsharing, CalculateUsage.
"""

from collections.abc import Mapping
from fractions import Fraction

from muster.admission.model import Resources
from muster.admission.quantities import CPU, MILLI

LocalUsage = Mapping[str, Fraction]
"""Weighted usage by LocalQueue (namespace/name); less goes first."""

USAGE_MAX = Fraction(1 << 128)
"""The usage of a LocalQueue without weight: it goes last."""


def weighted(consumed: Resources, weights: Mapping[str, Fraction], weight: Fraction) -> Fraction:
    """`weights` are by resource (1 if missing), `weight` is that of
    the LocalQueue's fair sharing."""
    if weight <= 0:
        return USAGE_MAX
    used = (
        weights.get(resource, Fraction(1)) * Fraction(amount, MILLI if resource == CPU else 1)
        for resource, amount in consumed.items()
    )
    return sum(used, Fraction(0)) / weight


def entry_penalty(
    requests: Resources, weights: Mapping[str, Fraction], weight: Fraction, samples_per_half_life: Fraction
) -> Fraction:
    """The usage that an admission adds to its LocalQueue's, until the next sample shows it: as much as
    the sample will. Kueue: CalculateEntryPenalty."""
    share = 1 - Fraction(0.5 ** float(1 / samples_per_half_life)) if samples_per_half_life else Fraction(0)
    return share * weighted(requests, weights, weight)
