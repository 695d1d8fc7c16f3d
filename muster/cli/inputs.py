"""Inputs of forecasts on the command line: configuration, trace, assumptions, seeds."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

import click

from muster.admission.engine import engine
from muster.cli.configurations import SimulatedConfiguration
from muster.cli.paths import InputPath, OutputPath
from muster.cli.verb import InputError, options, parsed
from muster.files.reading import read_text
from muster.files.writing import check_writable
from muster.forecast.assumptions import Assumptions, check
from muster.forecast.futures import SEEDS, SimulationInputs
from muster.forecast.learning.trace_assumptions import trace_assumptions
from muster.forecast.placement import Mapped, Placement, missing_queues, place
from muster.forecast.report.assumed import PlacedTrace
from muster.forecast.supply_advice import EXPECTED as ADVICE_EXPECTED
from muster.forecast.supply_advice import Advice, AdviceError, advice, combined
from muster.forecast.traces.cancellations import Cancellations, treated
from muster.forecast.traces.csv_mapping import from_text
from muster.forecast.traces.cut import cut
from muster.forecast.traces.read import FORMATS, Loaded, ReadOptions, read
from muster.forecast.traces.trace import Trace

DAY_MS = 86_400_000
SLOW_S = 30.0
"""Duration of simulations from which on a message recommends to compile the admission core."""


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """The options that forecasts share, in the order of `forecast_options`."""

    trace: str | None
    format: str | None
    columns: str | None
    map: Sequence[tuple[str, str]]
    queue: str
    cancelled: str
    configuration: str
    since_day: float
    days: float | None
    seeds: int
    assume: Sequence[tuple[str, str]]
    nodes: Path | None
    advice: Sequence[Path]
    html: Path | None
    lists_assumptions: bool


def pair(text: str) -> tuple[str, str]:
    """Parses NAME=VALUE. Raises: ValueError."""
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise ValueError(f"{text!r}; expected NAME=VALUE")
    return name, value


PAIR = parsed(pair)


def distinct(
    _context: click.Context, _option: click.Parameter, pairs: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Checks that no NAME of a repeatable option is given twice: the last value would win without a word.
    Raises: click.BadParameter."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            problem = f"{name!r} is given twice, as {values[name]!r} and as {value!r}"
            raise click.BadParameter(f"{problem}; expected it once")
    return pairs


seeds_option = click.option(
    "--seeds", type=click.IntRange(min=1), default=SEEDS, metavar="N", help="number of futures to simulate"
)
assume_option = click.option(
    "--assume",
    metavar="NAME=VALUE",
    multiple=True,
    type=PAIR,
    callback=distinct,
    help="replace a default assumption; `muster forecast --assumptions` lists them",
)
forecast_options = options(
    "opts",
    ForecastOptions,
    click.option(
        "--trace", metavar="FILE", type=InputPath(str), help="jobs to replay (default: the stack's)"
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="format of the trace (default: detected)",
    ),
    click.option(
        "--columns",
        metavar="A=B,...",
        help="columns of a CSV trace for submit, run, queue, ...; or a preset, such as openb",
    ),
    click.option(
        "--map",
        metavar="NAME=QUEUE",
        multiple=True,
        type=PAIR,
        callback=distinct,
        help="map a queue or user of the trace to a ClusterQueue or namespace/LocalQueue; repeatable",
    ),
    click.option(
        "--queue",
        metavar="QUEUE",
        default="",
        show_default=False,
        help="queue of jobs that no other rule places",
    ),
    click.option(
        "--cancelled",
        type=click.Choice([treatment.value for treatment in Cancellations]),
        default=Cancellations.LEAVE.value,
        help="jobs that were cancelled before they started leave the queue after the recorded time, are "
        "skipped, or run for a drawn time",
    ),
    click.option(
        "--configuration",
        metavar="JSON",
        default="{}",
        show_default=False,
        help='with --queues or --cluster: configuration of the controller, such as {"fairSharing": {}}',
    ),
    click.option("--since-day", type=float, default=0, metavar="N", help="skip the first N days"),
    click.option("--days", type=float, metavar="N", help="replay the jobs submitted within N days"),
    seeds_option,
    assume_option,
    click.option(
        "--nodes",
        metavar="PATH",
        type=InputPath(),
        help="nodes on which gangs of flavors with a topology are placed, as `kubectl get nodes -o yaml` "
        "prints them (default: among the manifests, of the cluster, or assumed from the stack's pools)",
    ),
    click.option(
        "--advice",
        metavar="FILE",
        type=InputPath(),
        multiple=True,
        help="a response of Google Cloud's Compute Advice API (JSON), which replaces default assumptions "
        "about supply; repeatable",
    ),
    click.option("--html", metavar="FILE", type=OutputPath(), help="also write a page with charts"),
    click.option(
        "--assumptions",
        "lists_assumptions",
        is_flag=True,
        help="list all assumptions with their sources",
    ),
)


def read_trace(opts: ForecastOptions, path: str | None) -> Loaded:
    """Reads the trace, by default the stack's at `path`. Raises: InputError, TraceError."""
    path = path if opts.trace is None else opts.trace
    if not path:
        raise InputError("no trace: give --trace FILE, or set muster:forecast.trace in the stack file")
    columns = from_text(opts.columns) if opts.columns else None
    loaded = read(Path(path), opts.format or "", ReadOptions(csv=columns))
    since_ms = round(opts.since_day * DAY_MS)
    until_ms = None if opts.days is None else since_ms + round(opts.days * DAY_MS)
    trace = loaded.trace
    if since_ms or until_ms is not None:
        trace = cut(trace, since_ms, until_ms)
    if not trace.jobs:
        raise InputError(f"{path}: no job is submitted in the days that --since-day and --days select")
    remaining = treated(trace, Cancellations(opts.cancelled))
    if not remaining.jobs:
        raise InputError(
            f"{path}: no job is left: all {len(trace.jobs):,} were cancelled before they started, and "
            "--cancelled skip omits them"
        )
    return replace(loaded, trace=remaining)


