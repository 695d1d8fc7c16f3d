"""Converts sides to the page's columns: a table of jobs, and the queues, attempts and ranges of each side.

Jobs of both sides share one table. A column of the second side is stored as its difference from the first
side's, and the run time of an attempt as its difference from the job's previous attempt: most jobs are alike
in both sides and run equally long, and zeros compress to almost nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import sub

from muster.forecast.page.packing import Columns, add_names, deltas, packed
from muster.forecast.page.side import ForecastSide
from muster.forecast.page.spread import USAGE_SCALE, usage_range
from muster.forecast.page.wait_rows import queue_names
from muster.forecast.results.outcome import Attempts, SimulatedJob, SimulationOutcome

SECOND_MS = 1_000
TICKS_MIN = 3_600


class JobTable:
    """The drawn jobs of all sides, in order of submission, and the rows of each side's jobs.

    Jobs with the same number in the trace are the same job in both sides."""

    def __init__(self, outcomes: Sequence[SimulationOutcome]) -> None:
        by_number = {job.number: job for outcome in outcomes for job in outcome.jobs}
        self.jobs = sorted(by_number.values(), key=lambda job: (job.submit_ms, job.number))
        row_of = {job.number: row for row, job in enumerate(self.jobs)}
        self.rows = [[row_of[job.number] for job in outcome.jobs] for outcome in outcomes]

    def column(self, side: int, values: Iterable[int]) -> list[int]:
        """Returns one value per row: `values` in the order of the side's jobs, and 0 in all other rows."""
        column = [0] * len(self.jobs)
        for row, value in zip(self.rows[side], values, strict=True):
            column[row] = value
        return column


def page_data(sides: Sequence[ForecastSide], table: JobTable) -> str:
    """Returns the data of the page (see packing.py)."""
    end_ms = max(side.drawn.end_ms for side in sides)
    tick_ms = SECOND_MS if end_ms >= TICKS_MIN * SECOND_MS else 1
    queues = queue_names(sides)
    classes = sorted({job.priority_class for side in sides for job in side.drawn.jobs})
    columns = Columns()
    templates = add_names(columns, [job.name for job in table.jobs])
    columns.add("number", deltas(job.number for job in table.jobs))
    columns.add("submit", deltas(job.submit_ms // tick_ms for job in table.jobs))
    # Ticks from the submission until the cancellation, plus one; 0: not cancelled.
    cancelled = (-1 if job.cancelled_ms is None else job.cancelled_ms // tick_ms for job in table.jobs)
    columns.add("cancelled", (after + 1 for after in cancelled))
    previous: list[list[int]] = [[0] * len(table.jobs) for _ in range(5)]
    runs: dict[int, int] = {}
    for number, side in enumerate(sides):
        attempts = _Attempts(side.drawn.attempts, table.rows[number], tick_ms)
        job_columns = [*_job_columns(side.drawn.jobs, number, table, queues, classes), attempts.counts(table)]
        for name, before, column in zip(JOB_COLUMNS, previous, job_columns, strict=True):
            columns.add(f"{number}.{name}", map(sub, column, before))
        previous = job_columns
        runs = attempts.add_to(columns, number, table, tick_ms, runs)
        _add_ranges(columns, number, side, queues, end_ms)
    header = {
        "tick_ms": tick_ms,
        "end": end_ms // tick_ms,
        "usage_scale": USAGE_SCALE,
        "templates": templates,
        "queues": queues,
        "classes": classes,
        "sides": [_side(side, queues) for side in sides],
    }
    return packed(header, columns)


JOB_COLUMNS = ("queue", "class", "pods", "accelerators", "attempts")


def _job_columns(
    jobs: Sequence[SimulatedJob], side: int, table: JobTable, queues: Sequence[str], classes: Sequence[str]
) -> list[list[int]]:
    queue_of = {name: index for index, name in enumerate(queues, start=1)}  # 0: the side lacks the job
    class_of = {name: index for index, name in enumerate(classes)}
    return [
        table.column(side, (queue_of[job.queue] for job in jobs)),
        table.column(side, (class_of[job.priority_class] for job in jobs)),
        table.column(side, (job.pods for job in jobs)),
        table.column(side, (job.accelerators for job in jobs)),
    ]


class _Attempts:
    """Attempts ordered by the row of their job, then by time."""

    def __init__(self, attempts: Attempts, rows: Sequence[int], tick_ms: int) -> None:
        self.source = attempts
        self.row = [rows[job] for job in attempts.job]
        reserved = attempts.reserved_ms
        self.order = sorted(range(len(self.row)), key=lambda index: (self.row[index], reserved[index]))

    def counts(self, table: JobTable) -> list[int]:
        counts = Counter(self.row)
        return [counts[row] for row in range(len(table.jobs))]

    def add_to(
        self, columns: Columns, side: int, table: JobTable, tick_ms: int, runs_before: dict[int, int]
    ) -> dict[int, int]:
        """Adds the attempts of a side; returns the run time of each row's last attempt, in ticks."""
        waited, starting, ran = [], [], []
        last_runs: dict[int, int] = {}
        at_row = ended = -1
        for index in self.order:
            row = self.row[index]
            if row != at_row:
                at_row, ended = row, table.jobs[row].submit_ms // tick_ms
            reserved = self.source.reserved_ms[index] // tick_ms
            started_ms = self.source.started_ms[index]
            started = reserved if started_ms < 0 else started_ms // tick_ms
            waited.append(reserved - ended)
            starting.append(-1 if started_ms < 0 else started - reserved)
            ended = self.source.ended_ms[index] // tick_ms
            ran.append(ended - started - runs_before.get(row, 0))
            last_runs[row] = ended - started
        columns.add(f"{side}.waited", waited)
        columns.add(f"{side}.starting", starting)
        columns.add(f"{side}.ran", ran)
        columns.add(f"{side}.end", (self.source.end[index] for index in self.order))
        return last_runs


def _add_ranges(
    columns: Columns, number: int, side: ForecastSide, queues: Sequence[str], end_ms: int
) -> None:
    if len(side.outcomes) < 2:
        return
    for index, (low, high) in enumerate(usage_range(side.outcomes, queues, end_ms)):
        columns.add(f"{number}.low.{index}", deltas(low))
        columns.add(f"{number}.high.{index}", deltas(high))


def _side(side: ForecastSide, queues: Sequence[str]) -> dict[str, object]:
    declared = {queue.name: queue for queue in side.drawn.queues}
    return {
        "name": side.name,
        "nominal": [sum(declared[name].nominal.values()) if name in declared else None for name in queues],
        "flavors": [declared[name].nominal if name in declared else {} for name in queues],
        "cohorts": [declared[name].cohort if name in declared else "" for name in queues],
        "futures": len(side.outcomes),
    }
