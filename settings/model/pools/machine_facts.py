"""Machine types that a stack describes itself: new ones, and corrections of those that are known."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from typing_extensions import Doc

from settings.model.base import Model, matching, refuse
from settings.model.pools.machines import Machine
from settings.model.regions import Zone

MACHINE_TYPE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
BootDiskType = Literal["pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced"]


class MachineFacts(Model):
    """A machine type that `settings/facts/` does not list, or lists with other values."""

    vcpus: Annotated[int, Field(ge=1)]
    """Number of vCPUs."""
    memory_gib: Annotated[int, Field(ge=1)]
    """Memory in GiB, which Google calls GB."""
    gpu_type: str | None = None
    """GKE's name of its GPUs, such as nvidia-l4."""
    gpu_count: Annotated[int, Field(ge=0)] = 0
    """Number of its GPUs."""
    tpu_type: str | None = None
    """GKE's name of its TPU chips, such as tpu-v6e-slice."""
    tpu_chips: Annotated[int, Field(ge=0)] = 0
    """Number of its TPU chips."""
    local_ssds: Annotated[int, Field(ge=0)] = 0
    """Number of local SSDs that are part of it."""
    local_ssd_gib: Annotated[int, Field(ge=1)] = 375
    """Size of each of them in GiB."""
    arm: bool = False
    """Whether its CPUs are Arm's, which do not run images for x86."""
    boot_disks: tuple[BootDiskType, ...] = ()
    """Types of boot disks that it supports (none: any)."""
    provisioning: tuple[Literal["on-demand", "spot", "reserved", "flex-start"], ...] = ()
    """Ways to get it (none: any); `flex-start` includes queued provisioning."""
    zones: tuple[Zone, ...] = ()
    """Zones that have it (none: any)."""

    @model_validator(mode="after")
    def _accelerators_are_counted(self) -> Self:
        for kind, count in ((self.gpu_type, self.gpu_count), (self.tpu_type, self.tpu_chips)):
            if (kind is None) != (count == 0):
                refuse("a type and a number of accelerators, or neither", "add what is missing")
        return self

    @property
    def machine(self) -> Machine:
        """The facts as those of a known machine type."""
        return Machine(**self.model_dump())


def _offer_to_pools(described: dict[str, MachineFacts], info: ValidationInfo) -> dict[str, MachineFacts]:
    """Makes the machine types known to the pools, which are validated after them."""
    if info.context is not None:
        info.context["machines"] = {name: facts.machine for name, facts in described.items()}
    return described


MachineTypeName = Annotated[
    str,
    matching(
        MACHINE_TYPE, "the name of a machine type", "write it as Compute Engine does, such as n4-standard-8"
    ),
    Doc("machine type"),
]
MachineTypes = Annotated[dict[MachineTypeName, MachineFacts], AfterValidator(_offer_to_pools)]


def described_machines(info: ValidationInfo) -> dict[str, Machine]:
    """Returns the machine types that the stack describes."""
    machines: dict[str, Machine] = (info.context or {}).get("machines", {})
    return machines
