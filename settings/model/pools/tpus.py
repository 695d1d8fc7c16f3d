"""TPU topologies: how the chips of a slice are connected, and how many machines a slice takes.

Sources: GKE, "Plan TPUs in GKE"; xpk (system_characteristics.py) and cluster-toolkit (tpu-definition).
"""

import re
from math import prod
from typing import Annotated

from pydantic import Field
from typing_extensions import Doc

from settings.model.base import Model, matching
from settings.model.pools.machines import Machine

TPU_RESOURCE = "google.com/tpu"
TOPOLOGY = re.compile(r"[1-9][0-9]*x[1-9][0-9]*(x[1-9][0-9]*)?")

_FLAT = ("2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_SMALL_CUBES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4")
_FLAT_TYPES = ("tpu-v5-lite-podslice", "tpu-v6e-slice")
# Larger slices consist of cubes of 4x4x4 chips; this is the maximum number of cubes.
_CUBES_MAX = {"tpu-v5p-slice": 140, "tpu7x": 144}

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
    chips = prod(_axes(topology))
    if machine.tpu_chips == 1:
        return chips == 1 and len(_axes(topology)) == len(_axes(smallest_topology(machine)))
    if machine.tpu_chips == 8:
        return topology == "2x4"
    if machine.tpu_type in _FLAT_TYPES:
        return topology in _FLAT
    return topology in _SMALL_CUBES or _is_cubes(topology, _CUBES_MAX.get(machine.tpu_type or "", 0))


def smallest_topology(machine: Machine) -> str:
    """Returns the topology of a slice of a single machine of this type."""
    flat = machine.tpu_type in _FLAT_TYPES
    return {1: "1x1" if flat else "1x1x1", 4: "2x2" if flat else "2x2x1", 8: "2x4"}[machine.tpu_chips]


def _is_cubes(topology: str, cubes_max: int) -> bool:
    axes = _axes(topology)
    whole = all(axis % 4 == 0 and axis <= 256 for axis in axes)
    return len(axes) == 3 and whole and axes == sorted(axes) and prod(axes) // 64 <= cubes_max


def _axes(topology: str) -> list[int]:
    return [int(axis) for axis in topology.split("x")]
