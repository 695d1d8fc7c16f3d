"""`muster VERB`: one module a verb, imported when it is used."""

import argparse
import sys
from importlib import import_module
from keyword import iskeyword

VERBS = {
    "controller": "admit Ray gangs whole and by priority",
    "eta": "estimate when a pending workload of a cluster starts",
    "forecast": "simulate a trace of jobs under a queue configuration",
    "plan": "compare waiting times before and after a change of a stack",
    "recommend": "search quotas and pool sizes that meet waiting-time goals at least cost",
    "try": "tell whether a job would fit now, before it is submitted",
}
EXTRA = ("rich", "yaml")
"""Modules of the extra `forecast`, which the controller does without."""


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    parser = argparse.ArgumentParser(prog="muster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, summary in VERBS.items():
        verbs.add_parser(verb, help=summary, add_help=False)
    found, rest = parser.parse_known_args(argv)
    try:
        return _run(found.verb, rest)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        print(f"muster {found.verb} needs {error.name}: pip install 'muster[forecast]'", file=sys.stderr)
        return 2


def _run(verb: str, arguments: list[str]) -> int:
    module = import_module(f"muster.cli.{verb}_" if iskeyword(verb) else f"muster.cli.{verb}")
    parser = argparse.ArgumentParser(prog=f"muster {verb}")
    module.add_arguments(parser)
    code: int = module.carry_out(parser.parse_args(arguments))
    return code
