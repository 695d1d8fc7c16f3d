"""Forecasts and plans as tables with headings and rows, for terminals and Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.report.text import change, duration, hours, named, share
from muster.forecast.results.comparison import Comparison, Difference
from muster.forecast.results.effects import Effects
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.recorded import RecordedWaits
from muster.forecast.results.usage import Usage, usage
from muster.forecast.results.waits import (
    JobGroup,
    Waits,
    band,
    cancelled,
    in_order,
    mean_of,
    never_started,
    waits_by_group,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int = 3  # columns from this index on are right-aligned
    wraps: bool = False  # cells of all columns but the first may wrap


SHOWN = ("mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "max_s")


def forecast_tables(outcomes: Sequence[SimulationOutcome]) -> list[Table]:
    """Returns waits, flavors and teams. Values are means over the futures."""
    waits, used = [waits_by_group(o) for o in outcomes], [usage(o) for o in outcomes]
    return [_waits(waits), _flavors(used), _teams(used)]


def recorded_tables(recorded: Sequence[RecordedWaits]) -> list[Table]:
    """Returns the waits recorded in the trace next to the forecast; no table if there are none."""
    rows = [
        (
            *named(waits.group),
            f"{waits.jobs:,}",
            duration(waits.recorded_mean_s),
            duration(waits.forecast_mean_s),
            change(waits.forecast_mean_s - waits.recorded_mean_s),
            duration(waits.recorded_p90_s),
            duration(waits.forecast_p90_s),
            change(waits.forecast_p90_s - waits.recorded_p90_s),
        )
        for waits in recorded
    ]
    heads = ("MEAN", "FORECAST", "OFF BY", "P90", "FORECAST", "OFF BY")
    title = "Recorded waits and their forecast"
    return [Table(title, ("QUEUE", "CLASS", "SIZE", "JOBS", *heads), rows)] if rows else []


def totals(outcomes: Sequence[SimulationOutcome]) -> str:
    """Returns a one-sentence summary."""
    used = [usage(outcome) for outcome in outcomes]
    makespan_s = fmean(future.makespan_ms for future in used) / 1000
    preemptions, lost = (
        fmean(future.preemptions for future in used),
        fmean(future.lost_hours for future in used),
    )
    stopped = fmean(future.failures + future.stock_outs for future in used)
    jobs = fmean(len(outcome.jobs) for outcome in outcomes)
    text = f"{jobs:,.0f} jobs in {duration(makespan_s)}; {preemptions:,.0f} preemptions"
    if lost:
        text += f"; {hours(lost)} accelerator-hours lost"
    if stopped:
        text += f"; {stopped:,.0f} failures and stock-outs"
    deactivated = fmean(future.deactivated for future in used)
    if deactivated:
        text += f"; {deactivated:,.1f} jobs deactivated after their last retry"
    if before_start := fmean(cancelled(outcome) for outcome in outcomes):
        text += f"; {before_start:,.0f} cancelled before their start"
    never = fmean(never_started(outcome) for outcome in outcomes)
    return f"{text}; {never:,.0f} never start" if never else text


def _waits(futures: Sequence[Mapping[JobGroup, Waits]]) -> Table:
    groups = in_order({group for waits in futures for group in waits})
    rows = []
    for group in groups:
        p90 = sorted(waits[group].p90_s for waits in futures if group in waits)
        low, high = band(p90)
        statistics = (mean_of(futures, group, name) for name in SHOWN)
        count, never = (round(mean_of(futures, group, name)) for name in ("count", "never"))
        cells = [duration(value) for value in statistics]
        cells.insert(3, "" if len(p90) == 1 else f"{duration(low)} to {duration(high)}")
        rows.append((*named(group), f"{count + never:,}", *cells, f"{never:,}" if never else "-"))
    title = "Waits from submission until the gang runs"
    headings = ("MEAN", "P50", "P90", "RANGE", "P95", "P99", "MAX")
    columns = ("QUEUE", "CLASS", "SIZE", "JOBS", *headings, "NEVER STARTED")
    return Table(title, columns, rows)


def _flavors(futures: Sequence[Usage]) -> Table:
    rows = []
    for name in futures[0].flavors:
        uses = [future.flavors[name] for future in futures if name in future.flavors]
        offered, held = fmean(u.offered for u in uses), fmean(u.held for u in uses)
        ran = fmean(u.ran for u in uses)
        used = share(held / offered) if offered else "-"
        admitted = fmean(future.attempts.get(name, 0) for future in futures)
        rows.append((name, hours(offered), hours(held), used, hours(held - ran), f"{admitted:,.0f}"))
    columns = ("FLAVOR", "QUOTA", "RESERVED", "UTILISATION", "IDLE", "ADMISSIONS")
    return Table("Flavors, in accelerator-hours", columns, rows, numbers=1)


def _teams(futures: Sequence[Usage]) -> Table:
    keys = sorted({key for future in futures for key in future.hours_by_team})
    rows = []
    for queue, flavor in keys:
        amount = fmean(future.hours_by_team.get((queue, flavor), 0.0) for future in futures)
        rows.append((queue, flavor, hours(amount)))
    return Table("Teams", ("QUEUE", "FLAVOR", "ACCELERATOR-HOURS"), rows, numbers=2)


def plan_tables(comparison: Comparison, costs: Mapping[JobGroup, str] | None = None) -> list[Table]:
    """Returns the differences in mean and p90 of the groups with an effect, the largest effect first, and the
    jobs whose wait grows. `costs` has the change of a month's cost of each group; None without prices."""
    effects = Effects(comparison)
    groups = effects.groups
    shown = effects.changed_rows(groups)
    rows = [
        (
            *_difference(group, effects, comparison),
            _never(comparison.never.get(group)),
            *(() if costs is None else (costs[group],)),
        )
        for group in shown
    ]
    columns = (
        "QUEUE",
        "CLASS",
        "SIZE",
        "MEAN",
        "AFTER",
        "CHANGE",
        "P90",
        "AFTER",
        "CHANGE",
        "BAND",
        "AGREE",
        "NEVER START",
        *(() if costs is None else ("COST A MONTH",)),
    )
    worst = [
        (
            sufferer.name,
            sufferer.queue,
            sufferer.priority_class,
            f"{sufferer.accelerators}",
            duration(sufferer.base_s),
            "never" if sufferer.changed_s is None else duration(sufferer.changed_s),
            "" if sufferer.changed_s is None else change(sufferer.changed_s - sufferer.base_s),
        )
        for sufferer in comparison.sufferers
    ]
    heading = ("JOB", "QUEUE", "CLASS", "ACCELERATORS", "WAIT", "AFTER", "CHANGE")
    title = f"Waits before and after{_folded(len(groups) - len(shown))}"
    return [Table(title, columns, rows), Table("Jobs with longer waits", heading, worst)]


