"""A backtest as a self-contained page: a bar for each group, and the table."""

import html
from collections.abc import Mapping
from pathlib import Path

from muster.files.writing import write_text
from muster.forecast.backtest.coverage import Coverage, EstimateGroup
from muster.forecast.backtest.report import coverage_table, summary_sentence
from muster.forecast.backtest.rolling import Backtest
from muster.forecast.page.markup import Markup, element, joined

STYLE = """
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #8884; }
th { text-align: left; }
td:nth-child(n + 5) { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 14rem; height: 1rem; }
.before { fill: #7aa6d8; } .within { fill: #3a8f5b; } .after { fill: #d98c5f; }
"""
WIDTH, HEIGHT = 200, 14


def write_page(out: Path, name: str, test: Backtest, groups: Mapping[EstimateGroup, Coverage]) -> None:
    """Writes the page. Raises: FileError."""
    table = coverage_table(groups)
    head = element("tr", *(element("th", column.capitalize()) for column in (*table.columns, "starts")))
    rows = [
        element("tr", *(element("td", cell) for cell in row), element("td", bar(coverage)))
        for row, coverage in zip(table.rows, groups.values(), strict=True)
    ]
    legend = "Starts before (left), within and after (right) the 10th to 90th percentile."
    body = joined(
        (
            element("h1", f"Backtest of {name}"),
            element("p", summary_sentence(test, groups)),
            element("p", legend),
            element("table", element("thead", head), element("tbody", *rows)),
        )
    )
    title = html.escape(f"Backtest of {name}")
    write_text(
        out,
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>{body}</body></html>\n",
    )


def bar(coverage: Coverage) -> Markup:
    """Returns the shares of starts before, within and after the range as a bar."""
    before, after = coverage.before / coverage.estimates, coverage.after / coverage.estimates
    parts = ((0.0, before, "before"), (before, coverage.within, "within"), (1 - after, after, "after"))
    rectangles = (
        element(
            "rect",
            x=f"{WIDTH * begin:.1f}",
            y="0",
            width=f"{WIDTH * share:.1f}",
            height=f"{HEIGHT}",
            class_=name,
        )
        for begin, share, name in parts
    )
    label = f"{before:.0%} before, {coverage.within:.0%} within, {after:.0%} after"
    box = f"0 0 {WIDTH} {HEIGHT}"
    return element("svg", *rectangles, viewBox=box, preserveAspectRatio="none", role="img", aria_label=label)
