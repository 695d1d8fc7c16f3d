"""`python -m tests.browser.live_screenshot OUT.png`: a picture of the live page, of an example cluster."""

import argparse
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.live import opened_live, served_cluster
from tests.browser.live_example import example
from tests.browser.opened import ColorScheme, started_browser

SETTLE_MS = 1_500  # until the timeline is drawn again


def main(arguments: list[str]) -> int:
    """Writes the picture; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.live_screenshot", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dark", action="store_true", help="in the dark color scheme")
    parser.add_argument("--width", type=int, default=1360)
    options = parser.parse_args(arguments)
    scheme: ColorScheme = "dark" if options.dark else "light"
    with (
        served_cluster(example()) as live,
        started_browser() as browser,
        opened_live(browser, live, scheme=scheme, width=options.width) as shown,
    ):
        page = shown.page
        page.locator("#tree .row", has_text="tuning").click()
        page.locator("#workloads .row", has_text="Pending").nth(1).click()
        page.evaluate("location.hash = location.hash.replace('queue%2Ftuning', 'cohort%2Fcompany')")
        expect(page.locator("#range")).to_contain_text("gangs")
        expect(page.locator("#workload .why")).to_be_visible()
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=options.out, full_page=True)
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
