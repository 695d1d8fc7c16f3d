"""A forecast of a trace is what the controller does with it (`make fidelity` has more and larger cases)."""

import pytest

from muster.forecast.assumptions import Assumptions
from tests.fidelity.calibration import assumptions, calibration
from tests.fidelity.cases import WITHIN, Team, case
from tests.fidelity.emulation import play
from tests.fidelity.replay import forecast
from tests.fidelity.report import Pair

JOBS, TARGET = 30, 0.017
CASES = {
    "fifo": case("fifo", Team("fifo-a", 32), count=JOBS, seed=1),
    "strict": case(
        "strict", Team("strict-a", 32, spec={"queueingStrategy": "StrictFIFO"}), count=JOBS, seed=2
    ),
    "priority": case("priority", Team("priority-a", 32, prod=0.7, spec=WITHIN), count=JOBS),
}


@pytest.fixture(scope="module")
def assumed() -> Assumptions:
    return assumptions(play(calibration()))


def played(name: str, assumed: Assumptions) -> Pair:
    case = CASES[name]
    return Pair(name, forecast(case, assumed), play(case), TARGET)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["fifo", "strict"])
def test_mean_waits_of_a_forecast_are_those_of_the_controller(name: str, assumed: Assumptions) -> None:
    pair = played(name, assumed)
    assert pair.missed() == []
    assert pair.forecast.order() == pair.measured.order()


@pytest.mark.thorough
def test_a_forecast_preempts_what_the_controller_preempts(assumed: Assumptions) -> None:
    """The higher class waits a few seconds, for KubeRay and for pods: no wait differs by more than that."""
    pair = played("priority", assumed)
    assert pair.forecast.order() == pair.measured.order()
    assert pair.forecast.preemptions == pair.measured.preemptions > 0
    delays_s = assumed.start_up_s + assumed.termination_s + assumed.cleanup_s
    measured = pair.measured.waits_s()
    for name, wait_s in pair.forecast.waits_s().items():
        assert wait_s == pytest.approx(measured[name], rel=0, abs=delays_s)
