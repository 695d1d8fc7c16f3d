"""Amounts that GKE leaves of a node to pods.

Source of GKE's reservations: GKE, "Plan GKE Standard node sizes" (node allocatable resources).
"""

from collections.abc import Sequence
from fractions import Fraction

from settings.model.base import amount
from settings.model.pools.pool import PODS_PER_NODE, Pool

GIB = 1024**3
Amounts = dict[str, Fraction]
Tiers = Sequence[tuple[int | None, Fraction]]

# Sizes of tiers (None: all above), and the part of each that GKE reserves.
CPU_TIERS: Tiers = (
    (1, Fraction("0.06")),
    (1, Fraction("0.01")),
    (2, Fraction("0.005")),
    (None, Fraction("0.0025")),
)
MEMORY_TIERS: Tiers = (
    (4, Fraction("0.25")),
    (4, Fraction("0.2")),
    (8, Fraction("0.1")),
    (112, Fraction("0.06")),
    (None, Fraction("0.02")),
)
CPU_FOR_MANY_PODS = Fraction("0.4")
MEMORY_EVICTION_GIB = Fraction(100, 1024)
DISK_EVICTION = Fraction("0.1")
BOOT_DISK_GB = 100  # GKE's default
# The file system of a boot disk of 100 GB, as in the guide's example of a node.
FILE_SYSTEM = Fraction(98831908, 100 * 1024**2)
LOCAL_SSD_RESERVED_GIB = (50, 75, 100)


def allocatable(pool: Pool) -> Amounts:
    """Returns what GKE leaves to the pods of one node, in cores, bytes and counts."""
    machine, pods = pool.machine, pool.max_pods_per_node or PODS_PER_NODE
    extra = CPU_FOR_MANY_PODS if pods > PODS_PER_NODE else 0
    memory = machine.memory_gib - _tiered(machine.memory_gib, MEMORY_TIERS) - MEMORY_EVICTION_GIB
    capacity = {resource: amount(quantity) for resource, quantity in pool.capacity.items()}
    return capacity | {
        "cpu": machine.vcpus - _tiered(machine.vcpus, CPU_TIERS) - extra,
        "memory": memory * GIB - (pool.linux.hugepage_bytes if pool.linux else 0),
        "ephemeral-storage": _ephemeral_storage_gib(pool) * GIB,
    }


def _tiered(size: int, tiers: Tiers) -> Fraction:
    reserved, remaining = Fraction(0), size
    for tier, part in tiers:
        here = remaining if tier is None else min(remaining, tier)
        reserved += here * part
        remaining -= here
    return reserved


def _ephemeral_storage_gib(pool: Pool) -> Fraction:
    """Returns what containers may use of the local SSDs, or else of the boot disk."""
    if count := pool.local_ssd_count:
        reserved = LOCAL_SSD_RESERVED_GIB[min(count, len(LOCAL_SSD_RESERVED_GIB)) - 1]
        return count * pool.machine.local_ssd_gib * (1 - DISK_EVICTION) - reserved
    disk = pool.boot_disk.size_gb or BOOT_DISK_GB
    system = min(Fraction(disk, 2), 6 + Fraction("0.35") * disk, Fraction(100))
    return disk * FILE_SYSTEM * (1 - DISK_EVICTION) - system