def scenario(
    opts: ForecastOptions,
    side: SimulatedConfiguration,
    trace: Trace,
    replaced: Sequence[tuple[str, str]] = (),
) -> PlacedTrace:
    """Places the jobs of a trace in the queues of a configuration; `replaced` replaces values of --map.
    Raises: InputError."""
    placement = placed(opts, side, trace, replaced)
    if not placement.jobs:
        problems = "; ".join(f"{problem} ({n} jobs)" for problem, n in list(placement.left_out.items())[:3])
        queues = ", ".join(sorted(side.configuration.snapshot.cluster_queues))
        raise InputError(
            f"no job of {trace.source} maps to a queue of {side.configuration.name}: {problems}. Its queues "
            f"are {queues}; use --map NAME=QUEUE, or --queue QUEUE for all"
        )
    advised = read_advice(opts.advice)
    simulated = SimulationInputs(side.configuration, placement.jobs, assumed(opts, side, trace, advised))
    return PlacedTrace(simulated, placement.left_out, advised.remarks)


def placed(
    opts: ForecastOptions,
    side: SimulatedConfiguration,
    trace: Trace,
    replaced: Sequence[tuple[str, str]] = (),
) -> Placement:
    """Places the jobs of a trace, also if none has a queue."""
    return place(trace.jobs, side.configuration, Mapped(dict([*opts.map, *replaced]), opts.queue))


def check_targets(targets: Iterable[str], sides: Sequence[SimulatedConfiguration]) -> None:
    """Checks that each queue to which jobs are mapped is in one of the sides. Raises: InputError."""
    names = [name for name in targets if name]
    missing = [missing_queues(side.configuration, names) for side in sides]
    for name in sorted(set.intersection(*missing)):
        queues = {queue for side in sides for queue in side.configuration.snapshot.cluster_queues}
        raise InputError(
            f"jobs are mapped to queue {name!r}, which is unknown; expected one of: "
            f"{', '.join(sorted(queues))}"
        )


def targets(opts: ForecastOptions) -> list[str]:
    """Returns the queues of --map and --queue."""
    return [*(target for _, target in opts.map), opts.queue]


def assumed(
    opts: ForecastOptions, side: SimulatedConfiguration, trace: Trace, advised: Advice
) -> Assumptions:
    """Returns the default assumptions, overridden by delays that the trace records, then by advice, by the
    stack file, and by the command line. Raises: InputError."""
    recorded = trace_assumptions(trace.measured or trace.jobs)
    return assumptions(
        (*recorded.items(), *advised.assumptions.items(), *side.assumptions.items(), *opts.assume)
    )


def read_advice(files: Sequence[Path]) -> Advice:
    """Reads responses of the Compute Advice API. Raises: FileError; InputError."""
    try:
        return combined(advice(read_text(file, ADVICE_EXPECTED), str(file)) for file in files)
    except AdviceError as error:
        raise InputError(str(error)) from error


def assumptions(replaced: Iterable[tuple[str, str | float]]) -> Assumptions:
    """Returns the default assumptions with the values of `replaced`. Raises: InputError."""
    names = [f.name for f in fields(Assumptions)]
    values: dict[str, float] = {}
    for name, value in replaced:
        if name not in names:
            raise InputError(f"assumption {name!r} is unknown; expected one of: {', '.join(names)}")
        try:
            values[name] = float(value)
        except ValueError:
            raise InputError(f"assumption {name}: {value!r} is not a number") from None
    assumed_values = replace(Assumptions(), **values)
    try:
        check(assumed_values)
    except ValueError as error:
        raise InputError(f"assumption {error}") from error
    return assumed_values


def writable(*files: Path | None) -> None:
    """Checks files that are written at the end. Raises: FileError."""
    for file in files:
        if file is not None:
            check_writable(file)


def is_compiled() -> bool:
    """Returns whether the admission core is compiled (mypyc), not interpreted."""
    return not str(engine.__file__).endswith(".py")


@contextmanager
def progress(text: str) -> Iterator[Callable[[float], None]]:
    """Shows a progress bar on terminals; yields a function that sets the completed share (0 to 1).

    If it took longer than SLOW_S, and the admission core is interpreted, prints how to speed it up."""
    from rich.console import Console
    from rich.progress import Progress

    began_s = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)
    took_s = time.monotonic() - began_s
    if took_s > SLOW_S and not is_compiled():
        print(
            f"{text}: {took_s:.0f} s, as the admission core is interpreted; compiled, it takes half the time "
            "(docs/forecast.md#longer-traces)",
            file=sys.stderr,
        )
