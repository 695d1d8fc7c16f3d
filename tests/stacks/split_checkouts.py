"""Checkouts whose stack files split a platform."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from preview.plan import ResourceChange
from preview.pulumi_cli import Outcome, PulumiCli, Stack
from preview.resources.pretence import VARIABLE
from settings.model.split import PARTS, SECTIONS_OF, SPLIT, Part
from settings.model.stack import Settings
from tests.stacks.conftest import STAND_INS
from tools.toolchain.paths import CHECKOUT

SHARED = {"gcp:project", "muster:environment"}
Config = dict[str, Any]


def write_stacks(folder: Path, config: Config, stacks: Mapping[Part, str]) -> None:
    """Writes the sections of a stack file into the files of these stacks; its split may have other keys."""
    for stack in stacks.values():
        sections = {s for part in PARTS if stacks[part] == stack for s in SECTIONS_OF[part]}
        keys = {str(Settings.model_fields[section].alias) for section in sections} | SHARED
        own = {key: value for key, value in config.items() if key in keys} | {
            SPLIT: {**config.get(SPLIT, {}), **stacks}
        }
        (folder / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"config": own}))


class Checkout:
    """A checkout with the stack files of a split platform."""

    def __init__(self, folder: Path, pulumi: Path) -> None:
        self.stacks = folder / "project" / "stacks"
        self.stacks.mkdir(parents=True)
        for entry in CHECKOUT.iterdir():
            if entry.name not in ("stacks", ".git"):
                (self.stacks.parent / entry.name).symlink_to(entry)
        self._pulumi, self._folder = pulumi, folder
        self.cli = self.cli_of("run")

    def cli_of(self, backend: str, **env: str) -> PulumiCli:
        """Returns a CLI with the backend of this name, which is empty at first."""
        variables, project = {VARIABLE: "1", **env}, self.stacks.parent
        state = self._folder / backend
        return PulumiCli(self._pulumi, state, env=variables, project=project, choices=STAND_INS)

    def file(self, stack: str) -> Path:
        return self.stacks / f"Pulumi.{stack}.yaml"

    def select(self, stack: str) -> Stack:
        return self.cli.select(stack, self.file(stack))

    def assume(self, stack: str, plan: Path) -> Outcome:
        outcome = self.select(stack).preview(plan=plan, policies=True)
        self.select(stack).assume(plan)
        return outcome


def changed(outcome: Outcome) -> list[ResourceChange]:
    return [
        c for c in outcome.changes if c.op not in ("same", "read") and c.type != "pulumi:providers:pulumi"
    ]
