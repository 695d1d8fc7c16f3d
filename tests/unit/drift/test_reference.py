"""The tables of docs/drift.md are those of the rules."""

from drift.reference import PAGE, page_with_tables


def test_tables_of_drift_are_up_to_date() -> None:
    assert PAGE.read_text() == page_with_tables(PAGE.read_text()), "run `make docs`"
