"""Serves the package to the engine: `pulumi package add` starts this folder as a plugin."""

import sys
from pathlib import Path

# Instead of this folder, whose modules are found by the name `package` too.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from pulumi.provider import main  # noqa: E402

from package.provider import Package  # noqa: E402

main(Package(), sys.argv[1:])
