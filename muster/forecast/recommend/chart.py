"""The Pareto front as a self-contained page: an SVG of cost against the worst goal."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, inf, log10

from muster.forecast.limits import WITHIN, WaitLimit
from muster.forecast.recommend.report import mark
from muster.forecast.recommend.scores import Score, front
from muster.forecast.recommend.search import SearchResult
from muster.forecast.report.tables import Table

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 30, 30, 60
LEAST = 0.01  # share of a goal's limit at which smaller values are drawn, as the axis is logarithmic
STYLE = """\
body{font:14px system-ui,sans-serif;margin:2em;color:#222;background:#fff}
table{border-collapse:collapse;margin-top:1em}
td,th{padding:.25em .8em;text-align:right;border-bottom:1px solid #ddd}
text{font:12px system-ui,sans-serif;fill:#444}
.axis{stroke:#999}.grid{stroke:#eee}.goal{stroke:#b30000;stroke-dasharray:6 4}
.met{fill:#1a7f37}.missed{fill:#b30000}.other{opacity:.35}
.chosen{stroke:#111;stroke-width:3}.now{stroke:#0550ae;stroke-width:3}"""


def page(
    name: str, result: SearchResult, goals: Sequence[WaitLimit], tables: Sequence[Table], answer: str
) -> str:
    """Returns an HTML page with the chart and the tables of the front."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(name)}</title>'
        f"<style>{STYLE}</style><h1>{escape(name)}</h1><p>{escape(answer)}</p>"
        f"{svg(result, goals, tables[0].columns[2].capitalize())}"
        f"{''.join(map(_table, tables))}</html>\n"
    )


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = (f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<h2>{escape(table.title)}</h2><table><tr>{heads}</tr>{''.join(rows)}</table>"


def svg(result: SearchResult, goals: Sequence[WaitLimit], cost: str) -> str:
    """Returns the chart: score point per candidate; points below the dashed line meet all goals."""
    ratios = [worst(score, goals) for score in result.scores]
    finite = [ratio for ratio in ratios if ratio < inf]
    low = floor(log10(min([1.0, *finite])))
    high = ceil(log10(max([1.0, *finite]) * 1.5))
    costs = [score.cost for score in result.scores]
    most = max(costs) * 1.05 or 1.0

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / most

    def y(ratio: float) -> float:
        share = 1.0 if ratio == inf else (log10(ratio) - low) / (high - low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">']
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for tick in range(5):
        value = most * tick / 4
        parts.append(
            f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:,.0f}</text>'
        )
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts += [
        f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{bottom}H{right}"/>',
        f'<line class="goal" x1="{LEFT}" x2="{right}" y1="{y(1):.1f}" y2="{y(1):.1f}"/>',
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 15}" text-anchor="middle">{escape(cost)}</text>',
        f'<text x="{LEFT}" y="{TOP - 12}">wait of the worst goal, as a multiple of its limit</text>',
    ]
    rows = {id(score) for score in front(result.scores)}
    # Draw the front and marked points last, on top of the others.
    for score in sorted(result.scores, key=lambda score: (bool(mark(score, result)), id(score) in rows)):
        parts.append(_point(score, result, goals, x(score.cost), y(worst(score, goals)), id(score) in rows))
    return "".join([*parts, "</svg>"])


def _point(
    score: Score, result: SearchResult, goals: Sequence[WaitLimit], x: float, y: float, on_front: bool
) -> str:
    word = mark(score, result)
    classes = ["met" if score.meets else "missed"]
    classes += [] if on_front or word else ["other"]
    classes += ["chosen"] if score is result.best else ["now"] if word else []
    waits = ", ".join(goal.text(value) for goal, value in zip(goals, score.values, strict=True))
    title = escape(f"{score.candidate.changes}: cost {score.cost:,.0f}, {waits}")
    label = f'<text x="{x + 10:.1f}" y="{y - 8:.1f}">{escape(word)}</text>' if word else ""
    return (
        f'<circle class="{" ".join(classes)}" cx="{x:.1f}" cy="{y:.1f}" r="{6 if on_front else 4}">'
        f"<title>{title}</title></circle>{label}"
    )


def worst(score: Score, goals: Sequence[WaitLimit]) -> float:
    """Returns the largest goal value as a multiple of its limit; of service levels, the share of late jobs as
    a multiple of the share that the goal allows."""
    if score.starved:
        return inf
    ratios = (
        value / max(goal.bound, LEAST if goal.statistic == WITHIN else 1.0)
        for value, goal in zip(score.values, goals, strict=True)
    )
    return max(LEAST, *ratios)
