"""Drift: changes made by hand since the last deployment, without edits of the stack file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from preview import plan_text
from preview.pulumi_cli import PulumiCli, Stack
from sandbox.cluster.kubectl import Kubectl
from sandbox.toolchain.paths import CHECKOUT
from tests.stacks.conftest import STAND_INS

PROGRAM = CHECKOUT / "tests" / "unit" / "preview" / "plugins" / "program"

Select = Callable[..., Stack]


@pytest.fixture
def select(tools: dict[str, Path], tmp_path: Path, cluster: Kubectl) -> Iterator[Select]:
    """Selects the stack with a configuration; destroys its resources afterwards."""

    def selects(**config: str) -> Stack:
        settings = tmp_path / "settings.yaml"
        values = {f"plugins-fixture:{key}": value for key, value in config.items()}
        settings.write_text(yaml.safe_dump({"config": values}))
        env = {"KUBECONFIG": str(cluster.kubeconfig)}
        cli = PulumiCli(tools["pulumi"], tmp_path / "run", env=env, project=PROGRAM, choices=STAND_INS)
        return cli.select("test", settings)

    yield selects
    selects().destroy()


def told(stack: Stack) -> list[str]:
    """Returns each line of the drift without its indentation."""
    return [line.strip(" │├└─") for _, line in plan_text.table(stack.drift())]


def test_only_changes_by_hand_are_drift(select: Select, cluster: Kubectl) -> None:
    deployed = select(tier="one")
    deployed.up()
    assert deployed.drift() == ()

    edited = select(tier="two", replaced="after")  # not deployed
    assert edited.drift() == ()

    cluster.run("label", "--namespace=team", "serviceaccount", "account", "tier=by-hand", "--overwrite")
    cluster.run("delete", "gadget", "gadget")
    assert told(edited) == [
        "+ Gadget gadget",
        "~ ServiceAccount account  metadata.labels.tier: by-hand → one",
    ]