def _folded(count: int) -> str:
    """Returns how many groups are not shown; empty if all are."""
    return f" ({count} {'group' if count == 1 else 'groups'} without a change not shown)" if count else ""


def _difference(group: JobGroup, effects: Effects, comparison: Comparison) -> tuple[str, ...]:
    differences = effects.differences.get(group)
    if not differences:  # none of its jobs starts in both configurations
        sides = (comparison.waits.get((group, name), (None, None)) for name in ("mean_s", "p90_s"))
        cells = [cell for pair in sides for cell in (*map(_duration, pair), "-")]
        return (*named(group), *cells, "-", "-")
    mean, p90 = differences["mean_s"], differences["p90_s"]
    cells = [cell for difference in (mean, p90) for cell in _cells(difference)]
    return (
        *named(group),
        *cells,
        f"{change(p90.low_s)} to {change(p90.high_s)}",
        f"{p90.agree}/{p90.futures}",
    )


def _duration(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds)


def _never(counts: tuple[float, float] | None) -> str:
    return "-" if counts is None else f"{counts[0]:,.0f} to {counts[1]:,.0f}"


def _cells(difference: Difference) -> tuple[str, str, str]:
    arrow = "" if not round(difference.change_s) else " ▲" if difference.change_s > 0 else " ▼"
    return duration(difference.base_s), duration(difference.changed_s), change(difference.change_s) + arrow
