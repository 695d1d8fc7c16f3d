"""Previews of a change: the state of stack dev, and settings that differ from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from preview import plan_text
from preview.preview import Program, changed_since
from preview.pulumi_cli import PulumiError, Stack
from tools.toolchain.paths import CHECKOUT

DEV = CHECKOUT / "stacks" / "Pulumi.dev.yaml"


def edited(file: Path, edit: Callable[[dict[str, Any]], None]) -> Program:
    """Writes the settings of stack dev with an edit."""
    settings = yaml.safe_load(DEV.read_text())
    edit(settings["config"])
    file.write_text(yaml.safe_dump(settings))
    return Program(CHECKOUT, file)


@pytest.fixture(scope="module")
def unchanged(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """Stack dev in the state that it would have left itself; previews do not change that."""
    dev = Program(CHECKOUT, DEV)
    return changed_since(tools["pulumi"], tmp_path_factory.mktemp("changes"), "dev", dev, dev)


def test_a_change_shows_recreated_updated_and_created_resources(unchanged: Stack, tmp_path: Path) -> None:
    def edit(config: dict[str, Any]) -> None:
        system, gpus = config["muster:pools"]
        system["nodes"]["max"] = 7
        gpus["provisioning"] = "spot"
        config["muster:admission"]["priorities"]["night"] = 10

    outcome = unchanged.cli.select("dev", edited(tmp_path / "now.yaml", edit).settings).preview()
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


def test_an_unchanged_stack_has_no_changes(unchanged: Stack) -> None:
    outcome = unchanged.cli.select("dev", DEV).preview(expect_no_changes=True)
    assert outcome.counts == {}
    assert {change.op for change in outcome.changes} == {"same"}


@pytest.mark.thorough
def test_protected_resources_are_not_recreated(tools: dict[str, Path], tmp_path: Path) -> None:
    def protected(config: dict[str, Any]) -> None:
        config["muster:cluster"]["deletionProtection"] = True

    def moved(config: dict[str, Any]) -> None:
        protected(config)
        config["muster:cluster"]["location"] = "us-west1-a"

    before, now = edited(tmp_path / "before.yaml", protected), edited(tmp_path / "now.yaml", moved)
    stack = changed_since(tools["pulumi"], tmp_path / "run", "dev", before, now)
    with pytest.raises(PulumiError, match=r"kuberay-gpu-cluster.*protect"):
        stack.preview()


@pytest.mark.thorough
def test_a_new_stack_is_created_as_a_whole(tools: dict[str, Path], tmp_path: Path) -> None:
    now = Program(CHECKOUT, CHECKOUT / "stacks" / "Pulumi.local.yaml")
    before = Program(CHECKOUT, tmp_path / "Pulumi.local.yaml")
    stack = changed_since(tools["pulumi"], tmp_path / "run", "local", before, now)
    assert set(stack.preview().counts) == {"create"}
