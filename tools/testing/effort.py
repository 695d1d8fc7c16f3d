"""Number of examples that random tests try: all in continuous integration, fewer on a developer's machine."""

import os

THOROUGH = bool(os.environ.get("CI"))
"""True in continuous integration."""

HISTORIES_IN_CI = 2000
HISTORIES = int(os.environ.get("MUSTER_HISTORIES") or (HISTORIES_IN_CI if THOROUGH else 20))
"""Number of random histories in the simulation; seeds start at 0."""

MUTANTS = 1000 if THOROUGH else 80
"""Number of mutants of the shipped stack files, the same for each of the four."""
MUTANTS_SEED = int(os.environ.get("MUTANTS_SEED") or 0)

PAIRS_OF_A_CHECK = 10 if THOROUGH else 1
"""Number of pairs of fields that are drawn for each rule and warning, from each of two stacks."""

EXAMPLES_PERCENT = 100 if THOROUGH else 10
"""Percentage of a property's examples that are tried."""


def seeds(*of_scenario: int) -> tuple[int, ...]:
    """Returns the seeds with which a scenario is played: all, or the first one on a developer's machine."""
    return of_scenario if THOROUGH else of_scenario[:1]
