"""Inputs of forecasts on the command line: configuration, trace, assumptions, seeds."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

from muster.cli.configurations import InputError, Side
from muster.forecast.assumptions import Assumptions, check
from muster.forecast.configuration import ConfigurationError
from muster.forecast.futures import SEEDS, Scenario
from muster.forecast.placement import Mapped, Placement, place
from muster.forecast.traces.csv_mapping import from_text
from muster.forecast.traces.cut import cut
from muster.forecast.traces.read import FORMATS, Loaded, ReadOptions, read
from muster.forecast.traces.trace import Trace, TraceError

DAY_MS = 86_400_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that forecasts share."""
    parser.add_argument("--trace", metavar="FILE", help="jobs to replay (default: the stack's)")
    parser.add_argument(
        "--format", choices=FORMATS, default="", help="the trace's format (default: as it looks)"
    )
    parser.add_argument(
        "--columns",
        metavar="A=B,...",
        help="of a CSV trace: which of its columns are submit, run, queue, ... or a preset, such as openb",
    )
    parser.add_argument(
        "--map",
        metavar="NAME=QUEUE",
        action="append",
        default=[],
        type=pair,
        help="a queue or user of the trace, and its ClusterQueue or namespace/LocalQueue",
    )
    parser.add_argument("--queue", metavar="QUEUE", default="", help="where jobs go that nothing else places")
    parser.add_argument(
        "--configuration",
        metavar="JSON",
        default="{}",
        help='with --queues or --cluster: the controller\'s configuration, such as {"fairSharing": {}}',
    )
    parser.add_argument("--since-day", type=float, default=0, metavar="N", help="leave out the first N days")
    parser.add_argument("--days", type=float, metavar="N", help="replay what is submitted in N days")
    parser.add_argument(
        "--seeds", type=count, default=SEEDS, metavar="N", help="futures to simulate (default: %(default)s)"
    )
    parser.add_argument(
        "--assume",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=pair,
        help="replaces a default assumption; --assumptions lists them",
    )
    parser.add_argument("--assumptions", action="store_true", help="list all assumptions with their sources")
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write a page with charts")


def read_trace(arguments: argparse.Namespace, path: str | None) -> Loaded:
    """Reads the trace, by default the stack's at `path`. Raises: InputError, TraceError."""
    path = arguments.trace or path
    if not path:
        raise InputError("no trace: give --trace FILE, or set muster:forecast.trace in the stack file")
    columns = from_text(arguments.columns) if arguments.columns else None
    loaded = read(Path(path), arguments.format, ReadOptions(csv=columns))
    since_ms = round(arguments.since_day * DAY_MS)
    until_ms = None if arguments.days is None else since_ms + round(arguments.days * DAY_MS)
    if not since_ms and until_ms is None:
        return loaded
    trace = cut(loaded.trace, since_ms, until_ms)
    if not trace.jobs:
        raise InputError(f"{path}: no job is submitted in the days that --since-day and --days select")
    return replace(loaded, trace=trace)


def scenario(arguments: argparse.Namespace, side: Side, trace: Trace) -> tuple[Scenario, Placement]:
    """Places the trace's jobs in the configuration's queues. Raises: InputError."""
    placed = place(trace.jobs, side.configuration, Mapped(dict(arguments.map), arguments.queue))
    if not placed.jobs:
        problems = "; ".join(f"{problem} ({n} jobs)" for problem, n in list(placed.left_out.items())[:3])
        queues = ", ".join(sorted(side.configuration.snapshot.cluster_queues))
        raise InputError(
            f"no job of {trace.source} has a queue of {side.configuration.name}: {problems}. Its queues are "
            f"{queues}; use --map NAME=QUEUE, or --queue QUEUE for all"
        )
    return Scenario(side.configuration, placed.jobs, assumed(arguments, side)), placed


def assumed(arguments: argparse.Namespace, side: Side) -> Assumptions:
    """Returns the defaults, replaced by the stack file's and the command line's. Raises: InputError."""
    return assumptions((*side.assumptions.items(), *arguments.assume))


def assumptions(replaced: Iterable[tuple[str, str | float]]) -> Assumptions:
    """Returns the defaults with these in their place. Raises: InputError."""
    known = [f.name for f in fields(Assumptions)]
    wanted: dict[str, float] = {}
    for name, value in replaced:
        if name not in known:
            raise InputError(f"assumption {name!r} is unknown; expected one of: {', '.join(known)}")
        try:
            wanted[name] = float(value)
        except ValueError:
            raise InputError(f"assumption {name}: {value!r} is not a number") from None
    found = replace(Assumptions(), **wanted)
    try:
        check(found)
    except ValueError as error:
        raise InputError(f"assumption {error}") from error
    return found


def writable(*files: Path | None) -> None:
    """Creates the folders of files that are written at the end, so that a wrong path costs no simulation.

    Raises: InputError."""
    for file in files:
        if file is not None:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
            except OSError as error:
                raise InputError(f"{file}: {error.strerror}; give a path that can be written") from error


def carry_out(verb: str, command: Callable[[], int]) -> int:
    """Runs a command; input errors are printed and give the exit code 2."""
    try:
        return command()
    except (InputError, TraceError, ConfigurationError) as error:
        print(f"muster {verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nmuster {verb}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


@contextmanager
def progress(text: str) -> Iterator[Callable[[float], None]]:
    """Shows a progress bar on terminals; yields a function that takes the share that is done."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise argparse.ArgumentTypeError(f"{text!r}; expected NAME=VALUE")
    return name, value


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a number of 1 or more")
    return int(text)
