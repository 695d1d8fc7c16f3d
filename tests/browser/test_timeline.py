"""The timeline in a real browser: zoom, pan, keyboard, search, tooltip, the way to it from the tables."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, FloatRect

from muster.forecast.page import ForecastSide, write_page
from muster.forecast.results.outcome import End
from tests.browser.canvases import color, pixels
from tests.browser.opened import Opened, opened
from tests.unit.forecast.page.outcomes import HOUR_MS, Job, Try, outcome

DAY_MS = 24 * HOUR_MS
WHOLE = (0, 3 * DAY_MS)
GUTTER, AXIS, GAP, ROW = 132, 24, 5, 18


def _box(shown: Opened, selector: str = "#timeline-scroll") -> FloatRect:
    area = shown.page.locator(selector).first
    area.scroll_into_view_if_needed()
    shown.after_drawing()
    box = area.bounding_box()
    assert box is not None
    return box


def _move(shown: Opened, x: float, y: float) -> None:
    """Moves the pointer in two steps, as by hand."""
    shown.page.mouse.move(x - 5, y)
    shown.page.mouse.move(x, y)


def _drag(shown: Opened, from_x: float, to_x: float, y: float) -> None:
    shown.page.mouse.move(from_x, y)
    shown.page.mouse.down()
    shown.page.mouse.move(to_x, y, steps=4)
    shown.page.mouse.up()
    shown.after_drawing()


def test_wheel_zooms_around_the_pointer(shown: Opened) -> None:
    assert shown.span_ms == WHOLE
    box = _box(shown)
    plot = box["width"] - 2 - GUTTER - 8
    _move(shown, box["x"] + 1 + GUTTER + plot / 4, box["y"] + 100)
    shown.page.mouse.wheel(0, -200)
    shown.after_drawing()
    start, end = shown.span_ms
    assert end - start < 0.7 * WHOLE[1]
    assert start + (end - start) / 4 == pytest.approx(WHOLE[1] / 4, rel=0.01)
    shown.page.mouse.wheel(0, 200)
    shown.after_drawing()
    assert shown.span_ms == pytest.approx(WHOLE, abs=1_000)


def test_wheel_over_a_resting_pointer_scrolls_the_page(shown: Opened) -> None:
    box = _box(shown)
    shown.page.mouse.move(box["x"] + 400, box["y"] + 100)  # as if the page had brought the timeline there
    before = shown.page.evaluate("scrollY")
    shown.page.mouse.wheel(0, -200)
    shown.page.wait_for_function("before => scrollY < before", arg=before)
    assert shown.span_ms == WHOLE


def test_wheel_with_control_always_zooms(shown: Opened) -> None:
    box = _box(shown)
    shown.page.mouse.move(box["x"] + 400, box["y"] + 100)
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -200)
    shown.after_drawing()
    assert shown.span_ms != WHOLE


def test_drag_zooms_to_its_span_and_double_click_shows_all(shown: Opened) -> None:
    box = _box(shown)
    plot = box["width"] - 2 - GUTTER - 8
    remaining = box["x"] + 1 + GUTTER
    _drag(shown, remaining + plot / 3, remaining + plot * 2 / 3, box["y"] + 100)
    assert shown.span_ms == pytest.approx((DAY_MS, 2 * DAY_MS), rel=0.01)
    shown.page.mouse.dblclick(remaining + 50, box["y"] + 100)
    shown.after_drawing()
    assert shown.span_ms == WHOLE


def test_drag_with_shift_pans(shown: Opened) -> None:
    box = _box(shown)
    plot = box["width"] - 2 - GUTTER - 8
    remaining = box["x"] + 1 + GUTTER
    _drag(shown, remaining + plot / 3, remaining + plot * 2 / 3, box["y"] + 100)
    shown.page.keyboard.down("Shift")
    _drag(shown, remaining + plot * 0.75, remaining + plot * 0.25, box["y"] + 100)
    shown.page.keyboard.up("Shift")
    assert shown.span_ms == pytest.approx((1.5 * DAY_MS, 2.5 * DAY_MS), rel=0.01)


def test_drag_over_a_chart_zooms_all(shown: Opened) -> None:
    timeline = shown.page.locator("#timeline-canvas")
    before = pixels(timeline)
    box = _box(shown, ".card .used .u-over")
    _drag(shown, box["x"] + box["width"] / 3, box["x"] + box["width"] * 2 / 3, box["y"] + 30)
    assert shown.span_ms == pytest.approx((DAY_MS, 2 * DAY_MS), rel=0.02)
    assert pixels(timeline) != before


@pytest.mark.parametrize(
    ("keys", "span"),
    [
        pytest.param(["+"], (0.5, 2.5), id="zoom-in"),
        pytest.param(["+", "-"], (0, 3), id="zoom-out"),
        pytest.param(["+", "ArrowRight"], (0.8, 2.8), id="pan-right"),
        pytest.param(["+", "ArrowLeft"], (0.2, 2.2), id="pan-left"),
        pytest.param(["+", "+", "Home"], (0, 4 / 3), id="to-the-beginning"),
        pytest.param(["+", "+", "End"], (5 / 3, 3), id="to-the-end"),
        pytest.param(["+", "ArrowRight", "ArrowRight", "ArrowRight"], (1, 3), id="pan-ends-at-the-end"),
        pytest.param(["+", "+", "0"], (0, 3), id="all"),
    ],
)
def test_keys(shown: Opened, keys: list[str], span: tuple[float, float]) -> None:
    shown.page.focus("#timeline-scroll")
    for key in keys:
        shown.page.keyboard.press(key)
    assert shown.span_ms == pytest.approx((span[0] * DAY_MS, span[1] * DAY_MS), abs=1_000)


def test_arrows_scroll_lanes(shown: Opened) -> None:
    shown.page.fill("#row-height", "24")
    shown.page.focus("#timeline-scroll")
    shown.page.keyboard.press("ArrowDown")
    assert shown.page.evaluate("document.getElementById('timeline-scroll').scrollTop") > 0


def test_timeline_is_reached_by_tab_with_a_visible_focus(shown: Opened) -> None:
    shown.page.focus("#zoom-all")
    shown.page.keyboard.press("Tab")
    assert shown.page.evaluate("document.activeElement.id") == "timeline-scroll"
    style = "getComputedStyle(document.activeElement)"
    assert shown.page.evaluate(f"{style}.outlineStyle + ' ' + {style}.outlineWidth") == "solid 2px"


def test_search_highlights_all_and_shows_the_first(shown: Opened) -> None:
    canvas = shown.page.locator("#timeline-canvas")
    everything = pixels(canvas).of(color(canvas, "finished"))
    shown.page.keyboard.press("/")
    assert shown.page.evaluate("document.activeElement.id") == "search"
    shown.page.keyboard.type("TUNE")
    shown.after_drawing()
    shown_text = shown.page.inner_text("#search-count")
    assert shown_text.startswith("1 of ")
    assert "tune-" in shown.page.inner_text("#selected strong")
    highlighted = pixels(canvas).of(color(canvas, "finished"))
    assert 0.1 * everything < highlighted < 0.4 * everything  # every fifth job
    shown.page.keyboard.press("Enter")
    assert shown.page.inner_text("#search-count") == shown_text.replace("1 of", "2 of", 1)
    shown.page.keyboard.press("Shift+Enter")
    shown.page.keyboard.press("Shift+Enter")
    last = shown_text.split()[2]
    assert shown.page.inner_text("#search-count").startswith(f"{last} of {last}")
    shown.page.keyboard.press("Escape")
    shown.after_drawing()
    assert shown.page.input_value("#search") == shown.page.inner_text("#search-count") == ""
    assert pixels(canvas).of(color(canvas, "finished")) == everything


def test_search_without_a_match_says_so(shown: Opened) -> None:
    shown.page.fill("#search", "no such job")
    assert shown.page.inner_text("#search-count") == "No job matches"
    assert shown.page.locator("#next").is_disabled()


def test_search_scrolls_and_moves_to_a_job_out_of_sight(shown: Opened) -> None:
    shown.page.fill("#row-height", "24")
    shown.page.focus("#timeline-scroll")
    for _ in range(8):
        shown.page.keyboard.press("+")
    shown.page.keyboard.press("End")
    before = shown.span_ms
    shown.page.fill("#search", "000001")
    shown.after_drawing()
    assert "000001" in shown.page.inner_text("#selected strong")
    assert shown.span_ms[1] < before[0]


def _small(tmp_path: Path) -> Path:
    """Writes a page of two equal sides, with one queue: its first lane has `left` and `after`."""
    remaining = Job("left", accelerators=64, tries=[Try(0, HOUR_MS // 10, HOUR_MS // 4, End.PREEMPTED)])
    long = Job("long", tries=[Try(1, 2, HOUR_MS)])
    after = Job("after", tries=[Try(HOUR_MS // 2, HOUR_MS // 2, HOUR_MS)])
    both = [ForecastSide(name, [outcome([remaining, long, after])]) for name in ("base", "changed")]
    write_page(both, tmp_path / "page.html")
    return tmp_path / "page.html"


@pytest.mark.parametrize(
    ("share", "lane", "name"),
    [
        (0.05, 0, "left"),
        (0.2, 0, "left"),
        (0.4, 0, None),
        (0.7, 0, "after"),
        (0.2, 1, "long"),
        (0.9, 1, "long"),
    ],
)
def test_tooltip_tells_the_job_below_the_pointer(
    browser: Browser, tmp_path: Path, share: float, lane: int, name: str | None
) -> None:
    with opened(browser, _small(tmp_path)) as shown:
        box = _box(shown)
        plot = box["width"] - 2 - GUTTER - 8
        _move(shown, box["x"] + 1 + GUTTER + share * plot, box["y"] + AXIS + GAP + (lane + 0.5) * ROW)
        tooltip = shown.page.locator("#tooltip")
        assert tooltip.is_visible() == (name is not None)
        if name:
            assert tooltip.locator("strong").inner_text() == name
        if name == "left":
            assert tooltip.locator("dd").all_inner_texts() == (
                [
                    "a",
                    "prod",
                    "2 pods, 64 accelerators",
                    "00:00:00",
                    "6 min",
                    "6 min",
                    "6 min",
                    "9 min",
                    "preempted",
                ]
            )


def test_most_delayed_job_leads_to_the_timeline(shown: Opened) -> None:
    button = shown.page.locator("button.job").first
    name = button.inner_text()
    button.click()
    shown.after_drawing()
    assert shown.page.inner_text("#selected strong") == name
    assert shown.page.evaluate("document.activeElement.id") == "timeline-scroll"
    assert shown.span_ms != WHOLE
    canvas = shown.page.locator("#timeline-canvas")
    assert pixels(canvas).of(color(canvas, "text")) > 20  # its outline, and the queues' names


def test_other_side_can_be_chosen(shown: Opened) -> None:
    canvas = shown.page.locator("#timeline-canvas")
    before = pixels(canvas)
    shown.page.get_by_role("radio", name="current quotas").check()
    shown.after_drawing()
    assert pixels(canvas) != before
