"""Draws a recorded run of a scenario: one row per job, the milestones, and GPU usage against the quota."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox.scenarios.recording import Job, Recording
from sandbox.scenarios.timeline import Phase
from tools.pictures.canvas import SMALL, WIDTH, Canvas, text_width

LEFT, RIGHT, MARGIN = 216.0, 806.0, 20.0
LEGEND_Y, MILESTONES_Y, ROWS_Y = 30.0, 62.0, 88.0
ROW, BAR = 44.0, 24.0
CHART = 84.0
MARKER = 9.0
TICK_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120)
TICKS_MAX = 10
COLUMNS, LINE = 2, 22.0
# Phases that are drawn as bars, with the Workload conditions that they correspond to.
LEGEND = {
    Phase.WAITING: "waiting",
    Phase.PROVISIONING: "provisioning (QuotaReserved)",
    Phase.RUNNING: "running (Admitted)",
    Phase.PREEMPTED: "preempted (Evicted)",
}


def timeline(recording: Recording) -> str:
    """Returns the picture of a complete run as SVG."""
    return _Drawing(recording).svg()


class _Drawing:
    """Draws the parts of one picture, from top to bottom."""

    def __init__(self, recording: Recording) -> None:
        self._run = recording
        self._rows_end = ROWS_Y + ROW * len(recording.jobs)
        self._chart_end = self._rows_end + 18 + CHART
        self._list_y = self._chart_end + 62
        lines = -(-len(recording.milestones) // COLUMNS)
        title = f"Scenario {recording.scenario}, recorded in the sandbox"
        self._canvas = Canvas(title, _description(recording), self._list_y + LINE * lines - 4)

    def svg(self) -> str:
        """Draws all parts; returns the picture as SVG."""
        self._legend()
        self._time_axis()
        self._chart()
        self._milestones()
        for number, job in enumerate(self._run.jobs):
            self._job(job, ROWS_Y + ROW * number)
        return self._canvas.svg()

    def _x(self, seconds: float) -> float:
        return LEFT + (RIGHT - LEFT) * seconds / self._run.seconds

    def _legend(self) -> None:
        self._canvas.text(f"Scenario {self._run.scenario}", MARGIN, LEGEND_Y, style="text strong", size=14)
        x = LEFT
        for phase, meaning in LEGEND.items():
            self._canvas.box(phase.value, x, LEGEND_Y - 10, 12, 12, round=2)
            self._canvas.text(meaning, x + 18, LEGEND_Y, size=SMALL)
            x += 18 + text_width(meaning, SMALL) + 10

    def _job(self, job: Job, y: float) -> None:
        self._canvas.text(job.name, MARGIN, y + 15, style="text strong")
        self._canvas.text(f"{job.priority}, {job.gpus} GPUs", MARGIN, y + 32, style="note", size=SMALL)
        for began, ended, phase in spans(job, self._run.seconds):
            width = self._x(ended) - self._x(began)
            says = f"{job.name}: {phase.value} from {began:.1f} s to {ended:.1f} s"
            self._canvas.box(phase.value, self._x(began), y + 8, width, BAR, says=says)

    def _milestones(self) -> None:
        """Draws a number at the time of each milestone, without overlaps, and lists the milestones below."""
        times = [(m.title, m.at) for m in self._run.milestones if m.at is not None]
        places = spread([self._x(at) for _, at in times], 2 * MARKER + 3, LEFT, RIGHT)
        column = (WIDTH - 2 * MARGIN) / COLUMNS
        lines = -(-len(times) // COLUMNS)
        for number, ((title, at), x) in enumerate(zip(times, places, strict=True), start=1):
            bends = [(x, MILESTONES_Y + MARKER), (self._x(at), ROWS_Y), (self._x(at), self._chart_end)]
            self._canvas.lines("guide", bends)
            self._number(number, x, MILESTONES_Y)
            x, y = MARGIN + column * ((number - 1) // lines), self._list_y + LINE * ((number - 1) % lines)
            self._number(number, x + MARKER, y - 4)
            self._canvas.text(title, x + 26, y)
            self._canvas.text(f"{at:.1f} s", x + column - 30, y, style="note", anchor="end")

    def _number(self, number: int, x: float, y: float) -> None:
        self._canvas.circle("text", x, y, MARKER)
        self._canvas.text(str(number), x, y + 4, style="page strong", size=SMALL, anchor="middle")

    def _chart(self) -> None:
        """Draws GPUs of scheduled pods as an area, and reserved GPUs and the quota as lines."""
        changes = self._run.gpus
        most = max([1, *(max(g.on_nodes, g.reserved, g.quota) for g in changes)])
        top, scale = self._rows_end + 18, CHART / (most * 1.15)

        def steps(values: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
            ends = [*(at for at, _ in values[1:]), self._run.seconds]
            return [
                (self._x(at), self._chart_end - value * scale)
                for (begin, value), end in zip(values, ends, strict=True)
                for at in (begin, end)
            ]

        used = steps([(g.at, g.on_nodes) for g in changes])
        base = [(used[-1][0], self._chart_end), (used[0][0], self._chart_end)]
        self._canvas.area("on-nodes", [*used, *base])
        self._canvas.text("GPUs", MARGIN, top + 14, style="text strong")
        self._key("on-nodes", "of pods on nodes", top + 32)
        for value in sorted({0, most}):
            self._canvas.text(
                str(value),
                LEFT - 8,
                self._chart_end - value * scale + 4,
                style="note",
                size=SMALL,
                anchor="end",
            )
        if self._run.queue:
            with_quota = [g for g in changes if g.quota]
            self._canvas.lines("reserved", steps([(g.at, g.reserved) for g in changes]))
            quota = [(0.0, with_quota[0].quota), *((g.at, g.quota) for g in with_quota)]
            self._canvas.lines("quota", steps(quota))
            self._key("reserved", f"reserved in {self._run.queue}", top + 50)
            self._key("quota", "its quota", top + 68)

    def _key(self, style: str, meaning: str, y: float) -> None:
        if style == "on-nodes":
            self._canvas.box(style, MARGIN, y - 10, 18, 12)
        else:
            self._canvas.lines(style, [(MARGIN, y - 4), (MARGIN + 18, y - 4)])
        self._canvas.text(meaning, MARGIN + 24, y, style="note", size=SMALL)

    def _time_axis(self) -> None:
        y = self._chart_end
        self._canvas.lines("guide", [(LEFT, y), (RIGHT, y)])
        for seconds in ticks(self._run.seconds):
            self._canvas.lines("guide", [(self._x(seconds), y), (self._x(seconds), y + 5)])
            self._canvas.text(
                f"{seconds} s", self._x(seconds), y + 19, style="note", size=SMALL, anchor="middle"
            )


def spans(job: Job, until: float) -> Iterator[tuple[float, float, Phase]]:
    """Yields begin, end and phase of each bar in the row of a job."""
    ends = [*(at for at, _ in job.phases[1:]), until]
    for (began, phase), ended in zip(job.phases, ends, strict=True):
        if phase in LEGEND:
            yield began, ended, phase


def ticks(until: float) -> range:
    """Returns the seconds of the labels on the time axis."""
    apart = next((n for n in TICK_SECONDS if until / n <= TICKS_MAX), TICK_SECONDS[-1])
    return range(0, int(until) + 1, apart)


def spread(places: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Returns ascending positions near `places`, at least `apart`, between `low` and `high`."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + apart if moved else low))
    for index in reversed(range(len(moved))):
        moved[index] = min(moved[index], moved[index + 1] - apart if index + 1 < len(moved) else high)
    return moved


def _description(recording: Recording) -> str:
    milestones = [f"{m.at:.1f} s: {m.title}" for m in recording.milestones if m.at is not None]
    return "; ".join(milestones)
