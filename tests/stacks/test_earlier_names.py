"""A stack whose resources got their names before these had its cluster in them, previewed today."""

import json
from pathlib import Path

import pytest

from preview.plan import ResourceChange
from preview.pulumi_cli import PulumiCli
from preview.resources.pretence import VARIABLE
from tests.stacks.conftest import STAND_INS

pytestmark = pytest.mark.thorough

EARLIER = Path(__file__).parent / "earlier"
FILE, PLAN = EARLIER / "Pulumi.accounts.yaml", EARLIER / "accounts.json"
NAMES = ("accountId", "bucketId", "name", "repositoryId")


@pytest.fixture(scope="module")
def changes(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[ResourceChange]:
    """The changes of the Google Cloud resources that the stack had."""
    root = tmp_path_factory.mktemp("earlier")
    cli = PulumiCli(tools["pulumi"], root, env={VARIABLE: "1"}, choices=STAND_INS)
    stack = cli.select("accounts", FILE)
    plan = root / "plan.json"
    plan.write_text(json.dumps({"resourcePlans": json.loads(PLAN.read_text())}))
    stack.assume(plan)
    return [change for change in stack.preview().changes if change.type.startswith("gcp:")]


def test_no_resource_is_replaced(changes: list[ResourceChange]) -> None:
    earlier = {urn for urn in json.loads(PLAN.read_text()) if "gcp:" in urn.split("::")[2].rpartition("$")[2]}
    earlier = {urn for urn in earlier if "pulumi:providers" not in urn}
    ops = {change.urn: change.op for change in changes if change.urn in earlier}
    assert ops.keys() == earlier
    assert set(ops.values()) <= {"same", "update"}


def test_names_are_those_of_the_state(changes: list[ResourceChange]) -> None:
    renamed = [
        (change.name, key)
        for change in changes
        for key in NAMES
        if change.op == "update" and change.before.get(key) != change.after.get(key)
    ]
    assert renamed == []


def test_a_resource_that_is_new_has_the_cluster_in_its_name(changes: list[ResourceChange]) -> None:
    (account,) = [change for change in changes if change.op == "create" and "Account" in change.type]
    assert account.after["accountId"].startswith("ray-prod")
