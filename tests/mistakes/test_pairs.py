"""Pairs of fields that one rule or warning reads: accepted with gangs that run, or refused with help."""

from collections.abc import Callable
from itertools import chain, islice
from random import Random
from typing import Any

import pytest

from settings.load import parse
from settings.model.stack import Settings
from settings.rules.gangs import smallest_gangs_run
from settings.rules.pools import node_counts_are_in_order
from settings.rules.queues import lending_stays_within_quotas
from settings.rules.registry import LAST, RULES
from tests.mistakes.mutants import Place, config_of
from tests.mistakes.proven import faults, unproven
from tests.mistakes.reads import fields_read
from tests.mistakes.schema import Change, pairs
from tools.testing.effort import MUTANTS_SEED, PAIRS_OF_A_CHECK

STACKS = ("local", "prod")
PARTS = 5


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("stack", STACKS)
def test_pairs_of_fields_that_one_check_reads_are_refused_with_help_or_run_gangs(
    stack: str, part: int
) -> None:
    print(f"MUTANTS_SEED={MUTANTS_SEED}, part {part}")  # pytest shows it if the test fails
    drawn = pairs(stack, Random(f"{MUTANTS_SEED} {stack}"), PAIRS_OF_A_CHECK)
    assert list(chain.from_iterable(map(faults, islice(drawn, part, None, PARTS)))) == []


H100 = ("muster:queues", "clusterQueues", 1, "quotas", "h100", "nvidia.com/gpu")
READ: dict[str, tuple[Callable[[Settings], Any], set[Place]]] = {
    "limits beside quotas": (lending_stays_within_quotas, {(*H100, "lendingLimit"), (*H100, "nominal")}),
    "bounds of one pool": (
        node_counts_are_in_order,
        {("muster:pools", 1, "nodes", key) for key in ("min", "max", "initial")},
    ),
}


@pytest.mark.parametrize(("check", "places"), READ.values(), ids=READ)
def test_fields_that_a_rule_reads_are_recorded(check: Callable[[Settings], Any], places: set[Place]) -> None:
    read = set(fields_read(check, parse(config_of("prod"), "stack")))
    assert places <= read
    assert not any(place[0] == "muster:forecast" for place in read)


def test_every_check_that_reads_two_fields_gets_pairs() -> None:
    sections = {place[0] for change in pairs("prod", Random(0), 1) for place, _ in change.values}
    assert {
        "muster:cluster",
        "muster:pools",
        "muster:queues",
        "muster:tenants",
        "muster:admission",
    } <= sections


def test_a_gang_that_never_runs_is_a_fault_without_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    change = Change("local", ((("muster:queues", "clusterQueues", 1, "quotas", "l4", "pods"), 0),))
    assert list(faults(change)) == []  # refused
    monkeypatch.delitem(RULES, smallest_gangs_run)
    monkeypatch.setattr("settings.rules.registry.LAST", LAST - {smallest_gangs_run})
    (smallest, *_) = unproven(parse(change.config, "stack"))
    assert "1 pod of 100m cpu" in smallest
    assert "never runs" in smallest
