"""The real engine reads scalars of a stack file as the settings do."""

import json
from pathlib import Path

from preview.pulumi_cli import PulumiCli
from tests.stacks.conftest import STAND_INS
from tests.unit.settings.stack.scalars import KEYS, SCALARS, stack_file


def test_the_engine_reads_the_same_values(tools: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.scalars.yaml"
    file.write_text(stack_file("muster:a"))
    cli = PulumiCli(tools["pulumi"], tmp_path / "run", choices=STAND_INS)
    stack = cli.select("scalars", file)
    command = ["config", "--json", "--stack", stack.name, "--config-file", str(stack.config)]
    text = cli.run(command, tmp_path / "config.log")
    values = json.loads(text[text.index("{") :])
    assert values["muster:a"]["objectValue"] == [value for _, value in SCALARS]
    assert set(values["muster:a-keys"]["objectValue"]) == set(KEYS.values())
