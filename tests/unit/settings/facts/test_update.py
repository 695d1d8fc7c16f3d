"""Tables of facts compared with public data, and updated from it."""

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from muster.files.errors import FileError
from settings.facts import update
from settings.facts.public_data import Machines, read_machines
from settings.facts.tables import FOLDER, table
from settings.facts.update import Difference, differences, updated

DAY = date(2027, 1, 31)
SOURCE = 'a "list"'


def machine_type(
    name: str, vcpus: int, memory_mib: int, zone: str = "us-west1-a", **more: Any
) -> dict[str, Any]:
    """An entry of `gcloud compute machine-types list --format=json`."""
    return {"name": name, "guestCpus": vcpus, "memoryMb": memory_mib, "zone": zone, **more}


G2 = "g2-standard-4"


def gpus(name: str, count: int) -> dict[str, Any]:
    return {"accelerators": [{"guestAcceleratorType": name, "guestAcceleratorCount": count}]}


def ssds(count: int) -> dict[str, Any]:
    return {"bundledLocalSsds": {"partitionCount": count, "defaultInterface": "NVME"}}


def compute(*entries: dict[str, Any]) -> Machines:
    return read_machines(json.dumps(entries), "machines.json")


L4 = gpus("nvidia-l4", 1)
CATALOG = """\
InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice
n2-standard-4,4.0,16.0,,,,us-west1,us-west1-b,0.19,0.05
a2-highgpu-1g,12.0,85.0,A100,1.0,A100,us-west1,us-west1-b,3.67,1.1
,,,V100,1.0,V100,us-west1,us-west1-b,2.48,0.74
"""

UNREADABLE = {
    "other columns": ("name,cpus\nn2,4\n", "InstanceType, vCPUs, MemoryGiB, AvailabilityZone"),
    "text for a number": (CATALOG.replace("4.0,16.0", "many,16.0"), "line 2: expected numbers"),
    "a GPU without a type": (
        json.dumps([machine_type(G2, 4, 16384, accelerators=[{"guestAcceleratorCount": 1}])]),
        "machine-types list --format=json",
    ),
    "nothing": ("[]", "expected machine types, but there are none"),
    "JSON of another command": ('[{"name": "us-west1"}]', "machine-types list --format=json"),
    "incomplete JSON": ("[{", "machine-types list --format=json"),
}


@pytest.mark.parametrize(("text", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_other_data_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_machines(text, "data")


def test_catalog_has_machine_types_without_attached_gpus() -> None:
    machines = read_machines(CATALOG, "vms.csv")
    assert machines.sizes == {
        "n2-standard-4": {"vcpus": 4, "memory_gib": 16},
        "a2-highgpu-1g": {"vcpus": 12, "memory_gib": 85},
    }
    assert machines.zones["a2-highgpu-1g"] == {"us-west1-b"}


DIFFERENCES: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "same": (machine_type("n2-standard-4", 4, 16384), []),
    "a URL as zone": (machine_type(G2, 4, 16384, "https://a.example/zones/us-west1-a", **L4), []),
    "other size": (machine_type("n2-standard-4", 4, 17408), [("machines", "n2-standard-4")]),
    "new in a family": (machine_type("n2-standard-160", 160, 655360), [("machines", "n2-standard-160")]),
    "shared core": (machine_type("e2-micro", 2, 1024, isSharedCpu=True), []),
    "deprecated": (machine_type("n2-standard-4", 4, 1, deprecated={"state": "DEPRECATED"}), []),
    "family that the table leaves out": (machine_type("f1-micro", 1, 614), []),
    "new zone": (machine_type(G2, 4, 16384, "us-south9-a", **L4), [("zones", "g2")]),
    "another GPU": (machine_type("g2-standard-4", 4, 16384, **gpus("nvidia-l5", 1)), [("accelerators", G2)]),
    "more GPUs": (machine_type("g2-standard-4", 4, 16384, **gpus("nvidia-l4", 2)), [("accelerators", G2)]),
    "other SSDs": (
        machine_type("a3-highgpu-1g", 26, 239616, "us-central1-a", **gpus("nvidia-h100-80gb", 1), **ssds(4)),
        [("local_ssds", "a3-highgpu-1g")],
    ),
    "other CPUs": (machine_type("n2-standard-4", 4, 16384, architecture="ARM64"), [("arm", "n2-standard-4")]),
}


@pytest.mark.parametrize(("entry", "expected"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_what_the_data_has_otherwise_is_a_difference(
    entry: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    machines = compute(entry, machine_type("c2-standard-4", 4, 16384))
    assert [(difference.table, difference.key) for difference in differences(machines)] == expected


@pytest.mark.parametrize("name", ["machines", "zones"])
def test_update_changes_only_source_date_and_facts(name: str) -> None:
    text = (FOLDER / f"{name}.toml").read_text()
    lines = updated(text, [], SOURCE, DAY).splitlines()
    changed = [line for line, before in zip(lines, text.splitlines(), strict=True) if line != before]
    assert changed == ['source = "a \\"list\\""', "date = 2027-01-31"]


def test_update_adds_and_replaces_facts() -> None:
    size, zones = {"vcpus": 160, "memory_gib": 640}, ["us-south9-a", "us-west1-a", "us-west1-b"]
    machines = (FOLDER / "machines.toml").read_text()
    added = updated(machines, [Difference("machines", "n2-standard-160", None, size)], SOURCE, DAY)
    assert tomllib.loads(added)["facts"] == {**table("machines").facts, "n2-standard-160": size}
    replaced = updated(
        (FOLDER / "zones.toml").read_text(), [Difference("zones", "g2", [], zones)], SOURCE, DAY
    )
    assert tomllib.loads(replaced) == {
        "source": SOURCE,
        "date": DAY,
        "facts": {**table("zones").facts, "g2": zones},
    }


def test_command_prints_differences_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "machines.json"
    file.write_text(json.dumps([machine_type(G2, 5, 16384, "us-south9-a", **gpus("nvidia-l4", 2))]))
    assert update.main([str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "accelerators  g2-standard-4: 2 nvidia-l4, here 1 nvidia-l4",
        "machines  g2-standard-4: 5 vCPUs and 16 GiB, here 4 vCPUs and 16 GiB",
        "zones  g2: also in us-south9-a",
        "3 differences",
    ]


def test_command_writes_both_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("machines", "zones"):
        (tmp_path / f"{name}.toml").write_text((FOLDER / f"{name}.toml").read_text())
    monkeypatch.setattr(update, "FOLDER", tmp_path)
    file = tmp_path / "vms.csv"
    file.write_text(CATALOG)
    assert update.main([str(file), "--write", SOURCE, "--date", "2027-01-31"]) == 0
    for name in ("machines", "zones"):
        assert tomllib.loads((tmp_path / f"{name}.toml").read_text())["date"] == DAY


def test_command_names_the_tables_to_edit_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("machines", "zones"):
        (tmp_path / f"{name}.toml").write_text((FOLDER / f"{name}.toml").read_text())
    monkeypatch.setattr(update, "FOLDER", tmp_path)
    file = tmp_path / "machines.json"
    file.write_text(json.dumps([machine_type(G2, 4, 16384, **gpus("nvidia-l5", 1))]))
    assert update.main([str(file), "--write", SOURCE, "--date", "2027-01-31"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "edit by hand: accelerators.toml"


def test_command_without_data_shows_ages(capsys: pytest.CaptureFixture[str]) -> None:
    assert update.main(["--date", "2027-01-31"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(FOLDER.glob("*.toml")))
    assert any(line.startswith("machines ") and " days " in line for line in lines)
