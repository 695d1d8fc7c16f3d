"""Tests of what is measured with Kueue before its own performance test is forecast."""

import pytest

from tests.bench.kueue_harness.run import Progress
from tests.fidelity.baseline import Pace, mean_waits_s, pace_of

BURST = """
cohorts:
  - className: cohort
    count: 1
    queuesSets:
      - className: cq
        count: 2
        nominalQuota: 4
        borrowingLimit: 0
        workloadsSets:
          - count: 50
            creationIntervalMs: 100
            workloads: [{className: small, runtimeMs: 200, priority: 50, request: 1}]
"""


def test_the_pace_of_a_burst() -> None:
    """Two clients create 80 workloads in 10 s; 60 are admitted in the 30 s after that."""
    observed = [
        (1.0, Progress(0, 0, 0)),
        (2.0, Progress(20, 10, 5)),
        (12.0, Progress(100, 60, 10)),
        (13.0, Progress(100, 58, 10)),
        (42.0, Progress(100, 0, 10)),
    ]
    pace = pace_of(observed, BURST)
    assert pace.admission_s == pytest.approx(0.5)
    assert pace.submission_s == pytest.approx(0.15)


def test_a_slower_pace_lets_wait_longer() -> None:
    """100 workloads, each admitted 0.5 s after the previous one, arrive within a quarter of that time."""
    slow = mean_waits_s(BURST, Pace(0.5, 0.15), 0)
    assert slow == {"small": pytest.approx(25 - 6.25, abs=1)}
    assert mean_waits_s(BURST, Pace(0.05, 0.15), 0)["small"] < 0.1
