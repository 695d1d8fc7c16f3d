"""Signatures on the controller's image, by the real engine: when gcloud runs, and what its failure stops."""

import os
from pathlib import Path

import pytest
import yaml

from preview.plugins.choice import choose_offline
from preview.pulumi_cli import SAVED_ONCE, PulumiCli, PulumiError, Stack
from tests.stacks.conftest import STAND_INS
from tests.unit.components.signing_keys import KEY, PEM
from tools.toolchain.paths import CHECKOUT

PROGRAM = """
import os
import pulumi
from components.controller.signature import signed_image
attested = {"image": os.environ["IMAGE"], "attestor": "projects/acme-ml/attestors/ray-muster", "key": "a/key"}
pulumi.export("image", signed_image("signed-image", attested, pulumi.ResourceOptions()).input["image"])
"""
FIRST, SECOND = (f"registry.example/controller:{tag}@sha256:{tag * 64}" for tag in "ab")
GCLOUD = """#!/bin/sh
echo "$@" >> {calls}
[ ! -e {refusal} ] || {{ echo PERMISSION_DENIED >&2; exit 1; }}
"""


class Project:
    """A program that signs an image, and the gcloud that it finds."""

    def __init__(self, folder: Path, pulumi: Path) -> None:
        self.folder, self._pulumi = folder, pulumi
        self._calls, self.refusal = folder / "calls", folder / "refusal"
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "signing", "runtime": "python"}))
        (folder / "__main__.py").write_text(PROGRAM)
        (folder / "settings.yaml").write_text("config: {}\n")
        gcloud = folder / "gcloud"
        gcloud.write_text(GCLOUD.format(calls=self._calls, refusal=self.refusal))
        gcloud.chmod(0o755)

    def with_image(self, image: str) -> Stack:
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        env = {**SAVED_ONCE, "IMAGE": image, "PATH": path, "PYTHONPATH": str(CHECKOUT)}
        cli = PulumiCli(self._pulumi, self.folder / "run", env=env, project=self.folder, choices=STAND_INS)
        return cli.select("dev", self.folder / "settings.yaml")

    def signed(self) -> list[str]:
        """Returns the images that gcloud was asked to sign since the last call."""
        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return [word.partition("=")[2] for line in lines for word in line.split() if "artifact-url" in word]


@pytest.fixture
def project(tools: dict[str, Path], tmp_path: Path) -> Project:
    return Project(tmp_path, tools["pulumi"])


def digest_of(image: str) -> str:
    return image.partition("@")[2]


@pytest.mark.thorough
def test_an_image_is_signed_once(project: Project) -> None:
    project.with_image(FIRST).preview()
    assert project.signed() == []  # the identity of previews cannot sign

    project.with_image(FIRST).up()
    project.with_image(FIRST).up()
    assert project.signed() == [f"registry.example/controller@{digest_of(FIRST)}"]

    project.with_image(SECOND).up()
    assert project.signed() == [f"registry.example/controller@{digest_of(SECOND)}"]


@pytest.mark.thorough
def test_what_uses_the_image_waits_for_a_signature_that_failed(project: Project) -> None:
    project.with_image(FIRST).up()
    project.refusal.touch()
    with pytest.raises(PulumiError, match="not deployed: PERMISSION_DENIED"):
        project.with_image(SECOND).up()
    project.signed()

    project.refusal.unlink()
    stack = project.with_image(SECOND)
    stack.up()
    assert project.signed() == [f"registry.example/controller@{digest_of(SECOND)}"]
    assert stack.outputs() == {"image": SECOND}


def test_a_stack_that_requires_signatures_is_previewed(tools: dict[str, Path], tmp_path: Path) -> None:
    content = yaml.safe_load((CHECKOUT / "stacks" / "Pulumi.staging.yaml").read_text())
    required = {"otherImages": ["docker.io/rayproject/**"]}
    signature = {"key": KEY, "publicKey": PEM, "required": required}
    content["config"]["muster:controller"] = {"build": {"signature": signature}}
    changed = tmp_path / "Pulumi.staging.yaml"
    changed.write_text(yaml.safe_dump(content))
    cli = PulumiCli(tools["pulumi"], tmp_path / "run", choices=choose_offline())

    outcome = cli.select("signed", changed).preview(policies=True)

    kinds = [change.type.rpartition(":")[2] for change in outcome.changes]
    assert {"Attestor", "Note", "Policy", "Stash"} <= set(kinds)
