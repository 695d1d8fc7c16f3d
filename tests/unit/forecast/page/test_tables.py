"""The page's tables: figures, changes and their direction."""

import pytest

from muster.forecast.limits import ExceededLimit
from muster.forecast.page import ForecastSide
from muster.forecast.page.page import page_text
from muster.forecast.page.wording import change_of, duration
from muster.forecast.results.outcome import End, SimulationOutcome
from tests.unit.forecast.page.decoded import Parsed, parsed
from tests.unit.forecast.page.outcomes import HOUR_MS, Job, Try, outcome

MINUTE_MS = 60_000
DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def _waiting(*minutes: int, queue: str = "a") -> SimulationOutcome:
    """Returns a future whose jobs wait this long; a negative one never starts."""
    jobs = []
    for number, wait in enumerate(minutes):
        started = wait * MINUTE_MS
        tries = [Try(started, started, started + MINUTE_MS)] if wait >= 0 else []
        jobs.append(Job(f"job-{number}", queue=queue, tries=tries))
    return outcome(jobs, end_ms=10 * HOUR_MS)


def _page(*futures: list[SimulationOutcome]) -> Parsed:
    return parsed(page_text([ForecastSide(f"side {number}", side) for number, side in enumerate(futures)]))


def _rows(page: Parsed, table: str) -> list[list[str]]:
    """Returns the texts of the table's body, by row."""
    rows: list[list[str]] = []
    inside = body = False
    for element in page.elements:
        if element.tag == "table":
            inside = element.attributes["class"] == table
        elif element.tag in ("thead", "tbody"):
            body = element.tag == "tbody"
        elif inside and body and element.tag == "tr":
            rows.append([])
        elif inside and body and element.tag in ("td", "th"):
            rows[-1].append(element.text)
    return rows


def test_waits_of_one_side() -> None:
    rows = _rows(_page([_waiting(*range(100), -1)]), "waits")
    assert rows == [
        [name, "101", "1", "49 min", "1 h 29 min", "1 h 38 min", ""] for name in ("All jobs", "a", "prod")
    ]


def test_waits_of_two_sides_have_a_change_and_its_direction() -> None:
    page = _page([_waiting(10, 20, 30)], [_waiting(10, 40, 5, -1)])
    row = _rows(page, "waits")[0]
    assert row[:6] == ["All jobs", "34", "01", "20 min", "10 min", f"{MINUS}10 min"]
    assert row[6:9] == ["30 min", "40 min", "+10 min"]
    assert [head.text for head in page.all("th", class_="number")][2:5] == ["Base", "Changed", "Change"]
    assert {span.text for span in page.all("span", class_="falls better")} >= {f"{MINUS}10 min"}
    assert {span.text for span in page.all("span", class_="grows worse")} >= {"+10 min"}


def test_changes_of_several_futures_say_how_many_agree() -> None:
    base = [_waiting(60) for _ in range(10)]
    changed = [_waiting(30) for _ in range(9)] + [_waiting(90)]
    row = _rows(_page(base, changed), "waits")[0]
    assert row[3:6] == ["1 h", "36 min", f"{MINUS}24 min9 of 10 agree"]


def test_queues_of_one_side_only_have_no_change() -> None:
    rows = _rows(_page([_waiting(10, queue="old")], [_waiting(10, queue="new")]), "waits")
    assert [row[:6] for row in rows if row[0] in ("old", "new")] == [
        ["new", f"{DASH}1", f"{DASH}0", DASH, "10 min", DASH],
        ["old", f"1{DASH}", f"0{DASH}", "10 min", DASH, DASH],
    ]


def _of_queues(*waits: tuple[str, int]) -> SimulationOutcome:
    jobs = []
    for number, (queue, minutes) in enumerate(waits):
        started = minutes * MINUTE_MS
        jobs.append(Job(f"job-{number}", queue=queue, tries=[Try(started, started, started + MINUTE_MS)]))
    return outcome(jobs, end_ms=10 * HOUR_MS)


def test_queues_with_the_largest_change_come_first_and_unchanged_ones_are_folded() -> None:
    base = _of_queues(("a", 10), ("b", 10), ("c", 10))
    page = _page([base], [_of_queues(("a", 10), ("b", 12), ("c", 30))])
    names = [row[0] for row in _rows(page, "waits")]
    assert names == ["All jobs", "c", "prod", "b", "prod", "a", "prod"]
    assert page.only("summary").text == "2 rows without a change"


