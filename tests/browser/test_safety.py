"""The page keeps to itself: no requests, no script in a name, and a message where it cannot be drawn."""

from pathlib import Path

from playwright.sync_api import Browser

from muster.forecast.page import ForecastSide, write_page
from tests.browser.hostile_texts import HOSTILE
from tests.browser.opened import Opened, opened
from tests.unit.forecast.page.outcomes import HOUR_MS, Job, Try, outcome


def test_page_requests_nothing_but_itself(shown: Opened, written: Path) -> None:
    shown.page.fill("#search", "tune")
    shown.page.locator("button.job").first.click()
    shown.after_drawing()
    assert shown.requests == [written.resolve().as_uri()]


def test_policy_refuses_requests(browser: Browser, written: Path) -> None:
    with opened(browser, written) as shown:
        refused = shown.page.evaluate("() => fetch('http://127.0.0.1:9/').catch(error => error.message)")
        assert refused == "Failed to fetch"
        assert any("Content Security Policy" in message for message in shown.messages)


def test_names_are_text_wherever_they_are_shown(browser: Browser, tmp_path: Path) -> None:
    jobs = [
        Job(name, queue=name, priority_class=name, tries=[Try(HOUR_MS // 2, HOUR_MS // 2, HOUR_MS)])
        for name in HOSTILE
    ]
    write_page(
        [ForecastSide(HOSTILE[0], [outcome(jobs)]), ForecastSide(HOSTILE[1], [outcome(jobs)])],
        tmp_path / "page.html",
    )
    with opened(browser, tmp_path / "page.html") as shown:
        dialogs: list[str] = []
        shown.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        assert shown.page.locator(".card h3").all_inner_texts() == list(HOSTILE)
        for name in HOSTILE:
            shown.page.fill("#search", name)
            shown.after_drawing()
            assert shown.page.inner_text("#selected strong") == name
        shown.page.locator("#timeline-scroll").scroll_into_view_if_needed()
        box = shown.page.locator("#timeline-scroll").bounding_box()
        assert box is not None
        shown.page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 36)
        assert shown.page.inner_text("#tooltip strong") == HOSTILE[0]
        assert shown.page.locator("img").count() == 0
        assert (dialogs, shown.messages) == ([], [])
        assert shown.requests == [(tmp_path / "page.html").as_uri()]


def test_old_browser_gets_a_message(browser: Browser, written: Path) -> None:
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(written.as_uri())
    page.locator("#notice").wait_for(state="visible")
    assert page.inner_text("#notice").startswith("The charts cannot be drawn")
    assert page.locator("table.waits").first.is_visible()
    context.close()
