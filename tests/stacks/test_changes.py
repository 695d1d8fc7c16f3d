"""Previews of a change: the state of stack dev, and settings that differ from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from preview import plan_text
from preview.preview import Program, changed_since
from preview.pulumi_cli import PulumiError, Stack
from sandbox.toolchain.paths import CHECKOUT

Edit = Callable[[dict[str, Any]], None]
Changed = Callable[..., Stack]
DEV = CHECKOUT / "stacks" / "Pulumi.dev.yaml"


@pytest.fixture
def changed(tools: dict[str, Path], tmp_path: Path) -> Changed:
    """Previews stack dev with an edit to its settings, in a state without it or with another edit."""

    def edited(name: str, edit: Edit) -> Program:
        settings = yaml.safe_load(DEV.read_text())
        edit(settings["config"])
        file = tmp_path / name
        file.write_text(yaml.safe_dump(settings))
        return Program(CHECKOUT, file)

    def changes(edit: Edit, before: Edit = lambda config: None) -> Stack:
        programs = edited("before.yaml", before), edited("now.yaml", edit)
        return changed_since(tools["pulumi"], tmp_path / "run", "dev", *programs)

    return changes


def test_a_change_shows_recreated_updated_and_created_resources(changed: Changed) -> None:
    def edit(config: dict[str, Any]) -> None:
        system, gpus = config["muster:pools"]
        system["nodes"]["max"] = 7
        gpus["provisioning"] = "spot"
        config["muster:admission"]["priorities"]["night"] = 10

    outcome = changed(edit).preview()
    by_op: dict[str, set[str]] = {}
    for change in outcome.changes:
        by_op.setdefault(change.op, set()).add(plan_text.title(change))
    assert by_op["replace"] == {"container.NodePool gpu-node-pool"}
    assert by_op["create"] == {"WorkloadPriorityClass night"}
    assert {"container.NodePool system", "ResourceFlavor l4"} <= by_op["update"]
    assert {"container.Cluster kuberay-gpu-cluster", "Namespace team-a"} <= by_op["same"]
    (danger,) = [line for line in plan_text.dangers(outcome.changes) if line.startswith("±")]
    assert "nodeConfig.spot: (none) → true (replaces)" in danger
    assert "queuedProvisioning: {enabled: true} → (none) (replaces)" in danger


def test_an_unchanged_stack_has_no_changes(changed: Changed) -> None:
    outcome = changed(lambda config: None).preview(expect_no_changes=True)
    assert outcome.counts == {}
    assert {change.op for change in outcome.changes} == {"same"}


def test_protected_resources_are_not_recreated(changed: Changed) -> None:
    def protected(config: dict[str, Any]) -> None:
        config["muster:cluster"]["deletionProtection"] = True

    def moved(config: dict[str, Any]) -> None:
        protected(config)
        config["muster:cluster"]["location"] = "us-west1-a"

    with pytest.raises(PulumiError, match=r"kuberay-gpu-cluster.*protect"):
        changed(moved, before=protected).preview()


def test_a_new_stack_is_created_as_a_whole(tools: dict[str, Path], tmp_path: Path) -> None:
    now = Program(CHECKOUT, CHECKOUT / "stacks" / "Pulumi.local.yaml")
    before = Program(CHECKOUT, tmp_path / "Pulumi.local.yaml")
    stack = changed_since(tools["pulumi"], tmp_path / "run", "local", before, now)
    assert set(stack.preview().counts) == {"create"}
