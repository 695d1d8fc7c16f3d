import pytest

from muster.admission import FungibilityPolicy, FungibilityPreference
from muster.admission.flavors.fungibility import Grade, Mode
from tests.unit.admission.builders import queue

BORROW = FungibilityPreference.BORROWING_OVER_PREEMPTION
PREEMPT = FungibilityPreference.PREEMPTION_OVER_BORROWING
TRY, STOP = FungibilityPolicy.TRY_NEXT_FLAVOR, FungibilityPolicy.MAY_STOP_SEARCH

PREFERRED = {  # better, worse, by preference
    "fit over reclaim": (Grade(Mode.FIT, 2), Grade(Mode.RECLAIM, 0), None),
    "reclaim over preempt": (Grade(Mode.RECLAIM, 2), Grade(Mode.PREEMPT, 0), BORROW),
    "preempt over no candidates": (Grade(Mode.PREEMPT, 2), Grade(Mode.NO_CANDIDATES, 0), None),
    "no candidates over no fit": (Grade(Mode.NO_CANDIDATES, 2), Grade(Mode.NO_FIT, 0), None),
    "nearer quota": (Grade(Mode.FIT, 0), Grade(Mode.FIT, 1), None),
    "nearer quota over fit": (Grade(Mode.PREEMPT, 0), Grade(Mode.FIT, 1), PREEMPT),
    "equally near, fit over preempt": (Grade(Mode.FIT, 1), Grade(Mode.PREEMPT, 1), PREEMPT),
    "preempt over no candidates however near": (
        Grade(Mode.PREEMPT, 3),
        Grade(Mode.NO_CANDIDATES, 0),
        PREEMPT,
    ),
    "no candidates over no fit however near": (Grade(Mode.NO_CANDIDATES, 3), Grade(Mode.NO_FIT, 0), PREEMPT),
}


@pytest.mark.parametrize(("better", "worse", "preference"), PREFERRED.values(), ids=PREFERRED.keys())
def test_preferred_to(better: Grade, worse: Grade, preference: FungibilityPreference | None) -> None:
    assert better.preferred_to(worse, preference)
    assert not worse.preferred_to(better, preference)
    assert not better.preferred_to(better, preference)


STOPS = {  # grade, when it can borrow, when it can preempt, whether the search stops
    "fits": (Grade(Mode.FIT, 0), TRY, TRY, True),
    "fits borrowing": (Grade(Mode.FIT, 1), STOP, TRY, True),
    "fits borrowing, though it should look on": (Grade(Mode.FIT, 1), TRY, STOP, False),
    "preempts": (Grade(Mode.PREEMPT, 0), TRY, STOP, True),
    "preempts, though it should look on": (Grade(Mode.RECLAIM, 0), STOP, TRY, False),
    "preempts borrowing": (Grade(Mode.PREEMPT, 1), STOP, STOP, True),
    "preempts borrowing, though it should look on": (Grade(Mode.PREEMPT, 1), TRY, STOP, False),
    "no candidates to preempt": (Grade(Mode.NO_CANDIDATES, 0), STOP, STOP, False),
    "does not fit": (Grade(Mode.NO_FIT, 0), STOP, STOP, False),
}


@pytest.mark.parametrize(("grade", "borrow", "preempt", "stops"), STOPS.values(), ids=STOPS.keys())
def test_stops_search(
    grade: Grade, borrow: FungibilityPolicy, preempt: FungibilityPolicy, stops: bool
) -> None:
    assert grade.stops_search(queue("q", when_can_borrow=borrow, when_can_preempt=preempt)) is stops
