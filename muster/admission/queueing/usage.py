"""Recent usage of LocalQueues, which orders the workloads of usage-based queues.

Kueue: admission fair sharing, pkg/util/admissionfairsharing, CalculateUsage.
"""

from collections.abc import Mapping
from fractions import Fraction

from muster.admission.model import Resources
from muster.admission.quantities import CPU, MILLI

LocalUsage = Mapping[str, Fraction]
"""Weighted usage by LocalQueue (namespace/name); the lowest usage comes first."""

USAGE_MAX = Fraction(1 << 128)
"""The usage of a LocalQueue with weight 0, which comes last."""


def weighted(consumed: Resources, weights: Mapping[str, Fraction], weight: Fraction) -> Fraction:
    """Returns the weighted usage. `weights` are by resource (default 1); `weight` is the fair sharing weight
    of the LocalQueue."""
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
    """Returns the usage that an admission adds to its LocalQueue until the next sample includes it.

    It equals the contribution of that sample. Kueue: CalculateEntryPenalty."""
    share = 1 - Fraction(0.5 ** float(1 / samples_per_half_life)) if samples_per_half_life else Fraction(0)
    return share * weighted(requests, weights, weight)
