"""Resources that exist already, imported into a stack by the engine."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from preview.import_file import IDS, existing
from preview.plan import ResourceChange
from preview.pulumi_cli import PulumiCli, PulumiError, Stack
from preview.resources.pretence import OBJECTS, VARIABLE
from preview.resources.values import UNKNOWN
from tests.stacks.conftest import STAND_INS
from tools.toolchain.paths import CHECKOUT

PROD = CHECKOUT / "stacks" / "Pulumi.prod.yaml"
NETWORK = "gcp:compute/network:Network"
NEW = ("v6e-4x4-0", "v6e-4x4-1")
# One of each type.
EXISTING = {
    "projects/acme-ml-prod/locations/us-central1/clusters/ray-prod",
    "acme-ml-prod/us-central1/ray-prod/h100",
    "projects/acme-ml-prod/global/networks/ray-prod",
    "projects/acme-ml-prod/regions/us-central1/subnetworks/ray-prod",
    "projects/acme-ml-prod/regions/us-central1/routers/ray-prod-nat",
    "projects/acme-ml-prod/regions/us-central1/routers/ray-prod-nat/ray-prod-nat",
}

Entry = dict[str, Any]
Name = tuple[str, str]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of what exists in the cloud, by id."""
    path = tmp_path_factory.mktemp("cloud") / "objects.json"
    path.write_text("{}")
    return path


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stack prod, with the service account that the adopted nodes have."""
    content = yaml.safe_load(PROD.read_text())
    for pool in content["config"]["muster:pools"]:
        pool["serviceAccount"] = "nodes@acme-ml-prod.iam.gserviceaccount.com"
    path = tmp_path_factory.mktemp("settings") / "Pulumi.prod.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def prod(
    tools: dict[str, Path], objects: Path, settings: Path, tmp_path_factory: pytest.TempPathFactory
) -> Stack:
    env = {VARIABLE: "1", OBJECTS: str(objects)}
    cli = PulumiCli(tools["pulumi"], tmp_path_factory.mktemp("run"), env=env, choices=STAND_INS)
    cli.preload()
    return cli.select("prod", settings)


@pytest.fixture(scope="module")
def planned(prod: Stack, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[ResourceChange, ...]]:
    """The import file, and the plan that it is of."""
    path = tmp_path_factory.mktemp("file") / "import.json"
    changes = prod.preview(import_file=path).changes
    path.write_text(json.dumps(existing(json.loads(path.read_text()), changes, NEW)))
    return path, changes


@pytest.fixture(scope="module")
def file(planned: tuple[Path, tuple[ResourceChange, ...]]) -> Path:
    return planned[0]


def entries(file: Path) -> dict[Name, Entry]:
    """Returns the entries with an id, by type and name."""
    matches = [entry for entry in json.loads(file.read_text())["resources"] if "id" in entry]
    return {(entry["type"], entry.get("logicalName", entry["name"])): entry for entry in matches}


@pytest.mark.thorough
def test_ids_are_those_that_the_provider_imports(file: Path) -> None:
    ids = {entry["id"] for entry in entries(file).values()}
    assert ids >= EXISTING
    assert {entry["type"] for entry in entries(file).values() if entry["id"] in EXISTING} == set(IDS)
    assert not [name for name in ids if name.endswith(NEW)]


def test_a_resource_that_does_not_exist_is_not_imported(prod: Stack, settings: Path, file: Path) -> None:
    with pytest.raises(PulumiError, match="does not exist"):
        prod.cli.select("empty", settings).adopt(file)


def test_what_was_imported_is_not_created(
    prod: Stack, objects: Path, planned: tuple[Path, tuple[ResourceChange, ...]]
) -> None:
    file, changes = planned
    inputs, adopted = {(change.type, change.name): change.after for change in changes}, entries(file)
    live = {entry["id"]: inputs[name] for name, entry in adopted.items()}
    text = json.dumps(live).replace(UNKNOWN, "known")
    for (kind, name), entry in adopted.items():
        if kind == NETWORK:  # by whose id the plan names the network of others
            text = text.replace(f'"pretended/{name}"', json.dumps(entry["id"]))
    objects.write_text(text)

    prod.adopt(file)

    after = {(change.type, change.name): change.op for change in prod.preview().changes}
    assert {name: op for name, op in after.items() if name in adopted and op not in ("same", "update")} == {}
    assert after["gcp:container/nodePool:NodePool", "h100"] == "same"
    created = {name for kind, name in after if kind in IDS and after[kind, name] == "create"}
    assert created == set(NEW)
