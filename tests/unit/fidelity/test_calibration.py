"""Assumptions measured in the calibration's case are those that made its history."""

from dataclasses import replace

import pytest

from muster.forecast.assumptions import Assumptions
from tests.fidelity.calibration import assumptions, calibration
from tests.fidelity.replay import forecast

ASSUMED = Assumptions(
    start_up_s=3, termination_s=7, cleanup_s=5, provisioning_median_s=40, provisioning_spread=0
)


@pytest.mark.parametrize("requeue_s", [0, 60])
def test_a_forecasts_own_assumptions_are_measured(requeue_s: float) -> None:
    assumed = replace(ASSUMED, requeue_s=requeue_s)
    plain, provisioned = (forecast(calibration(check=check), assumed) for check in (False, True))
    measured_assumptions = assumptions(plain, provisioned, requeue_s)
    for name in ("start_up_s", "termination_s", "cleanup_s", "provisioning_median_s"):
        assert getattr(measured_assumptions, name) == pytest.approx(getattr(ASSUMED, name)), name
