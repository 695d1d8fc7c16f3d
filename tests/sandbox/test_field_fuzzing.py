"""Random Ray objects of a tenant on the real API server and KubeRay; `make fuzz-fields` runs for longer."""

import json

import pytest

from tests.field_fuzzing.__main__ import fuzzing
from tests.sandbox.conftest import Cluster

SEED, OBJECTS = 0, 8


@pytest.mark.thorough
def test_what_exists_was_counted_and_allowed(cluster: Cluster) -> None:
    with fuzzing(cluster.state, cluster.kubectl, SEED) as fuzzer:
        failures = fuzzer.round(OBJECTS)
    assert not failures, "\n".join(json.dumps(failure.replay(SEED)) for failure in failures)
    assert fuzzer.tally.counts["admitted"], "no object was admitted: the comparison was empty"
