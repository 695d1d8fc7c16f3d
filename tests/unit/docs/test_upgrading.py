"""Checks of docs/upgrading.md: the pinned versions are those of the code, and every part has its commands."""

import re

import pytest

from settings.model.operators.gpus import GPU_OPERATOR_VERSION
from settings.model.operators.jobset import JOBSET_VERSION
from settings.model.operators.kai import KAI_VERSION
from settings.model.operators.kuberay import KUBERAY_VERSION
from settings.model.operators.kueue import KUEUE_VERSION
from settings.model.operators.lws import LWS_VERSION
from tests.unit.docs.markdown import BLOCK, ROOT
from tools.toolchain.tools import KUBERNETES, TOOLS

PAGE = (ROOT / "docs" / "upgrading.md").read_text()
ROW = re.compile(r"^\| ([\w ]+) \| ([\d.]+) \| .+ \|$", re.MULTILINE)
PARTS = [
    "GKE",
    "KubeRay",
    "Kueue",
    "KAI",
    "JobSet",
    "LeaderWorkerSet",
    "GPU Operator",
    "Muster itself",
    "Pulumi and the libraries",
]


def tool(name: str) -> str:
    return TOOLS[name].version.removeprefix("v")


def test_the_pinned_versions_are_those_of_the_settings_and_of_the_sandbox() -> None:
    assert dict(ROW.findall(PAGE)) == {
        "KubeRay": KUBERAY_VERSION,
        "Kueue": KUEUE_VERSION,
        "JobSet": JOBSET_VERSION,
        "LeaderWorkerSet": LWS_VERSION,
        "KAI Scheduler": KAI_VERSION,
        "GPU Operator": GPU_OPERATOR_VERSION,
        "Kubernetes": KUBERNETES.removeprefix("v"),
        "Pulumi": tool("pulumi"),
    }


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        ("ray-operator", KUBERAY_VERSION),
        ("kueue", KUEUE_VERSION),
        ("jobset", JOBSET_VERSION),
        ("lws", LWS_VERSION),
        ("kai-scheduler", KAI_VERSION),
    ],
)
def test_the_sandbox_runs_the_version_that_is_the_settings_default(name: str, pinned: str) -> None:
    assert tool(name) == pinned


@pytest.mark.parametrize("part", PARTS)
def test_every_part_shows_what_to_type(part: str) -> None:
    _, section = PAGE.split(f"\n## {part}\n")
    assert BLOCK.search(section.split("\n## ")[0]), "no commands, and no stack"


@pytest.mark.parametrize("version", re.findall(r"go get \S+@v([\d.]+)", PAGE))
def test_commands_name_a_pinned_version(version: str) -> None:
    assert version in (KUBERAY_VERSION, KUEUE_VERSION, JOBSET_VERSION, LWS_VERSION, KAI_VERSION)
