"""Limits of settings and those in the CRDs of the pinned Kueue."""

from typing import Any

import yaml

from settings.rules.kueue_schema import LIMITS
from tools.toolchain.crds import ensure_crds


def spec(plural: str) -> dict[str, Any]:
    """Returns the schema of the newest version's spec."""
    text = (ensure_crds("kueue") / f"kueue.x-k8s.io_{plural}.yaml").read_text()
    (stored,) = [version for version in yaml.safe_load(text)["spec"]["versions"] if version["storage"]]
    schema: dict[str, Any] = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return schema


def test_limits_of_the_rules_are_those_of_the_crds() -> None:
    for kind in ("clusterqueues", "cohorts"):
        groups = spec(kind)["resourceGroups"]
        assert groups["maxItems"] == LIMITS["resource_groups"]
        assert groups["items"]["properties"]["flavors"]["maxItems"] == LIMITS["flavors_in_group"]
    assert spec("resourceflavors")["nodeLabels"]["maxProperties"] == LIMITS["node_labels"]
