"""Serves the pack to the engine, which runs this folder and reads a port from stdout. It never returns."""

import sys
from pathlib import Path

# The engine runs the folder, so Python would look for modules in it; they are named from the checkout.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from policies.catalogue import RULES  # noqa: E402
from policies.pack import policies  # noqa: E402
from policies.server import serve  # noqa: E402

serve("muster", policies(RULES))
