"""Answers as text: a table of the Pareto front, and JSON."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from muster.forecast.limits import WaitLimit
from muster.forecast.recommend.goals import named
from muster.forecast.recommend.scores import Score, front
from muster.forecast.recommend.search import Found
from muster.forecast.recommend.variables import value_text
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration, hours

REASONS = 5
"""Reasons of invalid candidates that are shown."""


def shown(found: Found) -> list[Score]:
    """Returns the rows that a user chooses from: the Pareto front and the present settings, by cost."""
    rows = front(found.scores)
    if all(one is not found.present for one in rows):
        rows.append(found.present)
    return sorted(rows, key=lambda one: one.objectives)


def mark(one: Score, found: Found) -> str:
    best = one is found.best
    is_present = one is found.present
    if best:
        word = "recommended" if one.meets else "closest"
        return f"{word}, present" if is_present else word
    return "present" if is_present else ""


def wait_text(seconds: float) -> str:
    return "never" if seconds == inf else duration(seconds)


def cost_text(cost: float, has_prices: bool) -> str:
    return hours(cost) if has_prices else f"{cost:,.0f}"


def front_tables(found: Found, goals: Sequence[WaitLimit], has_prices: bool) -> list[Table]:
    """Returns the Pareto front, in which cheaper rows miss goals by more or make jobs wait longer, and the
    settings of its rows."""
    rows = [
        (
            f"{number}",
            mark(one, found),
            cost_text(one.candidate.cost, has_prices),
            *(wait_text(value) for value in one.values),
            "yes" if one.meets else "no",
            f"{one.futures_met}/{one.futures}",
            duration(one.wait_s),
            f"{one.never:,.0f}" if one.never else "-",
        )
        for number, one in enumerate(shown(found), 1)
    ]
    limits = (f"<= {duration(goal.max_s)}" for goal in goals)
    columns = (
        "NO",
        "",
        "COST" if has_prices else "ACCELERATORS",
        *(named(goal) for goal in goals),
        "GOALS MET",
        "FUTURES",
        "MEAN WAIT",
        "NEVER STARTED",
    )
    goal_row = ("", "goal", "", *limits, "", "", "", "")
    return [
        Table("Cost and waits (Pareto front)", columns, [goal_row, *rows], numbers=2),
        _settings_table(shown(found)),
    ]


def _settings_table(scores: Sequence[Score]) -> Table:
    targets = [variable.target for one in scores for variable in one.candidate.values]
    columns = tuple(dict.fromkeys(targets)) or ("",)
    rows = [
        (f"{number}", *(map(value_text, one.candidate.values.values())))
        if one.candidate.values
        else (f"{number}", *["present"] * len(columns))
        for number, one in enumerate(scores, 1)
    ]
    return Table("Settings", ("NO", *columns), rows, numbers=1)


def invalid_table(invalid: Mapping[str, int]) -> list[Table]:
    """Returns a table of candidates that are no valid settings, unless there are none."""
    if not invalid:
        return []
    ordered = sorted(invalid.items(), key=lambda one: (-one[1], one[0]))
    rows = [(f"{n:,}", reason) for reason, n in ordered[:REASONS]]
    if left := sum(n for _, n in ordered[REASONS:]):
        rows.append((f"{left:,}", "other reasons; --json has all"))
    return [Table("Left out: invalid settings", ("CANDIDATES", "WHY"), rows, numbers=9)]


def summary(found: Found, goals: Sequence[WaitLimit]) -> str:
    """Returns the answer in one sentence."""
    best = found.best
    if not best.meets:
        missed = ", ".join(
            f"{named(goal)} is {wait_text(value)} instead of {duration(goal.max_s)}"
            for goal, value in zip(goals, best.values, strict=True)
            if value > goal.max_s
        )
        starved = f"{best.starved:,.0f} jobs never start that do at present" if best.starved else ""
        what = "; ".join(part for part in (missed, starved) if part)
        return f"no candidate meets the goals; the closest is {best.candidate.changes}: {what}"
    if best is found.present:
        return "the present settings are recommended: no candidate that meets the goals costs less"
    return f"recommended: {best.candidate.changes}"


def document(
    name: str,
    found: Found,
    goals: Sequence[WaitLimit],
    invalid: Mapping[str, int],
    has_prices: bool,
) -> dict[str, Any]:
    """Returns the answer for programs; waits in seconds, null if they are without end."""
    on_front = {id(one) for one in front(found.scores)}
    return {
        "configuration": name,
        "goals_met": found.best.meets,
        "goals": [
            {"queue": g.queue, "priority_class": g.priority_class, "statistic": g.statistic, "max_s": g.max_s}
            for g in goals
        ],
        "cost_unit": "price" if has_prices else "accelerators",
        "candidates": [
            {
                "settings": {variable.target: value for variable, value in one.candidate.values.items()},
                "cost": one.candidate.cost,
                "accelerators": dict(one.candidate.offered),
                "waits_s": [None if value == inf else value for value in one.values],
                "violation": None if one.violation == inf else one.violation,
                "meets": one.meets,
                "futures": one.futures,
                "futures_met": one.futures_met,
                "mean_wait_s": one.wait_s,
                "never_started": one.never,
                "present": one is found.present,
                "recommended": one is found.best and one.meets,
                "pareto": id(one) in on_front,
            }
            for one in sorted(found.scores, key=lambda one: one.objectives)
        ],
        "screened": found.screened,
        "invalid": dict(sorted(invalid.items())),
    }
