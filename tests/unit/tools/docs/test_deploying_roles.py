"""The table of the deploying identity's roles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pulumi
import pulumi_gcp
import pytest

from preview.plan_properties import short_kind
from tools.docs.deploying_roles import NEEDS, PAGE, page_with_roles, table
from tools.toolchain.paths import CHECKOUT

COMPONENTS = sorted((CHECKOUT / "components").rglob("*.py"))


def test_the_table_is_that_of_the_reviewed_plans() -> None:
    assert PAGE.read_text() == page_with_roles(PAGE.read_text()), "write it with: make docs"


def test_a_role_is_listed_once_with_all_of_its_types() -> None:
    assert table(["compute.Router", "compute.Network", "compute.Network", "container.NodePool"]).split("\n")[
        2:
    ] == [
        "| `roles/compute.networkAdmin` | compute.Network, compute.Router | `compute.googleapis.com` |",
        "| `roles/container.admin` | container.NodePool | `container.googleapis.com` |",
        "| `roles/iam.serviceAccountUser` | nodes as their service account | `iam.googleapis.com` |",
    ]


def test_a_type_without_a_role_is_refused() -> None:
    with pytest.raises(KeyError, match=r"pubsub\.Topic"):
        table(["pubsub.Topic"])


def test_every_google_resource_of_the_components_has_a_role() -> None:
    """Includes resources that no shipped stack declares, such as workload policies of TPUs."""
    used = {kind for file in COMPONENTS for kind in google_resources(file)}

    assert used == set(NEEDS)


def google_resources(file: Path) -> Iterator[str]:
    """Yields the types of Google Cloud whose classes the file calls, named as in a plan."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module, name = ast.unparse(node.func.value).rpartition(".")[2], node.func.attr
            resource_type = getattr(getattr(pulumi_gcp, module, None), name, None)
            if isinstance(resource_type, type) and issubclass(resource_type, pulumi.CustomResource):
                yield short_kind(resource_type.pulumi_type)  # type: ignore[attr-defined]
