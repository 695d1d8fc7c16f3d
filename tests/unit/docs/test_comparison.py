"""Checks of the comparisons in docs: every cell has a source, of the version that the page names."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.unit.docs.markdown import CODE, LINK, ROOT

PAGES = ("comparison.md", "comparison-of-commands.md")
FEATURE, OWN = "feature", "Muster"


class Cell(NamedTuple):
    """Text about one feature of one project."""

    feature: str
    project: str
    text: str


def tables(page: str) -> Iterator[list[dict[str, str]]]:
    """Yields the rows of each table, by the names in its header."""
    for block in page.split("\n\n"):
        lines = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in block.splitlines()]
        if block.startswith("| "):
            header, _, *rows = lines
            yield [dict(zip(header, row, strict=True)) for row in rows]


def cells(page: str) -> list[Cell]:
    rows = [row for table in tables(page) for row in table if FEATURE in row]
    return [Cell(row[FEATURE], name, text) for row in rows for name, text in row.items() if name != FEATURE]


def peers(page: str) -> dict[str, tuple[str, str]]:
    """Returns repository and version of each peer."""
    rows = [row for table in tables(page) for row in table if "version" in row]
    return {row["peer"]: (row["repository"].strip("`"), row["version"].strip("`")) for row in rows}


def faults(page: str) -> list[str]:
    """Returns the cells without a source, or with a source of another version."""
    return [
        f"{cell.feature}, {cell.project}: {fault}"
        for cell in cells(page)
        for fault in _faults(cell, peers(page))
    ]


def _faults(cell: Cell, versions: dict[str, tuple[str, str]]) -> Iterator[str]:
    links = LINK.findall(cell.text)
    if not links:
        yield "no source"
    if "none found" in cell.text and not (CODE.search(cell.text) and any("/tree/" in link for link in links)):
        yield "searched for what, and where?"
    if cell.project == OWN:
        starts = ["../tests/"]
    else:
        repository, version = versions[cell.project]
        starts = [f"https://github.com/{repository}/{kind}/{version}" for kind in ("blob", "tree")]
    yield from (f"{link} is no source of it" for link in links if not link.startswith(tuple(starts)))


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> str:
    return (ROOT / "docs" / str(request.param)).read_text()


def test_every_cell_has_a_source(page: str) -> None:
    assert faults(page) == []


def test_every_feature_is_compared_with_every_peer(page: str) -> None:
    features = {cell.feature for cell in cells(page)}
    projects = {OWN, *peers(page)}
    assert features
    assert len(projects) > 1
    assert {(cell.feature, cell.project) for cell in cells(page)} == {
        (f, p) for f in features for p in projects
    }


def test_every_line_of_the_comparison_is_a_row(page: str) -> None:
    lines = [line for line in page.splitlines() if line.startswith("|")]
    page_tables = list(tables(page))
    assert len(lines) == sum(len(rows) for rows in page_tables) + 2 * len(page_tables)


VERSIONS = "| peer | repository | version |\n|---|---|---|\n| xpk | `a/xpk` | `v2` |\n\n"
SOURCE = "https://github.com/a/xpk"
BROKEN = {
    "a peer without a source": ("yes", "[yes](../tests/a.py)"),
    "Muster without a source": (f"[yes]({SOURCE}/blob/v2/a)", "yes"),
    "Muster without a test": (f"[yes]({SOURCE}/blob/v2/a)", "[yes](settings.md)"),
    "a source of another version": (f"[yes]({SOURCE}/blob/v1/a)", "[yes](../tests/a.py)"),
    "a source of another project": ("[yes](https://github.com/a/b/blob/v2/a)", "[yes](../tests/a.py)"),
    "none found without the words": (f"[none found]({SOURCE}/tree/v2)", "[yes](../tests/a.py)"),
    "none found in a single file": (f"[none found for `x`]({SOURCE}/blob/v2/a)", "[yes](../tests/a.py)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_cell_without_its_source_is_found(name: str) -> None:
    theirs, own = BROKEN[name]
    page = f"{VERSIONS}| feature | Muster | xpk |\n|---|---|---|\n| drift | {own} | {theirs} |\n"
    assert len(faults(page)) == 1
