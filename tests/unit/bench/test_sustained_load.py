"""The load of many RayJobs: what counts as lost, and what its table says."""

from math import inf

import pytest

from tests.bench.job_stream import History, Stream
from tests.bench.sustained_load import Sustained, compared


def history(stream: Stream, accepted: int = 4, admitted: int = 4, finished: int = 4) -> History:
    """Returns a history in which RayJobs are submitted once a second, accepted immediately, wait for as many
    seconds as their number, and finish in the second after."""
    recorded_history = History(stream, began_s=100.0)
    for number, name in enumerate(stream.names):
        at_s = 100.0 + number
        recorded_history.submitted_s[name] = at_s
        if number < accepted:
            recorded_history.accepted_s[name] = at_s
        if number < admitted:
            recorded_history.admitted_s[name] = at_s + number
        if number < finished:
            recorded_history.finished_s[name] = at_s + number + 1
    return recorded_history


FOUR = Stream("four", 4)


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        pytest.param(history(FOUR), 0, id="all finish"),
        pytest.param(history(FOUR, finished=3), 1, id="one is admitted and never finishes"),
        pytest.param(history(FOUR, admitted=1, finished=1), 3, id="three are never admitted"),
        pytest.param(history(FOUR, accepted=3, admitted=3, finished=3), 0, id="one was not accepted"),
    ],
)
def test_rayjobs_that_are_accepted_and_never_finish_are_lost(values: History, lost: int) -> None:
    assert values.lost == lost


def test_waits_are_from_submission_to_admission() -> None:
    recorded = history(FOUR)
    assert (recorded.wait_s(50), recorded.took_s, recorded.accepted_per_second) == (1.5, 7.0, 4 / 3)
    assert history(FOUR, admitted=1).wait_s(50) == inf


def test_a_lost_rayjob_misses_the_target_whatever_kueue_loses() -> None:
    ours, peer = (Sustained(history(FOUR, finished=3), 2.0, 4.0) for _ in range(2))
    figures = compared([ours], [peer])
    assert [figure.what for figure in figures if not figure.met] == ["four: lost"]
    assert ("four: CPU of the engine", "500 ms a RayJob", "", "500 ms a RayJob", "1.00") in [
        figure.row() for figure in figures
    ]
