"""Previews a stack offline: shows what `pulumi up` would create, change and delete."""

import argparse
import shutil
import sys
from pathlib import Path

from preview.plugins import fork_server

if not shutil.which("pulumi"):  # else its own language host may run
    fork_server.start(sys.executable)  # imports the SDKs while this process imports everything else

from preview.preview import preview
from tools.toolchain.command import carry_out


def main(arguments: list[str]) -> int:
    """Previews one stack; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make preview", description=__doc__)
    parser.add_argument("stack", help="a stack in stacks/, for example dev")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--since", metavar="REF", help="compare with the stack at this git ref")
    which.add_argument(
        "--installed",
        action="store_true",
        help="use the official plugins that are installed; gcp needs an account",
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also write it to FILE, as a pull request comment"
    )
    options = parser.parse_args(arguments)
    return carry_out(
        "preview",
        lambda: preview(options.stack, options.since, options.markdown, installed=options.installed),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
