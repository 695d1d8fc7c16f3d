"""`muster VERB`: one module a verb, imported when it is used."""

import argparse
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


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; returns the exit code."""
    parser = argparse.ArgumentParser(prog="muster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb, summary in VERBS.items():
        verbs.add_parser(verb, help=summary, add_help=False)
    found, rest = parser.parse_known_args(argv)
    name = f"{found.verb}_" if iskeyword(found.verb) else found.verb
    module = import_module(f"muster.cli.{name}")
    own = argparse.ArgumentParser(prog=f"muster {found.verb}")
    module.add_arguments(own)
    code: int = module.carry_out(own.parse_args(rest))
    return code
