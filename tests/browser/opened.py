"""Opens pages in the browser: what they request and log is recorded."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.installed import ensure_browser, node

ColorScheme = Literal["light", "dark"]
READY_MS_MAX = 60_000


@dataclass
class Opened:
    """A page, and its requests and log since it was opened."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def number(self, name: str) -> float:
        """Returns a figure that the page notes about itself: readyMs, drawMs, draws."""
        return float(str(self.page.evaluate("name => document.documentElement.dataset[name]", name)))

    @property
    def span_ms(self) -> tuple[float, float]:
        """The span of time that the charts show."""
        bar = self.page.locator("#range")
        return float(bar.get_attribute("data-from-ms") or -1), float(bar.get_attribute("data-to-ms") or -1)

    def after_drawing(self) -> None:
        """Waits until what the last input changed is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Starts the browser, which is installed first if need be, and stops it at the end."""
    installed = ensure_browser()
    os.environ["PLAYWRIGHT_NODEJS_PATH"] = str(node())  # Playwright's own needs a library of the machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=installed.executable,
            env={**installed.environment},
            args=["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, file: Path, scheme: ColorScheme = "light", width: int = 1360, height: int = 900
) -> Iterator[Opened]:
    """Opens a written page and waits until its charts are drawn."""
    context = browser.new_context(
        locale="en-US", color_scheme=scheme, viewport={"width": width, "height": height}
    )
    try:
        page = Opened(context.new_page())
        page.page.on("request", lambda request: page.requests.append(request.url))
        page.page.on("console", lambda message: page.messages.append(message.text))
        page.page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.page.goto(file.resolve().as_uri())
        page.page.wait_for_selector("html[data-ready-ms]", timeout=READY_MS_MAX)
        yield page
    finally:
        context.close()
