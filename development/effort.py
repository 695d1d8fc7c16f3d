"""How much the random tests try: everything in continuous integration, less in a run by hand."""

import os

THOROUGH = bool(os.environ.get("CI"))
"""Whether this is continuous integration."""

HISTORIES_IN_CI = 2000
HISTORIES = int(os.environ.get("MUSTER_HISTORIES") or (HISTORIES_IN_CI if THOROUGH else 100))
"""Random histories of the simulation; their seeds count from 0."""

MUTANTS = 1000 if THOROUGH else 80
"""Mutants of the shipped stack files, a quarter of each."""
MUTANTS_SEED = int(os.environ.get("MUTANTS_SEED") or 0)

EXAMPLES_PERCENT = 100 if THOROUGH else 25
"""The part of a property's examples that is tried."""
