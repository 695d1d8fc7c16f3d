"""Some of the mutants that are accepted, previewed by the real engine with its policies."""

from pathlib import Path

import pytest

from preview.plugins.choice import choose_offline
from preview.pulumi_cli import PulumiCli
from tests.mistakes.judge import Fate, fate
from tests.mistakes.mutants import STACKS, Mutant, mutants
from tools.testing.effort import MUTANTS_SEED
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.steps import Screen


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> PulumiCli:
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    return PulumiCli(pulumi, tmp_path_factory.mktemp("previews"), choices=choose_offline())


def accepted(stack: str, folder: Path) -> Mutant:
    """Returns the first mutant of the stack that is previewed under mocks."""
    drawn = mutants(stack, f"{MUTANTS_SEED} previews", count=200)
    return next(mutant for mutant in drawn if fate(mutant, folder) is Fate.PREVIEWED)


QUICKEST = "local"


@pytest.mark.parametrize(
    "stack",
    [pytest.param(stack, marks=() if stack == QUICKEST else pytest.mark.thorough) for stack in STACKS],
)
def test_accepted_mutant_passes_the_real_preview(stack: str, cli: PulumiCli, tmp_path: Path) -> None:
    mutant = accepted(stack, tmp_path)
    print(f"MUTANTS_SEED={MUTANTS_SEED}: {mutant}")  # pytest shows it if the test fails
    file = tmp_path / f"Pulumi.{stack}.yaml"
    file.write_text(mutant.text, encoding="utf-8")
    assert set(cli.select(stack, file).preview(policies=True).counts) == {"create"}
