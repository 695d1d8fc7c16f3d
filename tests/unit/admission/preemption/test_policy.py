import pytest

from muster.admission import PreemptionPolicy
from muster.admission.preemption.ordering import satisfies
from tests.unit.admission.builders import running, workload

NEWER = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY

POLICIES = {  # lower, equal and newer, equal and as old, higher priority
    PreemptionPolicy.NEVER: (False, False, False, False),
    PreemptionPolicy.LOWER_PRIORITY: (True, False, False, False),
    NEWER: (True, True, False, False),
    PreemptionPolicy.ANY: (True, True, True, True),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_policy_lets_preempt_what_is_below_its_limit(policy: PreemptionPolicy) -> None:
    incoming = workload("in", priority=5, queued_at_ms=5)
    candidates = (
        running("lower", priority=4, queued_at_ms=0),
        running("newer", priority=5, queued_at_ms=6),
        running("as old", priority=5, queued_at_ms=5),
        running("higher", priority=6, queued_at_ms=6),
    )
    assert tuple(satisfies(policy, incoming, candidate) for candidate in candidates) == POLICIES[policy]


def test_buffer_makes_workloads_of_nearly_the_same_age_equal() -> None:
    incoming = workload("in", queued_at_ms=5)
    hardly, clearly = running("hardly", queued_at_ms=15), running("clearly", queued_at_ms=16)
    assert not satisfies(NEWER, incoming, hardly, buffer_ms=10)
    assert satisfies(NEWER, incoming, clearly, buffer_ms=10)


def test_no_buffer_protects_a_lower_priority() -> None:
    assert satisfies(NEWER, workload("in", priority=1), running("lower", queued_at_ms=1), buffer_ms=10)
