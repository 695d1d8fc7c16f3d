"""Values at the boundaries of the model's schema: each is accepted, or refused with its path and a remedy."""

from itertools import chain, islice
from random import Random

import pytest

from tests.mistakes.mutants import config_of
from tests.mistakes.proven import faults
from tests.mistakes.schema import SCHEMA, boundaries, definitions, fields
from tools.testing.effort import MUTANTS_SEED

STACKS = ("local", "prod")
EVERY = 4
"""Boundaries of one in this many fields are tried in a run; the seed chooses which."""


@pytest.mark.parametrize("stack", STACKS)
def test_boundaries_of_fields_are_accepted_or_refused_with_help(stack: str) -> None:
    start = Random(f"{MUTANTS_SEED} {stack}").randrange(EVERY)
    assert list(chain.from_iterable(map(faults, islice(boundaries(stack), start, None, EVERY)))) == []


def test_every_field_of_a_section_is_drawn() -> None:
    places = {place for place, _ in fields(SCHEMA, config_of("prod"))}
    assert {("muster:cluster", name) for name in definitions()["Gke"]["properties"]} <= places
    assert ("muster:tenants", 0, "serving", "iap", "oauthClient", "id") in places
    assert ("muster:queues", "clusterQueues", 0, "budgets") in places
