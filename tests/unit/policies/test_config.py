"""Enforcement by environment: policies/config/, selected by the stack's `muster:environment`."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from policies import environment
from policies.environment import KEY, UNDECLARED, enforced
from policies.rule import ResourceRule
from policies.rules import RULES
from preview.pulumi_cli import PACK
from settings.model.stack import Environment, Settings
from tools.toolchain.paths import CHECKOUT

FILES = sorted((PACK / "config").glob("*.json"))
STACKS = sorted((CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
LEVELS = {"advisory", "mandatory", "remediate", "disabled"}
IDS = [rule.id for rule in RULES]
# In prod too: projects release their charts with images by tag.
ADVISORY = {"muster-charts-name-digests"}
PROTECTION = "muster-deletion-protection"


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_every_environment_has_a_configuration() -> None:
    assert {path.stem for path in FILES} == set(get_args(Environment))


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_every_stack_file_declares_its_environment(path: Path) -> None:
    config = yaml.safe_load(path.read_text())["config"]
    assert config[KEY] == path.stem.removeprefix("Pulumi.")


def test_stack_without_environment_is_checked_like_prod_with_a_note() -> None:
    assert Settings.model_fields["environment"].default == UNDECLARED == "prod"
    for id, config in enforced({}, IDS).items():
        assert id in ADVISORY or config["enforcementLevel"] == "mandatory", id
        assert id in ADVISORY or config["because"] == (
            "checked as prod, as the stack declares no muster:environment"
        ), id


def test_environment_is_declared_and_not_derived_from_the_stack_name() -> None:
    levels = {name: enforced({KEY: name}, IDS)[PROTECTION]["enforcementLevel"] for name in ("dev", "prod")}
    assert levels == {"dev": "disabled", "prod": "mandatory"}


@pytest.mark.parametrize("name", ["qa", "", "../config/dev", "Prod"])
def test_error_of_an_unknown_environment_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match="expected one of dev, local, prod, staging: set it") as refused:
        enforced({KEY: name}, IDS)
    assert repr(name) in str(refused.value)


def test_every_rule_has_the_level_of_its_environment() -> None:
    """The engine treats a policy without a level in the initial configuration as advisory."""
    dev = enforced({KEY: "dev"}, IDS)
    assert list(dev) == IDS
    assert all(config["enforcementLevel"] in LEVELS for config in dev.values())
    assert dev["muster-cost-labels"]["labels"] == {"environment": "dev", "cost-center": "unassigned"}
    assert "because" not in dev["cis-gke-5.6.2-vpc-native"]


def test_unknown_rule_in_a_configuration_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "dev.json"
    file.write_text('{"all": "mandatory", "muster-typo": {"enforcementLevel": "disabled"}}')
    monkeypatch.setitem(environment._FILES, "dev", file)
    with pytest.raises(ValueError, match=r"policies/config/dev\.json: no rule muster-typo"):
        enforced({KEY: "dev"}, IDS)


def test_prod_enforces_everything_else() -> None:
    levels = {id: config["enforcementLevel"] for id, config in enforced({KEY: "prod"}, IDS).items()}
    assert {id for id, level in levels.items() if level != "mandatory"} == ADVISORY


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_exceptions_have_the_id_of_a_rule_and_a_reason(path: Path) -> None:
    """The engine itself accepts unknown ids."""
    rules = {rule.id: rule for rule in RULES}
    config = read(path)
    assert config.pop("all") == "mandatory"
    for id, settings in config.items():
        assert id in rules
        assert settings.get("enforcementLevel", "mandatory") in LEVELS
        if "enforcementLevel" in settings:
            assert settings["because"]
        assert all(settings.get("exempt", {}).values())
        parameters = rules[id].parameters.keys() | {"because", "enforcementLevel", "exempt", "labels"}
        assert settings.keys() <= parameters
        if settings.get("enforcementLevel") == "remediate":
            rule = rules[id]
            assert isinstance(rule, ResourceRule)
            assert rule.remediation


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_environment_but_prod_lists_its_projects(path: Path) -> None:
    lists = "projects" in read(path).get("muster-project-of-environment", {})
    assert lists is (path.stem != UNDECLARED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_gpu_operator_can_be_installed(path: Path) -> None:
    """Its namespace admits privileged pods, which load drivers."""
    if path.stem != "local":
        assert "gpu-operator" in read(path)["cis-gke-4.2.1-pod-security"]["exempt"]
