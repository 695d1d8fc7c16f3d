"""`python -m tests.browser.screenshot PAGE.html OUT.png`: a picture of a page."""

import argparse
import sys
from pathlib import Path

from tests.browser.opened import ColorScheme, opened, started_browser


def main(arguments: list[str]) -> int:
    """Writes the picture; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshot", description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dark", action="store_true", help="in the dark color scheme")
    parser.add_argument("--width", type=int, default=1360)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--full", action="store_true", help="the whole page, not only what fits the window")
    parser.add_argument("--at", metavar="SELECTOR", help="only this element, such as #timeline")
    parser.add_argument("--search", metavar="TEXT", help="with a search for jobs")
    options = parser.parse_args(arguments)
    scheme: ColorScheme = "dark" if options.dark else "light"
    with (
        started_browser() as browser,
        opened(browser, options.page, scheme, options.width, options.height) as shown,
    ):
        if options.search:
            shown.page.fill("#search", options.search)
        if options.at:
            shown.page.locator(options.at).scroll_into_view_if_needed()
        shown.after_drawing()
        if options.at:
            shown.page.locator(options.at).screenshot(path=options.out)
        else:
            shown.page.screenshot(path=options.out, full_page=options.full)
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
