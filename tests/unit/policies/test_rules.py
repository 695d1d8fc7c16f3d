"""Every rule with passing and failing resources, and all its messages."""

from pathlib import Path

import pytest

from policies.reference import BEGIN, END, table
from policies.rule import ResourceRule
from policies.rules import RULES
from tests.unit.policies import (
    cluster_cases,
    compute_class_cases,
    google_cases,
    kubernetes_cases,
    node_pool_cases,
    platform_cases,
    tenant_cases,
)
from tests.unit.policies.builders import Case

CASES = (
    *cluster_cases.CASES,
    *node_pool_cases.CASES,
    *compute_class_cases.CASES,
    *kubernetes_cases.CASES,
    *platform_cases.CASES,
    *google_cases.CASES,
    *tenant_cases.CASES,
)


def judged(case: Case) -> list[str]:
    rule = case.rule
    if isinstance(rule, ResourceRule):
        assert all(rule.reads(resource.kind) for resource in case.resources)
        of_each = [(each, rule.messages(each, case.config)) for each in case.resources]
        return [f"{each.name}: {message}" for each, messages in of_each for message in messages]
    return [
        f"{resource.name}: {message}" for resource, message in rule.violations(case.resources, case.config)
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule_yields_exactly_its_messages(case: Case) -> None:
    assert judged(case) == list(case.messages)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_a_passing_and_a_failing_case(rule: object) -> None:
    assert {bool(case.messages) for case in CASES if case.rule is rule} == {True, False}


def test_rule_ids_are_unique() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_the_table_of_rules_is_up_to_date() -> None:
    page = (Path(__file__).parents[3] / "policies" / "README.md").read_text()
    assert f"{BEGIN}\n{table()}\n{END}" in page, "the rules have changed: run `make docs`"
