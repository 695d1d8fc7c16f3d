"""`kubectl_complete-muster`, which kubectl runs to complete `kubectl muster …`.

The protocol: pkg/cmd/plugin/plugin_completion.go of kubectl.
"""

import sys
from collections.abc import Sequence

from click.shell_completion import ShellComplete

from muster.cli.main import muster

NO_FILES = ":4"
"""cobra's ShellCompDirectiveNoFileComp: the shell must not add file names to the completions."""


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the completions of the last argument, one a line, and then cobra's directive."""
    *before, incomplete = (sys.argv[1:] if argv is None else argv) or [""]
    completions = ShellComplete(muster, {}, "muster", "").get_completions(before, incomplete)
    print(
        *(
            f"{completion.value}\t{completion.help}" if completion.help else completion.value
            for completion in completions
        ),
        NO_FILES,
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
