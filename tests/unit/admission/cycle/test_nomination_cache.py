"""The nominations that are reused while nothing changes."""

from dataclasses import replace

from muster.admission.cycle.nomination_cache import NominationCache
from muster.admission.flavors.assignment import Assignment
from muster.admission.flavors.fungibility import Mode
from muster.admission.model import Snapshot, Workload
from muster.admission.state.state import WorkingState

ONE = Workload("team/one", "1", "a", 0, 0, ())


def nomination(mode: Mode) -> Assignment:
    assignment = Assignment()
    assignment.mode = mode
    return assignment


def stored(mode: Mode = Mode.NO_CANDIDATES) -> tuple[NominationCache, WorkingState]:
    state, cache = WorkingState(Snapshot({}, {}, {}, ())), NominationCache()
    cache.store(state, ONE, (nomination(mode), ()))
    return cache, state


def test_a_nomination_is_reused_for_the_same_workload() -> None:
    cache, state = stored()
    assert cache.lookup(state, ONE) is not None
    assert cache.lookup(state, replace(ONE, preempting=True)) is None
    assert cache.lookup(state, replace(ONE, key="team/two")) is None


def test_a_nomination_survives_the_mark_of_its_workload() -> None:
    cache, state = stored()
    marked = replace(ONE, preempting=True)
    cache.renew(ONE, marked)
    assert cache.lookup(state, marked) is not None
    assert cache.lookup(state, ONE) is None
    cache.renew(replace(marked, priority=1), replace(marked, priority=1))
    assert cache.lookup(state, marked) is not None, "another object was marked"


def test_a_nomination_is_not_reused_after_a_change() -> None:
    cache, state = stored()
    state.version += 1
    assert cache.lookup(state, ONE) is None
    cache.store(state, replace(ONE, key="team/two"), (nomination(Mode.NO_FIT), ()))
    state.version -= 1
    assert cache.lookup(state, ONE) is None


def test_a_nomination_that_fits_is_not_stored() -> None:
    cache, state = stored(Mode.FIT)
    assert cache.lookup(state, ONE) is None


def test_nominations_of_removed_workloads_are_dropped() -> None:
    cache, state = stored()
    cache.drop(ONE.key)
    assert cache.lookup(state, ONE) is None
