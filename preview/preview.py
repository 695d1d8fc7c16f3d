"""Previews a stack offline, compared with nothing or with the stack at another git ref."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from muster.files.writing import check_writable, write_text
from preview import plan_text
from preview.joined import assume_joined, joined_stacks
from preview.plugins.choice import Choice, choose_installed, choose_offline, stand_ins
from preview.pulumi_cli import Outcome, PulumiCli, PulumiError, Stack
from preview.resources.pretence import VARIABLE
from settings.neighbours import shared_names
from tools.bootstrap import exclusive
from tools.toolchain.console import console
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import Screen, StepError

VIOLATED = 1
"""The exit code of a plan that violates mandatory policies."""
_STYLES = {"±": "bold red", "-": "red", "~": "yellow", "+": "green"}


def preview(
    stack: str, since: str | None = None, markdown: Path | None = None, *, installed: bool = False
) -> int:
    """Shows the plan of one stack, checked by the policies of its environment; writes `markdown` if given.

    installed: runs installed official plugins, even if they need an account; not with `since`.
    """
    settings = settings_file(stack)
    if markdown:
        check_writable(markdown)
    pulumi = ensure_tools(["pulumi"], Screen())["pulumi"].path
    heading = f"Preview of {stack}" + (f" since {since}" if since else "")
    try:
        with (
            exclusive(RunState("preview").root / "lock", "a preview in this checkout"),
            Screen().activity(lambda seconds: f"{heading}: {seconds:.0f} s"),
        ):
            outcome = _outcome(pulumi, stack, settings, since, installed)
    except PulumiError as error:
        if error.outcome is None:
            if markdown:
                write_text(markdown, f"### {heading} failed\n\n```text\n{error}\n```\n")
            raise
        outcome = error.outcome
    outcome = beside_others(outcome, settings)
    show(heading, outcome, console())
    if markdown:
        write_text(markdown, plan_text.markdown(heading, outcome))
    return VIOLATED if outcome.violations else 0


def beside_others(outcome: Outcome, settings: Path) -> Outcome:
    """Returns the outcome with warnings of names that the stack file shares with others of its folder."""
    return replace(outcome, warnings=(*outcome.warnings, *shared_names(settings)))


def _outcome(pulumi: Path, stack: str, settings: Path, since: str | None, installed: bool) -> Outcome:
    if since is None:
        choices = choose_installed() if installed else choose_offline()
        root = RunState("preview").root
        if joined_stacks(settings):
            root = RunState("preview-joined").root
            shutil.rmtree(root, ignore_errors=True)
            assume_joined(pretending(pulumi, root, CHECKOUT), settings)
        cli = PulumiCli(pulumi, root, choices=choices)
        cli.preload()  # while it selects the stack
        selected = cli.select(stack, settings)
    else:
        root = RunState("preview-since").root
        shutil.rmtree(root, ignore_errors=True)
        earlier = root / "program"
        check_out(since, earlier)
        before = Program(earlier, earlier / "stacks" / settings.name)
        selected = changed_since(pulumi, root, stack, before, Program(CHECKOUT, settings))
    return selected.preview(policies=True)


@dataclass(frozen=True)
class Program:
    """A folder with Pulumi.yaml, and one of its stack files."""

    folder: Path
    settings: Path


def changed_since(pulumi: Path, root: Path, stack: str, before: Program, now: Program) -> Stack:
    """Returns the stack of `now`, in the state that `before` would have left; empty if it has no stack file.

    Both run with stand-in providers, even if official ones are installed: those have no placeholders.
    root: the folder of the state, which must be empty.
    """

    def select(program: Program) -> Stack:
        return pretending(pulumi, root, program.folder).select(stack, program.settings)

    assume_joined(pretending(pulumi, root, now.folder), now.settings)
    if before.settings.exists():
        plan = root / "plan.json"
        earlier = select(before)
        earlier.preview(plan=plan)
        earlier.assume(plan)
    return select(now)


def pretending(pulumi: Path, root: Path, project: Path) -> PulumiCli:
    """Returns the CLI with stand-in providers, which have placeholders for unknown values."""
    return PulumiCli(pulumi, root, env={VARIABLE: "1"}, project=project, choices=_stand_ins())


def _stand_ins() -> Mapping[str, Choice]:
    """Returns the installed language host, and the stand-in of every provider."""
    chosen = choose_offline()
    return chosen | stand_ins(chosen.keys() - {"python"}, "only stand-ins support placeholders")


def check_out(ref: str, folder: Path, repository: Path = CHECKOUT) -> None:
    """Extracts the files of a git ref. Raises StepError if this is not a clone or lacks the ref."""
    command = ["git", "-C", str(repository), "archive", "--format=tar", ref]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", b"").decode(errors="replace").strip() or str(error)
        raise StepError(
            f"cannot read git ref {ref!r}: {reason}", try_this="run git fetch, then use a ref of git log"
        ) from None
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def settings_file(stack: str) -> Path:
    """Returns the stack's file. Raises StepError, which lists the stacks, if there is none."""
    stacks = {path.stem.removeprefix("Pulumi."): path for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml")}
    if stack not in stacks:
        raise StepError(f"no stack {stack!r} in stacks/", try_this=f"one of {', '.join(sorted(stacks))}")
    return stacks[stack]


def show(heading: str, outcome: Outcome, screen: Console) -> None:
    """Prints warnings and recreated or deleted resources, the tree, then violated policies and counts."""
    for warning in outcome.warnings:
        screen.print(Text(f"warning: {warning}", style="yellow"), soft_wrap=True)
    if dangers := plan_text.dangers(outcome.changes):
        screen.print(Text("Recreated or deleted:", style="bold red"))
        for line in dangers:
            screen.print(Text(line, style=_STYLES[line[0]]), soft_wrap=True)
        screen.print()
    for sign, line in plan_text.table(outcome.changes):
        screen.print(Text(line, style=_STYLES.get(sign, "")), soft_wrap=True)
    if outcome.plugins:
        screen.print(f"plugins: {outcome.plugins}", highlight=False, soft_wrap=True)
    for violation in outcome.violations:
        screen.print(Text(violation, style="bold red"), soft_wrap=True)
    result = ", ".join(filter(None, [plan_text.counts(outcome.changes), plan_text.policies(outcome)]))
    screen.print(f"{heading}: {result} ({outcome.seconds:.1f} s)", highlight=False, soft_wrap=True)
