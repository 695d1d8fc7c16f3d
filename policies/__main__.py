"""Serves the pack to the engine, which runs this folder and reads a port from stdout; never returns."""

import sys
from pathlib import Path

# The engine runs this folder, so Python would import from it; modules are imported from the checkout.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from policies.pack import policies  # noqa: E402
from policies.rules import RULES  # noqa: E402
from policies.server import serve  # noqa: E402

serve("muster", policies(RULES), RULES)
