"""docs/workload-phases.md is what the declared transitions say."""

from tools.docs.workload_phases import PAGE, page


def test_phases_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"
