"""A forecast of a trace is what the controller does with it (`make fidelity` has more and larger cases)."""

import pytest

from muster.forecast.assumptions import Assumptions
from tests.fidelity.calibration import assumptions, calibration
from tests.fidelity.cases import cases
from tests.fidelity.emulation import play
from tests.fidelity.replay import forecast
from tests.fidelity.report import Pair

JOBS, TARGET = 30, 0.017


@pytest.fixture(scope="module")
def assumed() -> Assumptions:
    return assumptions(play(calibration()))


@pytest.mark.parametrize("name", ["priority"])
def test_mean_waits_of_a_forecast_are_those_of_the_controller(name: str, assumed: Assumptions) -> None:
    (case,) = (one for one in cases(JOBS) if one.name == name)
    pair = Pair(name, forecast(case, assumed), play(case), TARGET)
    assert pair.missed() == []
    assert pair.forecast.preemptions == pair.measured.preemptions > 0
