"""README's "A real project": previews of a copy of each shipped stack warn of nothing unexplained."""

import re
import shutil
from pathlib import Path

import pytest

from preview.preview import beside_others
from preview.pulumi_cli import PulumiCli
from tests.stacks.conftest import STAND_INS
from tests.stacks.terminal import copy_checkout
from tools.toolchain.paths import CHECKOUT

pytestmark = pytest.mark.thorough

STACKS = sorted(path.stem.removeprefix("Pulumi.") for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
PROJECT, NAME = "my-project", "ray-at-acme"
# What README says to edit: the project, also in names of buckets, the cluster's name, and the tenants' hosts.
EDITS = {
    r"acme-ml-\w+": PROJECT,
    r"\bname: (kuberay-gpu-cluster|ray-\w+)": "name: {name}",
    r"models\.example\.com": "models.my-company.com",
}
# A policy that the environment does not enforce, with the reason in its configuration.
EXPLAINED = re.compile(r"(cis-gke|muster)-.*\(in this environment: .+\)", re.DOTALL)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("clone") / "muster")


def edited_copy(clone: Path, stack: str) -> Path:
    """Returns the file of a copy of the stack, whose project is one of the stack's environment."""
    name = f"{NAME}-{stack}"
    file = clone / "stacks" / f"Pulumi.{name}.yaml"
    shutil.copy(clone / "stacks" / f"Pulumi.{stack}.yaml", file)
    for path in (file, clone / "policies" / "config" / f"{stack}.json"):
        text = path.read_text()
        for pattern, replacement in EDITS.items():
            text = re.sub(pattern, replacement.format(name=name), text)
        path.write_text(text)
    return file


@pytest.mark.parametrize("stack", STACKS)
def test_a_copy_of_each_stack_is_previewed_without_unexplained_warnings(
    stack: str,
    clone: Path,
    tools: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = edited_copy(clone, stack)
    monkeypatch.setattr("preview.pulumi_cli.PACK", clone / "policies")
    cli = PulumiCli(tools["pulumi"], tmp_path, project=clone, choices=STAND_INS)
    outcome = cli.select(f"{NAME}-{stack}", file).preview(policies=True)
    assert set(outcome.counts) == {"create"}
    assert outcome.passed, "the policies were checked"
    warnings = beside_others(outcome, file).warnings
    assert [warning for warning in warnings if not EXPLAINED.fullmatch(warning)] == []


def test_a_warning_of_the_settings_is_not_explained(
    clone: Path, tools: dict[str, Path], tmp_path: Path
) -> None:
    """A copy whose names are not edited shares them with the stack that it was copied from."""
    file = clone / "stacks" / "Pulumi.unedited.yaml"
    shutil.copy(CHECKOUT / "stacks" / "Pulumi.dev.yaml", file)
    outcome = PulumiCli(tools["pulumi"], tmp_path, project=clone, choices=STAND_INS).select("unedited", file)
    warnings = beside_others(outcome.preview(policies=True), file).warnings
    (shared,) = [warning for warning in warnings if not EXPLAINED.fullmatch(warning)]
    assert "which only one platform can" in shared
