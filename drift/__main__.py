"""Compares the Kubernetes objects of a deployed stack with the live ones: changes made by hand.

Reads the state with the `pulumi` on PATH, which must be logged in to the stack's backend. Exit codes: 0 no
drift, or all of it reverted; 3 drift; 1 the comparison failed.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from drift.deployed import Deployed, read_state
from drift.report import report
from tools.toolchain.command import carry_out
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import StepError


def main(arguments: list[str]) -> int:
    """Compares one stack; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m drift", description=__doc__)
    parser.add_argument("stack", help="a stack of this project, for example dev")
    parser.add_argument("--fix", action="store_true", help="revert the changes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write them to FILE")
    options = parser.parse_args(arguments)
    revert = f"python -m drift {options.stack} --fix"

    def compare() -> int:
        deployed = exported(options.stack)
        return report(deployed, os.environ, revert=revert, fix=options.fix, file=options.json)

    return carry_out("drift", compare)


def exported(stack: str) -> Deployed:
    """Reads the stack's state. Raises StepError with the output of Pulumi."""
    command = ["pulumi", "stack", "export", "--show-secrets", "--non-interactive", "--stack", stack]
    try:
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise StepError("pulumi is not on PATH") from None
    except subprocess.CalledProcessError as error:
        raise StepError(f"cannot export the state of stack {stack}: {error.stderr.strip()}") from None
    return read_state(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
