"""The git ref that a preview is compared with, and the preview's output."""

import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from preview.plan import ResourceChange
from preview.preview import beside_others, check_out, settings_file, show
from preview.pulumi_cli import Outcome
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import StepError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone with one commit and an uncommitted change."""
    folder = tmp_path / "repository"
    (folder / "stacks").mkdir(parents=True)
    settings = folder / "stacks" / "Pulumi.dev.yaml"
    settings.write_text("committed")
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    settings.write_text("changed since")
    return folder


def test_files_of_a_ref_are_the_committed_ones(repository: Path, tmp_path: Path) -> None:
    check_out("HEAD", tmp_path / "earlier", repository)
    assert (tmp_path / "earlier" / "stacks" / "Pulumi.dev.yaml").read_text() == "committed"


@pytest.mark.parametrize("ref", ["no-such-branch", "HEAD~5"])
def test_error_of_an_unknown_ref_has_gits_message(repository: Path, tmp_path: Path, ref: str) -> None:
    with pytest.raises(StepError, match=f"cannot read git ref '{ref}': fatal: ") as refused:
        check_out(ref, tmp_path / "earlier", repository)
    assert refused.value.try_this == "run git fetch, then use a ref of git log"


def test_error_of_an_unknown_stack_lists_the_stacks() -> None:
    with pytest.raises(StepError, match="no stack 'live' in stacks/") as refused:
        settings_file("live")
    assert refused.value.try_this == "one of dev, local, prod, staging"


def test_names_that_another_stack_has_are_warned_of_last(tmp_path: Path) -> None:
    dev, copy = tmp_path / "Pulumi.dev.yaml", tmp_path / "Pulumi.copy.yaml"
    for file in (dev, copy):
        file.write_text((CHECKOUT / "stacks" / "Pulumi.dev.yaml").read_text())
    outcome = beside_others(Outcome({}, (), ("an earlier one",), "", 1.25), copy)

    first, *shared = outcome.warnings
    assert first == "an earlier one"
    assert shared[0].startswith("muster:cluster.name\n")
    assert all("Pulumi.dev.yaml has" in warning for warning in shared)


def test_violated_policies_come_after_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    creation = ResourceChange("create", "kubernetes:core/v1:Namespace", "urn:a::b::c::team-b")
    outcome = Outcome(
        {}, (creation,), (), "", 1.25, ("private-nodes: why\n  one: set it",), 39, "gcp: stand-in (why)"
    )
    show("Preview of dev", outcome, Console(width=200))
    assert capsys.readouterr().out.splitlines() == [
        "+ Namespace team-b",
        "plugins: gcp: stand-in (why)",
        "private-nodes: why",
        "  one: set it",
        "Preview of dev: 1 to create, 39 policies passed, 1 failed (1.2 s)",
    ]


def test_warnings_and_dangers_come_before_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ResourceChange("delete", "kubernetes:core/v1:Namespace", "urn:a::b::c::team-a")
    creation = ResourceChange("create", "kubernetes:core/v1:Namespace", "urn:a::b::c::team-b")
    outcome = Outcome({}, (creation, gone), ("mind the gap",), "", 1.25)
    show("Preview of dev since main", outcome, Console(width=200))
    assert capsys.readouterr().out.splitlines() == [
        "warning: mind the gap",
        "Recreated or deleted:",
        "- Namespace team-a",
        "",
        "- Namespace team-a",
        "+ Namespace team-b",
        "Preview of dev since main: 1 to delete, 1 to create (1.2 s)",
    ]
