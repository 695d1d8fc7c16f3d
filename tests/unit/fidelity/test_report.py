"""Targets that are missed are named."""

from tests.fidelity.report import Pair, order_row, wait_rows
from tests.unit.fidelity.builders import held, history, job

JOBS = [job("a"), job("b", priority_class="prod-priority")]
FORECAST = history(JOBS, held("a", 98, 200), held("b", 100, 200))
MEASURED = history(JOBS, held("a", 100, 200), held("b", 100, 210))


def test_a_class_beyond_the_target_is_named() -> None:
    assert Pair("case", FORECAST, MEASURED, 0.03).missed() == []
    assert Pair("case", FORECAST, MEASURED, 0.01).missed() == [
        "case, dev-priority: mean wait -2.0% of engine's"
    ]


def test_rows_show_both_sides() -> None:
    pair = Pair("case", FORECAST, MEASURED, 0.01)
    assert wait_rows(pair) == [
        ("case", "all queues", "dev-priority", "1", "98", "100", "-2.0% !", "98", "100"),
        ("case", "all queues", "prod-priority", "1", "100", "100", "+0.0%", "100", "100"),
    ]
    assert order_row(pair) == ("case", "100%", "1.000", "nowhere", "94.3%", "0", "0", "200", "210")
