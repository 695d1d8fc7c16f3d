"""Reports recommendations: a table of the Pareto front, and JSON."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from muster.forecast.limits import WITHIN, WaitLimit
from muster.forecast.recommend.scores import Score, front
from muster.forecast.recommend.search import SearchResult
from muster.forecast.recommend.variables import value_text
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration

REASONS = 5
"""Number of reasons for invalid candidates to list."""


def shown(result: SearchResult) -> list[Score]:
    """Returns the rows to choose from: the Pareto front and the present settings, by cost."""
    rows = front(result.scores)
    if all(score is not result.present for score in rows):
        rows.append(result.present)
    return sorted(rows, key=lambda score: score.objectives)


def mark(score: Score, result: SearchResult) -> str:
    """Returns whether a configuration is recommended, the closest to the goals, or the present one; empty
    otherwise."""
    best = score is result.best
    is_present = score is result.present
    if best:
        word = "recommended" if score.meets else "closest"
        return f"{word}, present" if is_present else word
    return "present" if is_present else ""


def front_tables(result: SearchResult, goals: Sequence[WaitLimit], currency: str) -> list[Table]:
    """Returns the Pareto front, whose cheaper rows miss goals by more or have longer waits, and the settings
    of its rows. Without a currency there are no prices."""
    rows = [
        (
            f"{number}",
            mark(score, result),
            f"{score.cost:,.0f}",
            *(goal.text(value) for goal, value in zip(goals, score.values, strict=True)),
            "yes" if score.meets else "no",
            f"{score.futures_met}/{score.futures}",
            duration(score.wait_s),
            f"{score.never:,.0f}" if score.never else "-",
        )
        for number, score in enumerate(shown(result), 1)
    ]
    limits = (goal.bound_text for goal in goals)
    columns = (
        "NO",
        "",
        f"{currency} A MONTH" if currency else "ACCELERATORS",
        *(goal.named for goal in goals),
        "GOALS MET",
        "FUTURES",
        "MEAN WAIT",
        "NEVER STARTED",
    )
    goal_row = ("", "goal", "", *limits, "", "", "", "")
    return [
        Table("Cost and waits (Pareto front)", columns, [goal_row, *rows], numbers=2),
        _settings_table(shown(result)),
    ]


def _settings_table(scores: Sequence[Score]) -> Table:
    targets = [variable.target for score in scores for variable in score.candidate.values]
    columns = tuple(dict.fromkeys(targets)) or ("",)
    rows = [
        (f"{number}", *(map(value_text, score.candidate.values.values())))
        if score.candidate.values
        else (f"{number}", *["present"] * len(columns))
        for number, score in enumerate(scores, 1)
    ]
    return Table("Settings", ("NO", *columns), rows, numbers=1)


def invalid_table(invalid: Mapping[str, int]) -> list[Table]:
    """Returns a table of the candidates that are invalid settings; no table if there are none."""
    if not invalid:
        return []
    ordered = sorted(invalid.items(), key=lambda item: (-item[1], item[0]))
    rows = [(f"{n:,}", reason) for reason, n in ordered[:REASONS]]
    if remaining := sum(n for _, n in ordered[REASONS:]):
        rows.append((f"{remaining:,}", "other reasons; --json has all"))
    return [Table("Rejected: invalid settings", ("CANDIDATES", "WHY"), rows, numbers=9)]


def summary(result: SearchResult, goals: Sequence[WaitLimit]) -> str:
    """Returns the answer as a sentence."""
    best = result.best
    if not best.meets:
        missed = ", ".join(
            f"{goal.named} is {goal.text(value)} (expected {goal.bound_text})"
            for goal, value in zip(goals, best.values, strict=True)
            if goal.is_exceeded_by(value)
        )
        starved = f"{best.starved:,.0f} jobs never start that start at present" if best.starved else ""
        reasons = "; ".join(part for part in (missed, starved) if part)
        return f"no candidate meets the goals; the closest is {best.candidate.changes}: {reasons}"
    if best is result.present:
        return "the present settings are recommended: no candidate that meets the goals costs less"
    return f"recommended: {best.candidate.changes}"


def document(
    name: str,
    result: SearchResult,
    goals: Sequence[WaitLimit],
    invalid: Mapping[str, int],
    currency: str,
) -> dict[str, Any]:
    """Returns the answer for programs. Values are waits in seconds, null for jobs that never start, or shares
    of late jobs."""
    on_front = {id(score) for score in front(result.scores)}
    return {
        "configuration": name,
        "goals_met": result.best.meets,
        "goals": [
            {
                "queue": goal.queue,
                "priority_class": goal.priority_class,
                "statistic": goal.statistic,
                "max_s": goal.max_s,
                "min_share": goal.min_share if goal.statistic == WITHIN else None,
            }
            for goal in goals
        ],
        "cost_unit": f"{currency} a month" if currency else "accelerators",
        "candidates": [
            {
                "settings": {variable.target: value for variable, value in score.candidate.values.items()},
                "cost": score.cost,
                "accelerators": dict(score.candidate.offered),
                "values": [None if value == inf else value for value in score.values],
                "violation": None if score.violation == inf else score.violation,
                "meets": score.meets,
                "futures": score.futures,
                "futures_met": score.futures_met,
                "mean_wait_s": score.wait_s,
                "never_started": score.never,
                "present": score is result.present,
                "recommended": score is result.best and score.meets,
                "pareto": id(score) in on_front,
            }
            for score in sorted(result.scores, key=lambda score: score.objectives)
        ],
        "screened": result.screened,
        "invalid": dict(sorted(invalid.items())),
    }
