"""Outputs of a stack, which other stacks read."""

import json
from typing import Any

import pulumi
import pytest
import yaml

from components.platform import Platform, PlatformArgs
from settings.load import parse
from tests.unit.components.harness import declare
from tests.unit.settings.builders import EXISTING, FILE, GOOD
from tools.toolchain.paths import CHECKOUT

STACK = yaml.safe_load((CHECKOUT / "tests/stacks/earlier/Pulumi.accounts.yaml").read_text())["config"]
DOMAIN = "acme-ml.iam.gserviceaccount.com"


def outputs(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the values of the outputs, and the names of secret ones below `secrets`."""
    values: dict[str, Any] = {"secrets": set()}

    async def read(name: str, output: pulumi.Output[Any]) -> str:
        values[name] = await output.future()
        if await output.is_secret():
            values["secrets"].add(name)
        return name

    def program() -> None:
        for name, value in Platform("muster", PlatformArgs(parse(config, FILE))).outputs.items():
            output = pulumi.Output.from_input(value)
            reading: Any = read(name, output)  # a coroutine, which from_input awaits
            pulumi.Output.from_input(reading).apply(str)

    declare(program)
    return values


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return outputs(STACK)


def test_another_stack_can_connect_to_the_cluster(values: dict[str, Any]) -> None:
    name = "ray-production-inference-us-central1"
    assert (values["project"], values["location"], values["clusterId"]) == (
        "acme-ml",
        "us-central1",
        f"{name}-id",
    )
    config = json.loads(values["kubeconfig"])
    assert config["clusters"][0]["cluster"]["server"] == values["endpoint"]
    assert values["endpoint"].startswith("https://")
    assert values["network"] == {"network": "default", "subnetwork": "default"}
    assert values["nodePools"] == ["system", "tpu7x-0"]


def test_only_the_kubeconfig_is_secret(values: dict[str, Any]) -> None:
    assert values["secrets"] == {"kubeconfig"}


def test_accounts_and_buckets_are_listed_by_what_uses_them(values: dict[str, Any]) -> None:
    accounts, buckets = values["accounts"], values["buckets"]
    assert {*accounts} == {"nodes", "controller"}
    assert {*values["tenantAccounts"]} == {"team-a", "team-b", "team-c"}
    assert values["tenantAccounts"]["team-b"] == f"team-b-jobs@{DOMAIN}"
    assert accounts["controller"].startswith("ray-production")
    assert values["tenantBuckets"] == {"team-a": "acme-ml-team-a"}
    assert buckets["journal"] == "acme-ml-journal"
    assert "-acme-ml-logs-" in buckets["logs"]


def test_an_existing_cluster_has_no_outputs_of_gke() -> None:
    values = outputs({**GOOD, "muster:cluster": EXISTING})
    assert not {"clusterId", "endpoint", "kubeconfig", "network"} & values.keys()
    assert values["accounts"] == values["buckets"] == values["tenantAccounts"] == {}
