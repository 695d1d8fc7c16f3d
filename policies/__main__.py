"""Serves the pack to the engine, which runs this folder and reads a port from stdout. It never returns."""

import sys
from pathlib import Path

from pulumi_policy import EnforcementLevel, PolicyPack

# The engine runs the folder, so Python would look for modules in it; they are named from the checkout.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from policies.catalogue import RULES  # noqa: E402
from policies.pack import policies  # noqa: E402

# Where no configuration says otherwise, everything is mandatory: to forget it is to be judged like prod.
PolicyPack("muster", policies(RULES), EnforcementLevel.MANDATORY)
