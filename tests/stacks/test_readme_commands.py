"""README's commands for a real project: a copy of stack dev, previewed with the policies."""

import re
import secrets
from pathlib import Path

import pytest

from preview.pulumi_cli import PulumiCli
from tests.stacks.conftest import STAND_INS
from tests.stacks.terminal import Terminal, copy_checkout
from tools.toolchain.paths import CHECKOUT

SECTION = re.compile(r"^## A real project\n(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The environment exists already; the stand-in of gcp creates nothing; make has its own tests.
NOT_TYPED = re.compile(r"python3 -m venv|make |pulumi up")
NAME = "ray-at-acme"


def readme_commands(**placeholders: str) -> list[str]:
    """Returns the section's commands with its <placeholders> filled in."""
    section = SECTION.search((CHECKOUT / "README.md").read_text())
    assert section
    text = "".join(BLOCK.findall(section[1]))
    for placeholder, value in placeholders.items():
        text = text.replace(f"<{placeholder.replace('_', ' ')}>", value)
    assert "<" not in text
    return text.splitlines()


@pytest.fixture
def terminal(tools: dict[str, Path], tmp_path: Path) -> Terminal:
    cli = PulumiCli(tools["pulumi"], tmp_path / "run", choices=STAND_INS)
    env = {"PULUMI_CONFIG_PASSPHRASE": secrets.token_hex()}
    return Terminal(cli, copy_checkout(tmp_path / "muster"), env)


def test_a_copy_of_stack_dev_passes_as_dev_under_any_name(terminal: Terminal, tmp_path: Path) -> None:
    """Replaces Google's bucket and key by a folder and a passphrase, as there is no account."""
    (tmp_path / "state").mkdir()
    typed = readme_commands(yours=NAME, your_state_bucket=f"{tmp_path}/state", your_key="passphrase")
    local = [line.replace("gs://", "file://").replace("gcpkms://", "") for line in typed]
    output = ""
    for command in local:
        if command.startswith("pulumi preview"):  # by now the copy was edited
            settings = terminal.folder / "stacks" / f"Pulumi.{NAME}.yaml"
            content = settings.read_text()
            assert "encryptionsalt: " in content  # which users commit
            settings.write_text(
                content.replace("acme-ml-dev", "my-project").replace("kuberay-gpu-cluster", NAME)
            )
            projects = terminal.folder / "policies" / "config" / "dev.json"
            projects.write_text(projects.read_text().replace("acme-ml-dev", "my-project"))
        if not NOT_TYPED.match(command):
            output = terminal.type(command)
    assert "muster@v" in output
    assert f"Cluster {NAME}" in " ".join(output.split())
    assert "[mandatory]" not in output
    assert "my-project" in (terminal.folder / "stacks" / f"Pulumi.{NAME}.yaml").read_text()


@pytest.mark.thorough
def test_the_declared_environment_decides_and_not_the_stacks_name(terminal: Terminal) -> None:
    """A copy of dev that declares environment prod violates prod's policies."""
    stack = terminal.folder / "stacks" / f"Pulumi.{NAME}.yaml"
    dev = (terminal.folder / "stacks" / "Pulumi.dev.yaml").read_text()
    stack.write_text(dev.replace("muster:environment: dev", "muster:environment: prod"))
    terminal.type(f"pulumi login file://{terminal.folder} && pulumi stack init {NAME}")
    with pytest.raises(AssertionError, match=r"\[mandatory\].*muster-deletion-protection"):
        terminal.type("pulumi preview --policy-pack policies")
    stack.write_text(stack.read_text().replace("muster:environment: prod\n", "muster:environment: qa\n"))
    with pytest.raises(AssertionError, match="expected"):
        terminal.type("pulumi preview --policy-pack policies")
