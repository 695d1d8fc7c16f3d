"""Charts in a real browser: drawn, right, in both color schemes, on paper and on narrow screens."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from muster.forecast.page import ForecastSide, write_page
from muster.forecast.results.outcome import End
from tests.browser.canvases import color, pixels
from tests.browser.opened import ColorScheme, Opened, opened
from tests.unit.forecast.page.outcomes import HOUR_MS, QUEUES, Job, Try, outcome

BACKGROUNDS: dict[ColorScheme, str] = {"light": "#ffffff", "dark": "#161b22"}


@pytest.mark.parametrize(
    ("figure", "line"),
    [("used", "in-use"), ("waiting", "pending"), ("waits", "in-use")],
    ids=lambda value: value,
)
def test_chart_has_its_line(shown: Opened, figure: str, line: str) -> None:
    canvas = shown.page.locator(f".card .{figure} canvas").nth(1)  # training-large, which is busy
    assert pixels(canvas).of(color(canvas, line)) > 100


@pytest.mark.parametrize("end", ["finished", "preempted", "failed", "provisioning", "horizon"])
def test_timeline_has_bars_by_end(shown: Opened, end: str) -> None:
    canvas = shown.page.locator("#timeline-canvas")
    assert pixels(canvas).of(color(canvas, end)) > 10


def test_each_queue_has_a_card(shown: Opened) -> None:
    assert shown.page.locator(".card h3").all_inner_texts() == list(QUEUES)


def test_charts_below_the_window_are_drawn_when_scrolled_to(browser: Browser, written: Path) -> None:
    with opened(browser, written, height=400) as shown:
        last = shown.page.locator(".card").last
        assert last.locator("canvas").count() == 0
        last.scroll_into_view_if_needed()
        last.locator("canvas").nth(2).wait_for()


def test_colors_follow_the_color_scheme(shown: Opened) -> None:
    timeline, chart = shown.page.locator("#timeline-canvas"), shown.page.locator(".card .used canvas").nth(1)
    lines: dict[str, str] = {}
    schemes: tuple[ColorScheme, ...] = ("light", "dark", "light")
    for scheme in schemes:
        shown.page.emulate_media(color_scheme=scheme)
        shown.after_drawing()
        lines[scheme] = color(chart, "in-use")
        assert pixels(timeline).most_frequent == BACKGROUNDS[scheme]
        assert pixels(chart).of(lines[scheme]) > 100
    assert lines["light"] != lines["dark"]


def test_paper_is_white_and_has_all_charts(browser: Browser, written: Path) -> None:
    with opened(browser, written, "dark", height=400) as shown:
        canvas = shown.page.locator("#timeline-canvas")
        shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        shown.after_drawing()
        assert shown.page.locator(".card canvas").count() == 3 * len(QUEUES)
        assert pixels(canvas).most_frequent == BACKGROUNDS["light"]
        shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
        shown.after_drawing()
        assert pixels(canvas).most_frequent == BACKGROUNDS["dark"]


def test_narrow_screen_scrolls_tables_and_not_the_page(browser: Browser, written: Path) -> None:
    with opened(browser, written, width=390) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth") == 390


def test_values_at_the_cursor_are_those_of_the_outcome(browser: Browser, tmp_path: Path) -> None:
    """Two gangs of 8 with quota for 12: the second waits for the first half hour."""
    half = HOUR_MS // 2
    first = Job("first", tries=[Try(0, 1_000, half)])
    second = Job("second", tries=[Try(half, half, HOUR_MS, End.HORIZON)])
    preempted = Job("again", accelerators=2, tries=[Try(0, 1_000, half // 2, End.PREEMPTED)])
    write_page(
        [ForecastSide("one", [outcome([first, second, preempted], nominal=12)])], tmp_path / "page.html"
    )
    with opened(browser, tmp_path / "page.html") as shown:
        readouts = [_readouts(shown, share) for share in (0.1, 0.4, 0.9)]
    assert readouts == [
        ["10 · quota 12", "8"],
        ["8 · quota 12", "10"],
        ["8 · quota 12", "2"],
    ]


def _readouts(shown: Opened, share: float) -> list[str]:
    """Returns what both charts of the first queue say at this share of the time, without the time."""
    plot = shown.page.locator(".card .used .u-over").first
    box = plot.bounding_box()
    assert box is not None
    shown.page.mouse.move(box["x"] + share * box["width"], box["y"] + 20)
    shown.after_drawing()
    texts = shown.page.locator(".card").first.locator("figure:not(.waits) .readout").all_inner_texts()
    return [text.split(" · ", 1)[1] for text in texts]