def test_exceeded_limits_are_on_the_page() -> None:
    limits = [ExceededLimit("a: slow", by_change=True), ExceededLimit("b: slow", by_change=False)]
    page = parsed(page_text([ForecastSide(name, [_waiting(1)]) for name in ("before", "after")], limits))
    assert [item.text for item in page.all("li", class_="worse")] == ["limit exceeded: a: slow"]
    assert "limit exceeded before the change too: b: slow" in page.only("main").text


def test_ranges_of_several_futures_are_shown() -> None:
    rows = _rows(_page([_waiting(wait) for wait in range(10, 21)]), "waits")
    assert rows[0][3] == f"15 min11 min {DASH} 19 min"


def test_longest_waits_of_one_side_include_jobs_that_never_start() -> None:
    rows = _rows(_page([_waiting(5, 50, -1, 0)]), "delayed")
    assert [(row[0], row[-1]) for row in rows] == [
        ("job-2", "≥ 10 h"),
        ("job-1", "50 min"),
        ("job-0", "5 min"),
    ]


def test_most_delayed_jobs_of_two_sides_are_those_whose_wait_grows_most() -> None:
    rows = _rows(_page([_waiting(50, 0, 10)], [_waiting(40, 30, 20)]), "delayed")
    assert [(row[0], *row[-3:]) for row in rows] == [
        ("job-1", "0 s", "30 min", "+30 min"),
        ("job-2", "10 min", "20 min", "+10 min"),
    ]


def test_no_job_waits_longer() -> None:
    assert "No job waits longer." in _page([_waiting(5)], [_waiting(5)]).only("main").text


def test_summary_counts_preemptions_and_lost_work() -> None:
    lost = Try(0, 0, HOUR_MS, End.PREEMPTED, lost=HOUR_MS)
    page = _page([outcome([Job("a", tries=[lost, Try(HOUR_MS, HOUR_MS, 2 * HOUR_MS)])], 2 * HOUR_MS)])
    tiles = dict(
        zip(
            *([e.text for e in page.all(t, **c)] for t, c in (("dt", {}), ("dd", {"class_": "figure"}))),
            strict=True,
        )
    )
    assert tiles["Preemptions"] == "1"
    assert tiles["Accelerator-hours lost"] == "8"
    assert tiles["Quota in use"] == "50.0 %"


PREEMPTED = [Try(0, 0, HOUR_MS, End.PREEMPTED), Try(HOUR_MS, HOUR_MS, 2 * HOUR_MS)]
DELAYED = [Try(HOUR_MS, HOUR_MS, 2 * HOUR_MS)]
AT_ONCE = [Try(0, 0, HOUR_MS)]
VERDICTS = {
    "fewer preemptions and equal waits": (PREEMPTED, AT_ONCE, "falls better"),
    "fewer preemptions and longer waits": (PREEMPTED, DELAYED, "falls same"),
    "more preemptions and shorter waits": (DELAYED, PREEMPTED, "grows worse"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_fewer_preemptions_are_no_improvement_if_waits_grow(name: str) -> None:
    before, after, expected = VERDICTS[name]
    page = _page(*([outcome([Job("a", tries=tries)], 2 * HOUR_MS)] for tries in (before, after)))
    tile = next(tile.text for tile in page.all("div", class_="tile") if tile.text.startswith("Preemptions"))
    changes = [span.text for span in page.all("span", class_=expected)]
    assert any(tile.endswith(f"base {len(before) - 1} {change}") for change in changes)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.04, "0 s"),
        (0.25, "0.2 s"),
        (9.94, "9.9 s"),
        (9.97, "10 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (629, "10 min"),
        (3_570, "1 h"),
        (3_599, "1 h"),
        (9 * 3_600 + 60, "9 h 1 min"),
        (23.4 * 3_600, "23 h"),
        (23.6 * 3_600, "1 d"),
        (86_400 * 1.5, "1 d 12 h"),
        (86_400 * 30, "30 d"),
        (-90, f"{MINUS}1 min 30 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (240, "s", "+4 min"),
        (-0.5, "s", f"{MINUS}0.5 s"),
        (0.01, "s", "±0"),
        (0.021, "share", "+2.1 points"),
        (-1_200, "count", f"{MINUS}1,200"),
        (0.4, "count", "±0"),
    ],
)
def test_changes(value: float, unit: str, text: str) -> None:
    assert change_of(value, unit) == text
