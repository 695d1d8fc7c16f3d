"""One browser for each worker, and pages written once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from muster.forecast.page import write_page
from tests.browser.opened import Opened, opened, started_browser
from tests.unit.forecast.page.outcomes import sides


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that compares two sides in two futures."""
    out = tmp_path_factory.mktemp("page") / "page.html"
    write_page(sides(3_000, futures=2, days=3), out)
    return out


@pytest.fixture
def shown(browser: Browser, written: Path) -> Iterator[Opened]:
    """The open page. At the end it must not have logged anything, such as a violated policy."""
    with opened(browser, written) as page:
        yield page
        assert page.messages == []
