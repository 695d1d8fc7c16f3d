"""Inputs of forecasts on the command line: configuration, trace, assumptions, seeds."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import yaml

from muster.forecast.assumptions import Assumptions, check
from muster.forecast.configuration import ConfigurationError, QueueConfiguration, from_manifests
from muster.forecast.futures import SEEDS, Scenario
from muster.forecast.limits import WaitLimit
from muster.forecast.placement import Mapped, Placement, place
from muster.forecast.traces.csv_mapping import from_text
from muster.forecast.traces.cut import cut
from muster.forecast.traces.read import FORMATS, Loaded, ReadOptions, read
from muster.forecast.traces.trace import Trace, TraceError

if TYPE_CHECKING:
    from settings.load import Settings

DAY_MS = 86_400_000


class InputError(ValueError):
    """Input that no forecast can use: what, where, what is expected."""


@dataclass(frozen=True)
class Side:
    """One configuration to simulate, and what its stack file says about forecasts."""

    configuration: QueueConfiguration
    trace: str | None = None
    assumptions: Mapping[str, float] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)
    limits: Sequence[WaitLimit] = ()


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
        help='with --queues: the controller\'s configuration, such as {"fairSharing": {}}',
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


def stack(name: str, ref: str | None = None, patch: Path | None = None) -> Side:
    """Reads a stack file of a checkout, by the stack's name or its path: as it is, at a git ref, or patched.

    Raises: InputError."""
    try:
        from components.controller.configuration import configuration
        from components.queues.objects import manifests
        from settings.load import SettingsError, parse
    except ImportError:
        raise InputError(
            "stack files are read in a checkout of the platform; elsewhere give --queues with a file or "
            "folder of manifests"
        ) from None
    file = name if name.endswith((".yaml", ".yml")) else f"stacks/Pulumi.{name}.yaml"
    try:
        text = _text(file, ref) if patch is None else _patched(file, patch)
        settings = parse(_config(file, text), file if ref is None else f"{ref}:{file}")
    except SettingsError as error:
        raise InputError(str(error)) from error
    _check_engine(settings, file)
    own = configuration(settings.controller) if settings.controller is not None else {}
    title = f"{name} at {ref}" if ref else f"{name} with {patch.name}" if patch else name
    wanted = settings.forecast
    return Side(
        from_manifests(title, manifests(settings), json.dumps(own)),
        wanted.trace,
        wanted.assumptions,
        wanted.prices,
        [
            WaitLimit(one.queue, one.priority or "", one.statistic, 60 * one.max_minutes)
            for one in wanted.limits
        ],
    )


def _config(file: str, text: str) -> Mapping[str, object]:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{file}: {' '.join(str(error).split())}; expected valid YAML") from error
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise InputError(f"{file}: expected a mapping with the key `config`")
    return config


def _text(file: str, ref: str | None) -> str:
    if ref is not None:
        found = subprocess.run(["git", "show", f"{ref}:{file}"], capture_output=True, text=True, check=False)
        if found.returncode:
            raise InputError(f"{file} at {ref}: {found.stderr.strip()}; give a ref that has this stack file")
        return found.stdout
    if not Path(file).is_file():
        known = sorted(path.name[7:-5] for path in Path("stacks").glob("Pulumi.*.yaml"))
        raise InputError(f"{file}: no such stack file; expected one of: {', '.join(known) or 'none here'}")
    return Path(file).read_text()


def _patched(file: str, patch: Path) -> str:
    """Applies the patch's changes of this file to a copy. Raises: InputError."""
    text = _text(file, None)
    if not patch.is_file():
        raise InputError(f"{patch}: no such file; expected a patch of {file}, as `git diff` prints it")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / file
        copy.parent.mkdir(parents=True)
        copy.write_text(text)
        command = ["git", "apply", f"--include={file}", str(patch.absolute())]
        applied = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if applied.returncode or copy.read_text() == text:
            why = applied.stderr.strip() or "it changes nothing in this file"
            raise InputError(f"{patch} does not apply to {file}: {why}")
        return copy.read_text()


def _check_engine(settings: "Settings", file: str) -> None:
    if settings.admission.engine == "kai":
        raise InputError(
            f"{file}: admission.engine is kai, which decides differently; expected muster or kueue"
        )


def manifests_at(path: Path, controller: str = "{}") -> Side:
    """Reads the configuration of a file, or of a folder and those below it; `controller` is the controller's.

    Raises: InputError."""
    return Side(from_manifests(path.name, manifests_below(path), controller))


def manifests_below(path: Path) -> list[Mapping[str, Any]]:
    """Reads all manifests of a file, or of a folder and those below it. Raises: InputError."""
    files = (
        sorted(p for p in path.rglob("*") if p.suffix in (".yaml", ".yml", ".json"))
        if path.is_dir()
        else [path]
    )
    if not files or not path.exists():
        raise InputError(f"{path}: no manifests; expected a YAML or JSON file, or a folder of them")
    found: list[Mapping[str, Any]] = []
    for file in files:
        try:
            documents = list(yaml.safe_load_all(file.read_text()))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {' '.join(str(error).split())}; expected valid YAML") from error
        for document in documents:
            items = document.get("items", [document]) if isinstance(document, dict) else []
            found += (item for item in items if isinstance(item, dict))
    return found


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
