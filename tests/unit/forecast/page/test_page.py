"""The written page: one file of nested elements that loads nothing and escapes every name."""

import hashlib
import re
from pathlib import Path

import pytest

from muster.forecast.page import ForecastSide, write_page
from muster.forecast.page.page import ASSETS, SCRIPTS, STYLES, page_text
from muster.forecast.results.outcome import End
from tests.unit.forecast.page.decoded import decoded, parsed
from tests.unit.forecast.page.outcomes import Job, Try, outcome, sides

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "<!--",
    "]]>",
    "{{data}}",
    "&lt;b&gt;",
    "'; alert(4); '",
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def hostile_side(name: str = "</title><script>alert(5)</script>") -> ForecastSide:
    jobs = [Job(name, tries=[Try(9_000, 9_000, 20_000)], queue=name, priority_class=name) for name in HOSTILE]
    return ForecastSide(name, [outcome(jobs)])


def test_page_is_nested_html_with_one_main_heading() -> None:
    page = parsed(page_text(sides(1_000, days=1)))
    assert page.only("h1").text == "current quotasmore H100s"
    assert page.only("html").attributes["lang"] == "en"
    assert {table.attributes["class"] for table in page.all("table")} == {"waits", "delayed"}
    for control in page.all("input"):
        labels = page.all("label", for_=control.attributes["id"])
        assert [label.text.strip() != "" for label in labels] == [True]


def test_every_described_element_exists() -> None:
    page = parsed(page_text(sides(1_000, days=1)))
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert element.attributes.get(name, ids[0]) in ids


def test_page_loads_nothing() -> None:
    page = parsed(page_text(sides(1_000, days=1)))
    (policy,) = [m.attributes["content"] for m in page.all("meta", http_equiv="Content-Security-Policy")]
    assert policy == POLICY
    addresses = [
        e.attributes[name] for e in page.elements for name in ("src", "href") if name in e.attributes
    ]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert not re.search(r"url\(|@import", "".join(style.text for style in page.all("style")))


@pytest.mark.parametrize("number", [1, 2])
def test_hostile_names_stay_text(number: int) -> None:
    harmless = page_text([ForecastSide("a", [outcome([Job("b")])])] * number)
    text = page_text([hostile_side()] * number)
    page = parsed(text)
    assert len(page.all("script")) == len(parsed(harmless).all("script"))
    assert not page.all("img")
    assert not any(name.startswith("on") for element in page.elements for name in element.attributes)
    assert decoded(text).names() == list(HOSTILE)
    assert "</title><script>alert(5)</script>" in page.only("title").text


def test_hostile_names_are_shown_in_the_tables() -> None:
    page = parsed(page_text([hostile_side()]))
    assert {button.text for button in page.all("button", class_="job")} == set(HOSTILE)


def test_page_is_written_as_one_file(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    write_page(sides(100, days=1), out)
    assert out.read_text(encoding="utf-8") == page_text(sides(100, days=1))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param([], id="no-side"),
        pytest.param([hostile_side()] * 3, id="three-sides"),
        pytest.param([ForecastSide("empty", [])], id="no-outcome"),
    ],
)
def test_other_numbers_of_sides_are_refused(wrong: list[ForecastSide], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected one or two"):
        write_page(wrong, tmp_path / "page.html")


def test_page_of_no_jobs_is_nested_html() -> None:
    page = parsed(page_text([ForecastSide("none", [outcome([])])]))
    assert "No job waits." in page.only("main").text


def test_every_asset_is_used() -> None:
    folder = Path(str(ASSETS))
    used = {*STYLES, *SCRIPTS, "page.html", "vendor/uPlot.iife.min.js", "vendor/uPlot.LICENSE.txt"}
    assets = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert assets - used == {"vendor/README.md"}


@pytest.mark.parametrize("name", ["uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE.txt"])
def test_vendored_file_is_the_recorded_one(name: str) -> None:
    digest = hashlib.sha256((ASSETS / "vendor" / name).read_bytes()).hexdigest()
    assert f"{digest}  {name}" in (ASSETS / "vendor" / "README.md").read_text()


def test_page_carries_the_license_of_its_library() -> None:
    text = page_text([ForecastSide("one", [outcome([Job("a", tries=[Try(0, 0, 1, End.FAILED)])])])])
    assert "Permission is hereby granted" in text
