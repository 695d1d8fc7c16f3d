"""Values at the boundaries of the model's schema: each is accepted, or refused with its path and a remedy."""

from collections.abc import Iterator
from itertools import chain, islice
from random import Random

import pytest

from settings.load import SettingsError, parse
from tests.mistakes.mutants import config_of
from tests.mistakes.schema import SCHEMA, Change, boundaries, definitions, fields, pairs
from tools.testing.effort import MUTANTS_SEED

STACKS = ("local", "prod")
PAIRS = 300
EVERY = 4
"""Boundaries of one in this many fields are tried in a run; the seed chooses which."""


def faults(change: Change) -> Iterator[str]:
    """Yields refusals of a change that do not help users. The proof that gangs run is one of the rules, so an
    accepted change has passed it."""
    try:
        parse(change.config, "stack")
    except SettingsError as refused:
        for problem in refused.problems:
            if not (problem.expected and problem.remedy) or problem.remedy == "fix it":
                yield f"{change}: refused without help: {problem}"


@pytest.mark.parametrize("stack", STACKS)
def test_boundaries_of_fields_are_accepted_or_refused_with_help(stack: str) -> None:
    start = Random(f"{MUTANTS_SEED} {stack}").randrange(EVERY)
    assert list(chain.from_iterable(map(faults, islice(boundaries(stack), start, None, EVERY)))) == []


@pytest.mark.parametrize("stack", STACKS)
def test_pairs_of_fields_that_one_rule_reads_are_accepted_or_refused_with_help(stack: str) -> None:
    drawn = pairs(stack, Random(f"{MUTANTS_SEED} {stack}"), PAIRS)
    assert list(chain.from_iterable(map(faults, drawn))) == []


def test_every_field_of_a_section_is_drawn() -> None:
    places = {place for place, _ in fields(SCHEMA, config_of("prod"))}
    assert {("muster:cluster", name) for name in definitions()["Gke"]["properties"]} <= places
    assert ("muster:tenants", 0, "serving", "iap", "oauthClient", "id") in places
    assert ("muster:queues", "clusterQueues", 0, "budgets") in places
