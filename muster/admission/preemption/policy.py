"""Whether a policy lets one workload preempt another."""

from math import inf

from muster.admission.model import PreemptionPolicy, Workload
from muster.admission.state.holdings import Standing, standing


def satisfies(policy: PreemptionPolicy, preemptor: Workload, candidate: Workload, buffer_ms: int = 0) -> bool:
    """Whether the policy alone lets the one preempt the other."""
    return standing(candidate) < below(policy, standing(preemptor), buffer_ms)


def below(policy: PreemptionPolicy, preemptor: Standing, buffer_ms: int) -> Standing:
    """Whoever stands lower than this may be preempted.

    Of two of the same priority the older one goes before, if it waits more than `buffer_ms` longer
    (Rules.preemption_buffer_ms). Kueue: SatisfiesPreemptionPolicy, pkg/scheduler/preemption/common.
    """
    match policy:
        case PreemptionPolicy.LOWER_PRIORITY:
            return preemptor[:1]
        case PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY:
            priority, queued_before = preemptor
            return priority, queued_before - buffer_ms
        case PreemptionPolicy.ANY:
            return (inf,)
    return (-inf,)
