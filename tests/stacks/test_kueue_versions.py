"""The CRDs of Kueue's API serve one version where Kueue's conversion webhook is not installed."""

import json
from pathlib import Path

import pytest

from preview.pulumi_cli import PulumiCli
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.conftest import STAND_INS
from tests.stacks.dry_runs import Manifest
from tools.toolchain.paths import CHECKOUT

GROUP = "versions.example.com"
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
# Older versions of Kueue store the older version of the API.
VERSIONS = [
    {"name": name, "served": True, "storage": name == "v1beta1", "schema": SCHEMA}
    for name in ("v1beta1", "v1beta2")
]
THINGS = {
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": VERSIONS,
    },
}
# The official plugin makes ConfigGroup's children; here the program does, with the same types and parents.
PROGRAM = f"""
import pulumi
from pulumi_kubernetes.apiextensions.v1 import CustomResourceDefinition
from components.operators import kueue
from settings.model.operators.kueue import Kueue

class Files(pulumi.ComponentResource):
    def __init__(self, name, files, opts):
        super().__init__("kubernetes:yaml/v2:ConfigGroup", name, None, opts)
        CustomResourceDefinition("things", **{THINGS!r}, opts=pulumi.ResourceOptions(parent=self))

kueue.ConfigGroup = Files
kueue.Kueue("kueue", kueue.KueueArgs(Kueue(), "muster", {{}}, protect=False))
"""


@pytest.fixture(scope="module")
def definition(
    tools: dict[str, Path], cluster: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Manifest:
    """A CRD with two versions, as the API server has it once the component is deployed."""
    folder = tmp_path_factory.mktemp("definitions")
    (folder / "Pulumi.yaml").write_text("name: definitions\nruntime: python\n")
    (folder / "__main__.py").write_text(PROGRAM)
    (folder / "settings.yaml").write_text("config: {}\n")
    env = {"KUBECONFIG": str(cluster.kubeconfig), "PYTHONPATH": str(CHECKOUT)}
    cli = PulumiCli(tools["pulumi"], folder / "run", env=env, project=folder, choices=STAND_INS)
    cli.preload()
    cli.select("dev", folder / "settings.yaml").up()
    cluster.run("wait", "--for=condition=Established", f"crd/things.{GROUP}", "--timeout=30s")
    document: Manifest = json.loads(cluster.run("get", "crd", f"things.{GROUP}", "-o", "json"))
    return document


def test_the_version_of_muster_alone_is_served(definition: Manifest) -> None:
    assert [version["name"] for version in definition["spec"]["versions"]] == ["v1beta2"]


def test_everything_else_is_as_declared(definition: Manifest) -> None:
    spec = definition["spec"]
    assert (spec["group"], spec["names"]["kind"], spec["scope"]) == (GROUP, "Thing", "Namespaced")
    assert spec["versions"][0]["schema"] == SCHEMA
