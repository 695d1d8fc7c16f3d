"""The page of CIS controls: each is covered by a rule, or has a reason why not."""

import re
from pathlib import Path

from policies.benchmark import BEGIN, CONTROLS, END, cited, covering, table
from policies.rules import RULES

PAGE = Path(__file__).parents[3] / "docs" / "cis.md"
ID = re.compile(r"cis-gke-([0-9]+\.[0-9]+\.[0-9]+)-")


def test_every_control_has_rules_or_a_reason() -> None:
    for control, rules in covering().items():
        assert bool(rules) != bool(CONTROLS[control][1]), control


def test_a_rule_with_the_id_of_a_control_cites_it() -> None:
    for rule in RULES:
        if match := ID.match(rule.id):
            assert match[1] in cited(rule.source), rule.id


def test_ranges_are_read() -> None:
    assert list(cited("CIS GKE 1.9, 4.1.8 to 4.1.10; CIS GKE 1.9, 4.5.1 and 5.1.4; CIS GKE 1.6, 9.9.9")) == [
        "4.1.8",
        "4.1.9",
        "4.1.10",
        "4.5.1",
        "5.1.4",
    ]


def test_the_page_is_up_to_date() -> None:
    assert f"{BEGIN}\n{table()}\n{END}" in PAGE.read_text(), "the rules have changed: run `make docs`"
