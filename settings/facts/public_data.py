"""Reads lists of Google Cloud's machine types: of Compute Engine's API, and of SkyPilot's catalog."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.files.errors import FileError

MIB_PER_GIB = 1024
CATALOG_COLUMNS = ("InstanceType", "vCPUs", "MemoryGiB", "AvailabilityZone")


@dataclass(frozen=True)
class Parts:
    """Parts of a machine type: GPUs by GKE's name, empty if it has none, local SSDs, and Arm CPUs."""

    gpu_type: str = ""
    gpu_count: int = 0
    local_ssds: int = 0
    arm: bool = False


@dataclass(frozen=True)
class Machines:
    """Machine types by name: `sizes` as the table `machines` has them, and the `zones` that have them.

    parts: empty if the data does not have them, as in SkyPilot's catalog.
    """

    sizes: Mapping[str, Mapping[str, int]]
    zones: Mapping[str, frozenset[str]]
    parts: Mapping[str, Parts] = field(default_factory=dict)


def read_machines(text: str, source: str) -> Machines:
    """Returns the machine types of JSON (`gcloud compute machine-types list --format=json`) or of CSV
    (SkyPilot's gcp/vms.csv). Raises FileError for another format."""
    is_of_compute = text.lstrip().startswith("[")
    rows, parts = _of_compute(text, source) if is_of_compute else (_of_catalog(text, source), {})
    sizes: dict[str, Mapping[str, int]] = {}
    zones: defaultdict[str, set[str]] = defaultdict(set)
    for name, vcpus, memory_gib, zone in rows:
        sizes[name] = {"vcpus": int(vcpus), "memory_gib": int(memory_gib)}
        zones[name].add(zone)
    if not sizes:
        raise FileError(f"{source}: expected machine types, but there are none")
    return Machines(sizes, {name: frozenset(has) for name, has in zones.items()}, parts)


def _parts(items: Iterable[Mapping[str, Any]]) -> dict[str, Parts]:
    """Returns the parts of machine types (Compute Engine API: MachineType.accelerators, bundledLocalSsds,
    architecture)."""
    parts: dict[str, Parts] = {}
    for item in items:
        gpus = [a for a in item.get("accelerators", ()) if a["guestAcceleratorType"].startswith("nvidia-")]
        parts[item["name"]] = Parts(
            gpus[0]["guestAcceleratorType"] if gpus else "",
            sum(gpu["guestAcceleratorCount"] for gpu in gpus),
            item.get("bundledLocalSsds", {}).get("partitionCount", 0),
            item.get("architecture") == "ARM64",
        )
    return parts


Row = tuple[str, float, float, str]


def _of_compute(text: str, source: str) -> tuple[list[Row], dict[str, Parts]]:
    try:
        items: list[Mapping[str, Any]] = json.loads(text)
        rows = [
            (
                item["name"],
                item["guestCpus"],
                item["memoryMb"] / MIB_PER_GIB,
                item["zone"].rpartition("/")[2],  # a URL in older versions of gcloud
            )
            for item in items
            if not item.get("isSharedCpu") and not item.get("deprecated")
        ]
        return rows, _parts(items)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{source}: expected the output of `gcloud compute machine-types list --format=json`: {error!r}"
        ) from error


def _of_catalog(text: str, source: str) -> list[Row]:
    lines = csv.DictReader(text.splitlines())
    missing = [column for column in CATALOG_COLUMNS if column not in (lines.fieldnames or ())]
    if missing:
        raise FileError(
            f"{source}: expected JSON of gcloud, or SkyPilot's catalog with the columns {', '.join(missing)}"
        )
    try:
        return [_catalog_row(line) for line in lines if _is_machine(line)]
    except (ValueError, TypeError) as error:
        raise FileError(
            f"{source}, line {lines.line_num}: expected numbers of vCPUs and GiB: {error}"
        ) from error


def _catalog_row(line: Mapping[str, str]) -> Row:
    return line["InstanceType"], float(line["vCPUs"]), float(line["MemoryGiB"]), line["AvailabilityZone"]


def _is_machine(line: Mapping[str, str]) -> bool:
    """Returns whether this is a machine type, and not a GPU or TPU that is attached to one."""
    return bool(line["InstanceType"] and line["vCPUs"] and line["MemoryGiB"])


def families(names: Iterable[str]) -> frozenset[str]:
    """Returns the first parts of names of machine types, such as n2."""
    return frozenset(name.partition("-")[0] for name in names)
