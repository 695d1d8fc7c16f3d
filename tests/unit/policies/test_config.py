"""What each environment enforces: policies/config/."""

import json
from pathlib import Path
from typing import Any

import pytest

from policies.catalogue import RULES
from policies.rule import ResourceRule
from sandbox.paths import CHECKOUT
from sandbox.policies import PACK, policy_config

FILES = sorted((PACK / "config").glob("*.json"))
LEVELS = {"advisory", "mandatory", "remediate", "disabled"}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_every_stack_has_a_configuration() -> None:
    stacks = {path.stem.removeprefix("Pulumi.") for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml")}
    assert {path.stem for path in FILES} == stacks
    assert policy_config("dev") == PACK / "config" / "dev.json"


def test_a_stack_without_one_is_judged_like_prod() -> None:
    assert policy_config("unheard-of") == PACK / "config" / "prod.json"


def test_prod_enforces_everything() -> None:
    assert read(policy_config("prod")) == {"all": "mandatory"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_is_excused_by_its_id_and_with_a_reason(path: Path) -> None:
    """The engine itself takes an id that no rule has."""
    rules = {rule.id: rule for rule in RULES}
    config = read(path)
    assert config.pop("all") == "mandatory"
    for id, settings in config.items():
        assert id in rules
        assert settings["enforcementLevel"] in LEVELS or settings["exempt"]
        assert settings.get("because") or settings["exempt"]
        if settings.get("enforcementLevel") == "remediate":
            rule = rules[id]
            assert isinstance(rule, ResourceRule)
            assert rule.remedy
