"""TPU topologies: how the chips of a slice are connected, and how many machines a slice takes."""

import re
from collections.abc import Mapping
from math import prod
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import Doc

from settings.facts.tables import table
from settings.model.base import Model, matching
from settings.model.pools.machines import Machine

TPU_RESOURCE = "google.com/tpu"
TOPOLOGY = re.compile(r"[1-9][0-9]*x[1-9][0-9]*(x[1-9][0-9]*)?")

# Of a TPU version that only the stack knows, any topology is accepted.
_UNKNOWN = {"single": "1x1", "small": ["2x2"], "any": True}

TpuTopology = Annotated[
    str,
    matching(TOPOLOGY, "a topology: chips along two or three axes", "write it as 4x4 or 2x2x4"),
    Doc("topology"),
]


class Tpu(Model):
    """TPU slices of a pool's machines."""

    topology: TpuTopology
    """Chips along two or three axes, such as 4x4 or 2x2x4, which gives the number of machines per slice."""

    @property
    def chips(self) -> int:
        """Number of chips of the slice."""
        return prod(_axes(self.topology))

    def machines(self, machine: Machine) -> int:
        """Number of machines per slice."""
        return max(1, self.chips // machine.tpu_chips) if machine.tpu_chips else 1


class Slices(Model):
    """Limit of a pool's multi-host slices; GKE creates and deletes the nodes of a slice together."""

    max: Annotated[int, Field(ge=1, le=1000)]
    """Number of node pools, one per slice, each with either no nodes or all of them."""


def is_topology_of(topology: str, machine: Machine) -> bool:
    """Returns whether GKE offers slices of this topology on this machine type."""
    facts = _topologies(machine)
    if "any" in facts:
        return True
    if machine.tpu_chips == 1:
        return bool(topology == facts["single"])
    if machine.tpu_chips == 8:
        return topology == "2x4"
    return topology in facts["small"] or _is_cubes(topology, facts.get("cubes", 0))


def smallest_topology(machine: Machine) -> str:
    """Returns the topology of a slice of a single machine of this type."""
    facts = _topologies(machine)
    return str({1: facts["single"], 8: "2x4"}.get(machine.tpu_chips, facts["small"][0]))


def _topologies(machine: Machine) -> Mapping[str, Any]:
    topologies: Mapping[str, Mapping[str, Any]] = table("tpu_topologies").facts
    return topologies.get(machine.tpu_type or "", _UNKNOWN)


def _is_cubes(topology: str, cubes_max: int) -> bool:
    axes = _axes(topology)
    whole = all(axis % 4 == 0 and axis <= 256 for axis in axes)
    return len(axes) == 3 and whole and axes == sorted(axes) and prod(axes) // 64 <= cubes_max


def _axes(topology: str) -> list[int]:
    return [int(axis) for axis in topology.split("x")]
