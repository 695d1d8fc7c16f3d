"""`kubectl_complete-muster`, which kubectl runs to complete `kubectl muster …`.

The protocol: pkg/cmd/plugin/plugin_completion.go of kubectl.
"""

import sys
from collections.abc import Sequence

from click.shell_completion import ShellComplete

from muster.cli.main import muster

NO_FILES = ":4"
"""The directive of cobra's completions that keeps names of files out of them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Prints what the last argument can be completed to, a line each, after the arguments before it."""
    *before, incomplete = (sys.argv[1:] if argv is None else argv) or [""]
    completions = ShellComplete(muster, {}, "muster", "").get_completions(before, incomplete)
    print(*(f"{one.value}\t{one.help}" if one.help else one.value for one in completions), NO_FILES, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
