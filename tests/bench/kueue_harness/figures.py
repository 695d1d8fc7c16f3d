"""Figures of both engines, medians of their runs, and the rows of their table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.kueue_harness.measured import Run
from tests.bench.kueue_harness.targets import API_CPU, CPU, RSS, TARGETS, USAGE, WALL, Target, wait

HEADS = ("figure", "Muster", "Kueue", "ratio", "target")
SHARE, COUNT, EACH = "%", "", "a workload"
"""Units other than seconds and MB."""
WRITES_MIN = 0.02
"""Kinds that are written less often than this for each workload have no row."""


@dataclass(frozen=True)
class Figure:
    """One figure of both engines."""

    what: str
    unit: str
    muster: float
    kueue: float
    target: Target | None = None

    @property
    def most(self) -> float:
        return max(self.muster, self.kueue)

    @property
    def met(self) -> bool:
        return self.target is None or self.target.met(self.muster, self.kueue)

    def row(self) -> tuple[str, ...]:
        missed = "" if self.met else " !"
        ratio = f"{self.muster / self.kueue:.2f}" if self.kueue else ""
        target = "" if self.target is None else str(self.target)
        return self.what, self.text(self.muster) + missed, self.text(self.kueue), ratio, target

    def text(self, value: float) -> str:
        """Returns a value with its unit."""
        if self.unit == SHARE:
            return f"{value:.1%}"
        digits = 0 if self.unit == COUNT or value >= 100 else 1 if value >= 10 else 2
        return f"{value:,.{digits}f} {self.unit}".rstrip()


def figures(config: str, muster: Sequence[Run], kueue: Sequence[Run]) -> list[Figure]:
    """Returns the figures of a configuration, in the order of its table."""
    rows_by_name: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for side, runs in enumerate((muster, kueue)):
        for run in runs:
            for what, unit, value in values(run):
                rows_by_name.setdefault((what, unit), ([], []))[side].append(value)
    class_figures = [
        Figure(what, unit, _median(ours, muster), _median(theirs, kueue), TARGETS[config].get(what))
        for (what, unit), (ours, theirs) in rows_by_name.items()
    ]
    writes = [figure for figure in class_figures if figure.unit == EACH and figure.most >= WRITES_MIN]
    others = [figure for figure in class_figures if figure.unit != EACH]
    return others + sorted(writes, key=lambda figure: -figure.most)


def _median(values: Sequence[float], runs: Sequence[Run]) -> float:
    """Returns the median; what an engine did not write in a run is missing there."""
    return median([*values, *[0.0] * (len(runs) - len(values))])


def values(run: Run) -> Iterator[tuple[str, str, float]]:
    """Yields every figure of one run: its name, unit and value."""
    yield WALL, "s", run.cost.wall_s
    for name, priority_class in run.classes.items():
        yield wait(name), "s", priority_class.to_admission_s
    for name, priority_class in run.classes.items():
        yield f"mean time to finish, {name}", "s", priority_class.to_finish_s
    yield USAGE, SHARE, run.usage
    for name, priority_class in run.classes.items():
        yield f"evictions, {name}", COUNT, priority_class.evictions
    if run.dropped_events:
        yield "changes that the runner dropped", COUNT, run.dropped_events
    yield CPU, "s", run.cost.cpu_s
    yield RSS, "MB", run.cost.rss_mb
    yield API_CPU, "ms a workload", 1000 * run.cost.api_cpu_s / run.workloads
    yield "etcd CPU", "ms a workload", 1000 * run.cost.etcd_cpu_s / run.workloads
    yield "writes", EACH, sum(run.cost.writes.values()) / run.workloads
    for kind, count in run.cost.writes.items():
        yield f"  {kind}", EACH, count / run.workloads
