"""Ids of import files."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from preview.import_file import IDS, existing
from preview.plan import ResourceChange
from tools.toolchain.steps import StepError

PLACE = re.compile(r"\{+(\w+)\}+")


def documented(token: str) -> set[str]:
    """Returns the formats of ids under Import in the SDK's documentation of a type."""
    spec = find_spec("pulumi_gcp")
    assert spec is not None
    assert spec.origin is not None
    module, _, kind = token.removeprefix("gcp:").partition("/")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.partition(":")[0]).lower()
    text = (Path(spec.origin).parent / module / f"{name}.py").read_text()
    return set(re.findall(rf"pulumi import {token} default (\S+)", text))


@pytest.mark.parametrize("token", IDS)
def test_ids_have_a_format_of_the_providers_documentation(token: str) -> None:
    formats = {PLACE.sub("…", example) for example in documented(token)}
    assert PLACE.sub("…", IDS[token]) in formats


NETWORK = "gcp:compute/network:Network"
WRITTEN = {
    "resources": [
        {"type": "muster:platform:Network", "name": "network", "component": True},
        {"type": "muster:platform:Kueue", "name": "kueue", "component": True},
        {
            "type": NETWORK,
            "name": "rayNetwork",
            "logicalName": "ray",
            "parent": "network",
            "provider": "google",
        },
        {"type": NETWORK, "name": "gpu", "parent": "network", "provider": "google"},
    ]
}
CHANGES = [
    ResourceChange(
        "create", NETWORK, f"urn:pulumi:dev::muster::{NETWORK}::{name}", after={"project": "p", "name": name}
    )
    for name in ("ray", "gpu")
]


def test_what_exists_is_kept_with_the_components_above_it_and_without_its_provider() -> None:
    assert existing(WRITTEN, CHANGES, ["gpu"])["resources"] == [
        WRITTEN["resources"][0],
        {
            "type": NETWORK,
            "name": "rayNetwork",
            "logicalName": "ray",
            "parent": "network",
            "id": "projects/p/global/networks/ray",
        },
    ]


def test_a_resource_that_the_stack_does_not_declare_cannot_be_left_out() -> None:
    with pytest.raises(StepError, match="the stack has no a100 to import"):
        existing(WRITTEN, CHANGES, ["gpu", "a100"])
