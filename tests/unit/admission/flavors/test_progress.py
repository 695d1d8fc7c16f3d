from muster.admission.flavors.attempts import ALL_TRIED, ScanProgress
from tests.unit.admission.builders import GPU


def test_the_search_goes_on_after_the_last_flavor_tried() -> None:
    progress = ScanProgress(({GPU: 1, "cpu": ALL_TRIED},))
    assert [progress.start(0, GPU), progress.start(0, "cpu")] == [2, 0]


def test_search_of_a_new_pod_set_starts_with_the_first_flavor() -> None:
    progress = ScanProgress(({GPU: 1},))
    assert [progress.start(0, "memory"), progress.start(1, GPU)] == [0, 0]


def test_flavors_are_pending_until_the_last_one_was_tried() -> None:
    assert ScanProgress(({GPU: ALL_TRIED}, {"cpu": 0})).pending
    assert not ScanProgress(({GPU: ALL_TRIED}, {})).pending
    assert not ScanProgress().pending
