"""`muster VERB`: one module a verb, imported when it is used."""

import argparse
from importlib import import_module

VERBS = {
    "controller": "admit Ray gangs whole and by priority",
    "forecast": "simulate a trace of jobs under a queue configuration",
    "plan": "compare waiting times before and after a change of a stack",
}


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    parser = argparse.ArgumentParser(prog="muster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, summary in VERBS.items():
        verbs.add_parser(verb, help=summary, add_help=False)
    found, rest = parser.parse_known_args(argv)
    module = import_module(f"muster.cli.{found.verb}")
    own = argparse.ArgumentParser(prog=f"muster {found.verb}")
    module.add_arguments(own)
    code: int = module.carry_out(own.parse_args(rest))
    return code
