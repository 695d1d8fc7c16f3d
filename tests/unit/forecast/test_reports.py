"""Forecasts as text."""

import json
from dataclasses import replace

import pytest

from muster.forecast.limits import ExceededLimit
from muster.forecast.report.document import forecast_document, plan_document
from muster.forecast.report.markdown import markdown
from muster.forecast.report.tables import Table, forecast_tables, plan_tables, recorded_tables, totals
from muster.forecast.report.text import change, duration, hours
from muster.forecast.results.comparison import compare
from muster.forecast.results.recorded import recorded_waits
from tests.unit.forecast.builders import (
    AT_ONCE,
    CHECKED,
    configured,
    job,
    provisioned,
    queue,
    simulated,
)

DURATIONS = {
    0: "0s",
    59.6: "1m00s",
    61: "1m01s",
    3599: "59m59s",
    3600: "1h00m",
    90061: "1d01h",
    -61: "-1m01s",
}


@pytest.mark.parametrize(("seconds", "expected"), DURATIONS.items())
def test_a_duration_has_two_units(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_a_change_has_a_sign() -> None:
    assert [change(seconds) for seconds in (0.2, 61, -3600)] == ["0s", "+1m01s", "-1h00m"]
    assert [hours(value) for value in (1234.5, 9.87)] == ["1,234", "9.9"]


JOBS = [job("one", 0, 3600, 8), job("two", 0, 3600, 8)]
BASE, HALVED = simulated(configured(queue("a", 16)), *JOBS), simulated(configured(queue("a", 8)), *JOBS)


def test_a_forecast_has_waits_flavors_and_teams() -> None:
    waits, flavors, teams = forecast_tables([HALVED])
    assert waits.rows[1] == ("a", "", "", "2", "30m00s", "0s", "1h00m", "", *["1h00m"] * 3, "-")
    assert flavors.rows == [("h100", "16.0", "16.0", "100.0%", "0.0", "2")]
    assert teams.rows == [("a", "h100", "16.0")]
    assert totals([HALVED]) == "2 jobs in 2h00m; 0 preemptions"


def test_waits_that_the_trace_recorded_are_shown_beside_the_forecast() -> None:
    (table,) = recorded_tables(recorded_waits([HALVED], {1: 1_800_000}))
    assert table.rows[0] == (
        "all queues",
        "",
        "",
        "1",
        "30m00s",
        "1h00m",
        "+30m00s",
        "30m00s",
        "1h00m",
        "+30m00s",
    )
    assert forecast_document("new", [HALVED], {1: 1_800_000})["recorded"][0] == {
        "jobs": 1,
        "recorded_mean_s": 1800,
        "forecast_mean_s": 3600,
        "recorded_p90_s": 1800,
        "forecast_p90_s": 3600,
    }
    assert recorded_tables(recorded_waits([HALVED], {})) == []


def test_stock_outs_and_deactivated_jobs_are_counted() -> None:
    queued = configured(queue("a", 8, **CHECKED), *provisioned(backoffLimitCount=2))
    out_of_stock = replace(AT_ONCE, stock_out_probability=1)
    outcome = simulated(queued, *JOBS[:1], assumptions=out_of_stock)
    assert totals([outcome]).endswith(
        "; 3 failures and stock-outs; 1.0 jobs deactivated after their last retry; 1 never start"
    )
    (future,) = forecast_document("new", [outcome], {})["futures"]
    assert (future["stock_outs"], future["deactivated"]) == (3, 1)


def test_a_plan_shows_the_direction_of_each_change() -> None:
    differences, worst = plan_tables(compare([BASE], [HALVED]))
    assert differences.rows[1] == (
        *("a", "", "", "0s", "30m00s", "+30m00s ▲"),
        *("0s", "1h00m", "+1h00m ▲", "+1h00m to +1h00m", "1/1", "-"),
    )
    assert worst.rows == [("two", "a", "", "8", "0s", "1h00m", "+1h00m")]


HOSTILE = {
    "a cell's end": ("a|b", "a\\|b"),
    "HTML": ("<img src=x>", "&lt;img src=x&gt;"),
    "a link": ("[x](http://y)", "\\[x\\](http://y)"),
    "a mention": ("@everyone", "@\u200beveryone"),
    "a new line": ("a\n# b", "a # b"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_cannot_break_out_of_a_table(name: str) -> None:
    text, expected = HOSTILE[name]
    table = Table("Jobs", ("JOB",), [(text,)])
    assert markdown("title", [], [table]).splitlines()[-1] == f"| {expected} |"


def test_long_tables_are_cut_and_say_so() -> None:
    table = Table("Jobs", ("JOB",), [(f"{n}",) for n in range(50)])
    assert "… and 10 more rows" in markdown("title", [], [table])


def test_documents_are_json() -> None:
    document = forecast_document("test", [HALVED], {})
    assert json.loads(json.dumps(document))["futures"][0]["teams"] == [
        {"queue": "a", "flavor": "h100", "hours": 16.0}
    ]
    limits = [ExceededLimit("one", by_change=True), ExceededLimit("two", by_change=False)]
    plan = json.loads(json.dumps(plan_document("before", "after", compare([BASE], [HALVED]), limits)))
    assert plan["suffering_most"][0]["name"] == "two"
    assert (plan["violations"], plan["exceeded_before_too"]) == (["one"], ["two"])
    assert {"queue": "a", "statistic": "mean_s", "base_s": 0, "changed_s": 1800} in plan["waits"]
