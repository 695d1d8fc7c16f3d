"""Verbs that show a cluster: their options, output as tables, JSON or YAML, and --watch."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from muster.cli import live
from muster.cli.terminal import visible
from muster.cli.verb import options
from muster.cluster.jobs.kinds import BY_KIND
from muster.configuration.configuration import Configuration
from muster.forecast.report.tables import Table
from muster.forecast.report.text import duration
from muster.live.observed import READ, Observed
from muster.live.overview.document import Amounts, document
from muster.live.overview.overview import Overview, overview

KINDS = (*READ, *BY_KIND)
CLEAR = "\x1b[H\x1b[2J"
INTERVAL_S = 2.0
PARTLY = (
    "you may only read namespace {namespace}: positions are missing, and reasons are from the last decision"
)


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """The options that these verbs share, in the order of `view_options`."""

    queues: Path | None
    kubeconfig: str | None
    context: str | None
    namespace: str | None
    configuration: Configuration
    output: str
    watch: bool
    interval: float

    @property
    def own_namespace(self) -> str:
        """The namespace to use if the user gave none."""
        return self.namespace or live.own_namespace(self.queues, self.kubeconfig, self.context)

    @property
    def is_wide(self) -> bool:
        """Returns whether tables show all columns."""
        return self.output == "wide"


@dataclass(frozen=True, slots=True)
class VerbOutput:
    """The answer of a verb: `document` for programs, `lines` and `tables` for people; `code` is the exit
    code."""

    document: Any
    lines: Sequence[str]
    tables: Sequence[Table]
    code: int = 0


view_options = options(
    "opts",
    ViewOptions,
    live.manifests_option,
    live.kubeconfig_option,
    live.context_option,
    click.option("-n", "--namespace", metavar="NAMESPACE", help="namespace of jobs and LocalQueues"),
    live.configuration_option,
    click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "wide", "json", "yaml"]),
        default="table",
        help="output format; wide adds columns",
    ),
    click.option("-w", "--watch", is_flag=True, help="refresh the output until interrupted"),
    click.option(
        "--interval",
        type=click.FloatRange(min=0.1),
        default=INTERVAL_S,
        metavar="SECONDS",
        help="pause between refreshes of --watch",
    ),
)


def show(opts: ViewOptions, view: Callable[[Overview], VerbOutput], tenant: str = "") -> int:
    """Reads the cluster and prints the answer, repeatedly with --watch. Returns the exit code. `tenant` is a
    namespace to fall back to, for a less complete answer, if the user may not read the whole cluster."""
    while True:
        observed, cluster_overview = _read_overview(opts, tenant)
        answer = view(cluster_overview)
        if opts.watch and sys.stdout.isatty():
            sys.stdout.write(CLEAR)
        _print(answer, opts)
        if not opts.watch:
            _warn(observed)
        if not opts.watch:
            return answer.code
        sys.stdout.flush()
        time.sleep(opts.interval)


def _warn(observed: Observed) -> None:
    """Warns about kinds that could not be read. Jobs are left out: only their estimated starts are read."""
    jobs = {str(kind) for kind in BY_KIND}
    path = click.get_current_context().command_path
    if observed.namespace:
        print(f"{path}: {PARTLY.format(namespace=observed.namespace)}", file=sys.stderr)
        return
    for kind, why in observed.unread.items():
        if kind not in jobs:
            print(f"{path}: assuming no {kind}: {why}", file=sys.stderr)


def _read_overview(opts: ViewOptions, tenant: str) -> tuple[Observed, Overview]:
    observed = live.objects(opts.queues, opts.kubeconfig, opts.context, KINDS, tenant)
    now_ms = time.time_ns() // 1_000_000
    return observed, overview(
        observed.cluster, now_ms, opts.configuration, is_complete=not observed.namespace
    )


def _print(answer: VerbOutput, opts: ViewOptions) -> None:
    match opts.output:
        case "json":
            print(json.dumps(document(answer.document), indent=2))
        case "yaml":
            print(
                yaml.safe_dump(document(answer.document), sort_keys=False, explicit_start=opts.watch), end=""
            )
        case _:
            from muster.cli.screen import show_whole

            for line in answer.lines:
                print(visible(line))
            show_whole(answer.tables)


def ago(seconds: float) -> str:
    """Returns an age as short text; 0 for a time in the future, which another clock may have written."""
    return duration(max(0.0, seconds))


def size(amounts: Amounts, every: bool = False) -> str:
    """Returns the amounts of devices, or of all resources if there are no devices or `every` is set."""
    texts = amounts.texts
    devices = {name: text for name, text in texts.items() if "/" in name and text != "0"}
    shown = texts if every or not devices else devices
    return ", ".join(f"{text} {name}" for name, text in shown.items())
