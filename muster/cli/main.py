"""`muster VERB`: one module per verb, imported on use."""

import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

import click
from click.shell_completion import CompletionItem

from muster import __version__
from muster.cli.terminal import visible
from muster.cli.verb import WRONG

VERBS = {
    "backtest": "compare estimates of starts in the past with the starts",
    "controller": "run the admission controller",
    "doctor": "find problems that keep a cluster from admitting jobs",
    "eta": "estimate when a pending workload starts",
    "forecast": "simulate a trace of jobs under a queue configuration",
    "logs": "print the logs of a job's pods",
    "plan": "compare waiting times before and after a change to a stack",
    "queue": "list running workloads, and pending ones in queue order",
    "queues": "show cohorts and ClusterQueues with quota and usage",
    "recommend": "find quotas and pool sizes that meet waiting-time goals at the lowest cost",
    "resume": "resume or retry a job, or resume a queue",
    "serve": "serve a live, read-only page of a cluster's queues",
    "stop": "stop a job or a queue",
    "submit": "create a job and follow it until it runs",
    "top": "show usage by flavor and by team",
    "try": "check whether a job would fit now, before you submit it",
    "why": "explain why a workload waits, and which changes would admit it",
}
EXTRA = ("rich",)
"""Modules of the extra `forecast`; the controller runs without them."""


class LazyGroup(click.Group):
    """Imports only the module of the verb that runs; help and completion of verbs import none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of all verbs, in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the module of a verb and returns its command; None if there is no such verb."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"muster.cli.{cmd_name}_" if iskeyword(cmd_name) else f"muster.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the verbs and their summaries to the help without importing their modules."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes the names of verbs without importing their modules."""
        verbs = [CompletionItem(v, help=text) for v, text in VERBS.items() if v.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


muster = LazyGroup(
    "muster",
    help="Gang and priority admission for Ray on Kubernetes: clusters, forecasts, the controller.",
    subcommand_metavar="VERB [OPTIONS]...",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "show_default": True,
    },
)
click.version_option(__version__, message="%(prog)s %(version)s")(muster)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    try:
        code: int | None = muster.main(argv, prog_name="muster", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return WRONG
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = "muster" if context is None else context.command_path
        print(visible(f"{path}: {error.format_message()}"), file=sys.stderr)
        return WRONG
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        print(f"muster needs {error.name}: pip install 'muster[forecast]'", file=sys.stderr)
        return WRONG
    return code or 0
