"""A short storm: whatever is killed, paused, cut off or deleted, quota holds and all jobs end."""

import sys

import pytest

from tests.sandbox.conftest import Second
from tests.storm.storm import storm

SECONDS = 35.0


@pytest.mark.thorough
def test_quota_holds_and_all_jobs_end_in_a_short_storm(second: Second) -> None:
    cluster = second.cluster()
    try:
        wrong = storm(cluster.state, cluster.kubectl, SECONDS, seed=1, out=sys.stdout)
    finally:
        cluster.restart_controller()
    assert wrong == [], "\n".join(wrong)
