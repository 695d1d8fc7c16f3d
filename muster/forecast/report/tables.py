"""Forecasts and plans as tables: headings and rows, for terminals and Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from muster.forecast.report.text import change, duration, hours, named, share
from muster.forecast.results.comparison import Comparison, Difference
from muster.forecast.results.outcome import Outcome
from muster.forecast.results.recorded import RecordedWaits
from muster.forecast.results.usage import Usage, usage
from muster.forecast.results.waits import Group, Waits, in_order, mean_of, waits_by_group, waits_ms


@dataclass(frozen=True, slots=True)
class Table:
    """Columns from `numbers` on are aligned right. `wraps`: all but the first may have several lines."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int = 3
    wraps: bool = False


AFTER = ("AFTER", "CHANGE")
SHOWN = ("mean_s", "p50_s", "p90_s", "p99_s", "max_s")


def forecast_tables(outcomes: Sequence[Outcome], prices: Mapping[str, float]) -> list[Table]:
    """Returns waits, flavors and teams; values are means over the futures."""
    waits, used = [waits_by_group(one) for one in outcomes], [usage(one) for one in outcomes]
    return [_waits(waits), _flavors(used), _teams(used, prices)]


def recorded_tables(found: Sequence[RecordedWaits]) -> list[Table]:
    """Returns the waits that the trace recorded beside the forecast's, unless it has none."""
    rows = [
        (
            *named(one.group),
            f"{one.jobs:,}",
            duration(one.recorded_mean_s),
            duration(one.forecast_mean_s),
            change(one.forecast_mean_s - one.recorded_mean_s),
            duration(one.recorded_p90_s),
            duration(one.forecast_p90_s),
            change(one.forecast_p90_s - one.recorded_p90_s),
        )
        for one in found
    ]
    heads = ("MEAN", "FORECAST", "OFF BY", "P90", "FORECAST", "OFF BY")
    title = "Waits that the trace recorded, and their forecast"
    return [Table(title, ("QUEUE", "CLASS", "SIZE", "JOBS", *heads), rows)] if rows else []


def totals(outcomes: Sequence[Outcome]) -> str:
    """Returns one sentence about the whole."""
    used = [usage(outcome) for outcome in outcomes]
    makespan_s = fmean(one.makespan_ms for one in used) / 1000
    preemptions, lost = fmean(one.preemptions for one in used), fmean(one.lost_hours for one in used)
    stopped = fmean(one.failures + one.stock_outs for one in used)
    text = f"{len(outcomes[0].jobs):,} jobs in {duration(makespan_s)}; {preemptions:,.0f} preemptions"
    if lost:
        text += f", which lost {hours(lost)} accelerator-hours"
    if stopped:
        text += f"; {stopped:,.0f} failures and stock-outs"
    deactivated = fmean(one.deactivated for one in used)
    if deactivated:
        text += f"; {deactivated:,.1f} jobs deactivated after their last retry"
    never = fmean(waits_ms(one).count(None) for one in outcomes)
    return f"{text}; {never:,.0f} never start" if never else text


def _waits(futures: Sequence[Mapping[Group, Waits]]) -> Table:
    groups = in_order({group for waits in futures for group in waits})
    rows = []
    for group in groups:
        p90 = sorted(waits[group].p90_s for waits in futures if group in waits)
        band = (p90[round(0.1 * (len(p90) - 1))], p90[round(0.9 * (len(p90) - 1))])
        statistics = (
            mean_of(futures, group, name) for name in ("mean_s", "p50_s", "p90_s", "p99_s", "max_s")
        )
        count, never = (round(mean_of(futures, group, name)) for name in ("count", "never"))
        cells = [duration(value) for value in statistics]
        cells.insert(3, "" if len(p90) == 1 else f"{duration(band[0])} to {duration(band[1])}")
        rows.append((*named(group), f"{count + never:,}", *cells, f"{never:,}" if never else "-"))
    title = "Waits from submission until the gang runs"
    columns = ("QUEUE", "CLASS", "SIZE", "JOBS", "MEAN", "P50", "P90", "RANGE", "P99", "MAX", "NEVER STARTED")
    return Table(title, columns, rows)


def _flavors(futures: Sequence[Usage]) -> Table:
    rows = []
    for name in futures[0].flavors:
        uses = [one.flavors[name] for one in futures if name in one.flavors]
        offered, held = fmean(u.offered for u in uses), fmean(u.held for u in uses)
        ran = fmean(u.ran for u in uses)
        used = share(held / offered) if offered else "-"
        admitted = fmean(one.attempts.get(name, 0) for one in futures)
        rows.append((name, hours(offered), hours(held), used, hours(held - ran), f"{admitted:,.0f}"))
    columns = ("FLAVOR", "QUOTA", "RESERVED", "UTILISATION", "OF THAT IDLE", "ADMISSIONS")
    return Table("Flavors, in accelerator-hours", columns, rows, numbers=1)


def _teams(futures: Sequence[Usage], prices: Mapping[str, float]) -> Table:
    keys = sorted({key for one in futures for key in one.hours_by_team})
    rows = []
    for queue, flavor in keys:
        amount = fmean(one.hours_by_team.get((queue, flavor), 0.0) for one in futures)
        cost = (f"{amount * prices[flavor]:,.0f}" if flavor in prices else "-",) if prices else ()
        rows.append((queue, flavor, hours(amount), *cost))
    columns = ("QUEUE", "FLAVOR", "ACCELERATOR-HOURS", *(("COST",) if prices else ()))
    return Table("Teams", columns, rows, numbers=2)


def plan_tables(comparison: Comparison) -> list[Table]:
    """Returns the differences of mean and p90 of each group, and the jobs that wait longer."""
    by_group: dict[Group, dict[str, Difference]] = {group: {} for group in comparison.never}
    for found in comparison.differences:
        by_group.setdefault(found.group, {})[found.statistic] = found
    never = comparison.never
    rows = [(*_difference(group, by_group[group]), _never(never.get(group))) for group in in_order(by_group)]
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
    )
    worst = [
        (
            one.name,
            one.queue,
            one.priority_class,
            f"{one.accelerators}",
            duration(one.base_s),
            "never" if one.changed_s is None else duration(one.changed_s),
            "" if one.changed_s is None else change(one.changed_s - one.base_s),
        )
        for one in comparison.sufferers
    ]
    heading = ("JOB", "QUEUE", "CLASS", "ACCELERATORS", "WAIT", "AFTER", "CHANGE")
    return [Table("Waits before and after", columns, rows), Table("Jobs that wait longer", heading, worst)]


def _difference(group: Group, found: Mapping[str, Difference]) -> tuple[str, ...]:
    if not found:  # no job of it starts in both
        return (*named(group), *"--------")
    mean, p90 = found["mean_s"], found["p90_s"]
    cells = [cell for one in (mean, p90) for cell in _cells(one)]
    return (
        *named(group),
        *cells,
        f"{change(p90.low_s)} to {change(p90.high_s)}",
        f"{p90.agree}/{p90.futures}",
    )


def _never(counts: tuple[float, float] | None) -> str:
    return "-" if counts is None else f"{counts[0]:,.0f} to {counts[1]:,.0f}"


def _cells(found: Difference) -> tuple[str, str, str]:
    arrow = "" if not round(found.change_s) else " ▲" if found.change_s > 0 else " ▼"
    return duration(found.base_s), duration(found.changed_s), change(found.change_s) + arrow
