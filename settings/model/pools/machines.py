"""Machine types that a pool may use: capacity, accelerators, disks, and where and how to get them.

The facts are in `settings/facts/`; `muster:machineTypes` adds others. Memory is in GiB (Google writes GB).
GPUs of the a and g families and TPU chips are part of the machine type, so a pool cannot request another
number of them; GPUs can be attached to n1 machines.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from settings.facts.tables import Table, table

FLEX_START = ("flex-start", "queued")


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts about one machine type: vCPUs, memory in GiB, accelerators and disks.

    gpu_type and tpu_type are GKE's names (labels gke-accelerator and gke-tpu-accelerator); local_ssds is the
    number of disks of local_ssd_gib that are part of the machine type, and attachable_ssds are the counts to
    choose from where none are. arm: its CPUs are Arm's, which do not run images for x86.
    boot_disks, provisioning: types of disks and ways to get it; zones: where it is; flex_start_zones: where
    flex-start provides it. If one of these four is empty, no limit is known.
    """

    vcpus: int
    memory_gib: int
    gpu_type: str | None = None
    gpu_count: int = 0
    tpu_type: str | None = None
    tpu_chips: int = 0
    local_ssds: int = 0
    local_ssd_gib: int = 375
    attachable_ssds: tuple[int, ...] = ()
    attaches_gpus: bool = False
    arm: bool = False
    boot_disks: tuple[str, ...] = ()
    provisioning: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    flex_start_zones: tuple[str, ...] = ()

    def offered(self, provisioning: str) -> bool:
        """Returns whether these machines are offered this way, as far as is known."""
        return not self.provisioning or _way(provisioning) in self.provisioning

    def zones_for(self, provisioning: str) -> tuple[str, ...]:
        """Returns the zones in which machines are offered this way; empty if they are not known."""
        return (_way(provisioning) == "flex-start" and self.flex_start_zones) or self.zones


def zone_facts(machine: Machine, provisioning: str) -> Table:
    """Returns the table that `zones_for` is from."""
    by_flex_start = _way(provisioning) == "flex-start" and machine.flex_start_zones
    return table("flex_start_zones" if by_flex_start else "zones")


def series(machine_type: str) -> str:
    """Returns the machine series, the first part of the name."""
    return machine_type.partition("-")[0]


def _way(provisioning: str) -> str:
    """Returns the way in which machines are sold: queued provisioning is flex-start for entire gangs."""
    return "flex-start" if provisioning in FLEX_START else provisioning


def _machines() -> dict[str, Machine]:
    accelerators = {
        machine_type: (accelerator, count)
        for accelerator, counts in table("accelerators").facts.items()
        for machine_type, count in counts.items()
    }
    return {
        name: _machine(name, size, *accelerators.get(name, (None, 0)))
        for name, size in table("machines").facts.items()
    }


def _machine(name: str, size: Mapping[str, int], accelerator: str | None, count: int) -> Machine:
    ssds = table("local_ssds").of(name) or {}
    is_tpu = accelerator in table("tpu_topologies").facts
    return Machine(
        **size,
        gpu_type=None if is_tpu else accelerator,
        gpu_count=0 if is_tpu else count,
        tpu_type=accelerator if is_tpu else None,
        tpu_chips=count if is_tpu else 0,
        local_ssds=ssds.get("fixed", 0),
        local_ssd_gib=ssds.get("gib", 375),
        attachable_ssds=tuple(ssds.get("counts", ())),
        attaches_gpus=series(name) == "n1",
        arm=series(name) in table("arm").facts["series"],
        boot_disks=tuple(table("boot_disks").of(name)),
        provisioning=tuple(table("provisioning").of(name) or ()),
        zones=tuple(table("zones").of(name) or ()),
        flex_start_zones=tuple(table("flex_start_zones").of(name) or ()),
    )


MACHINES = _machines()
