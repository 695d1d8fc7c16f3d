"""`python -m preview STACK`: what a stack would become, offline."""

import argparse
import sys
from pathlib import Path

from preview.preview import preview
from sandbox.toolchain.command import carry_out


def main(arguments: list[str]) -> int:
    """Shows the plan of one stack; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make preview", description=__doc__)
    parser.add_argument("stack", help="a stack of stacks/, for example: dev")
    parser.add_argument("--since", metavar="REF", help="compare with this git ref, as if that were up")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write it as a comment there too")
    options = parser.parse_args(arguments)
    return carry_out("preview", lambda: preview(options.stack, options.since, options.markdown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
