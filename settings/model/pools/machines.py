"""Machine types that a pool may use, and the capacity of each.

Sources: Compute Engine, "General-purpose machine family", "Accelerator-optimized machine family",
"HPC-optimized machine family", "TPU machines"; vCPUs and memory as `gcloud compute machine-types list` prints
them, for a4x as in GKE's cluster-autoscaler (machinetypes). Memory is in GiB (Google writes GB). GPUs of
the a and g families and TPU chips are part of the machine type, so a pool cannot request another number of
them; GPUs can be attached to n1 machines.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """Capacity of one machine: vCPUs, memory in GiB, accelerators and local SSDs.

    gpu_type and tpu_type are GKE's names (labels gke-accelerator and gke-tpu-accelerator); local_ssds is the
    number of disks of local_ssd_gib that are part of the machine type, and attachable_ssds are the counts to
    choose from where none are. arm: its CPUs are Arm's, which do not run images for x86.
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


def _family(prefix: str, vcpus: tuple[int, ...], gib_per_vcpu: int) -> dict[str, Machine]:
    return {f"{prefix}-{count}": Machine(count, count * gib_per_vcpu) for count in vcpus}


def _n1(prefix: str, gib_per_vcpu: float) -> dict[str, Machine]:
    ssds = (*range(1, 9), 16, 24)
    return {
        f"{prefix}-{count}": Machine(
            count, int(count * gib_per_vcpu), attachable_ssds=ssds, attaches_gpus=True
        )
        for count in (4, 8, 16, 32, 64, 96)
    }


def _n2(vcpus: int, fewest_ssds: int) -> Machine:
    ssds = tuple(count for count in (1, 2, 4, 8, 16, 24) if count >= fewest_ssds)
    return Machine(vcpus, 4 * vcpus, attachable_ssds=ssds)


def _l4(vcpus: int, gpus: int) -> Machine:
    return Machine(vcpus, 4 * vcpus, "nvidia-l4", gpus, attachable_ssds=(gpus,))


def _tpu(tpu_type: str, vcpus: int, memory_gib: int, chips: int) -> Machine:
    return Machine(vcpus, memory_gib, tpu_type=tpu_type, tpu_chips=chips)


_A100 = "nvidia-tesla-a100"
_A100_80 = "nvidia-a100-80gb"
_H100 = "nvidia-h100-80gb"
_RTX_6000 = "nvidia-rtx-pro-6000"
_V5E, _V5P, _V6E, _V7 = "tpu-v5-lite-podslice", "tpu-v5p-slice", "tpu-v6e-slice", "tpu7x"

MACHINES: dict[str, Machine] = {
    **_family("e2-standard", (2, 4, 8, 16, 32), 4),
    **_family("e2-highmem", (2, 4, 8, 16), 8),
    "n2-standard-2": _n2(2, 1),
    "n2-standard-4": _n2(4, 1),
    "n2-standard-8": _n2(8, 1),
    "n2-standard-16": _n2(16, 2),
    "n2-standard-32": _n2(32, 4),
    "n2-standard-48": _n2(48, 8),
    "n2-standard-64": _n2(64, 8),
    "n2-standard-80": _n2(80, 8),
    **_n1("n1-standard", 3.75),
    **_n1("n1-highmem", 6.5),
    "h4d-standard-192": Machine(192, 720),
    "h4d-highmem-192": Machine(192, 1488),
    "g2-standard-4": _l4(4, 1),
    "g2-standard-8": _l4(8, 1),
    "g2-standard-12": _l4(12, 1),
    "g2-standard-16": _l4(16, 1),
    "g2-standard-24": _l4(24, 2),
    "g2-standard-32": _l4(32, 1),
    "g2-standard-48": _l4(48, 4),
    "g2-standard-96": _l4(96, 8),
    "g4-standard-48": Machine(48, 180, _RTX_6000, 1),
    "g4-standard-96": Machine(96, 360, _RTX_6000, 2),
    "g4-standard-192": Machine(192, 720, _RTX_6000, 4),
    "g4-standard-384": Machine(384, 1440, _RTX_6000, 8),
    "a2-highgpu-1g": Machine(12, 85, _A100, 1, attachable_ssds=(1, 2, 4, 8)),
    "a2-highgpu-2g": Machine(24, 170, _A100, 2, attachable_ssds=(2, 4, 8)),
    "a2-highgpu-4g": Machine(48, 340, _A100, 4, attachable_ssds=(4, 8)),
    "a2-highgpu-8g": Machine(96, 680, _A100, 8, attachable_ssds=(8,)),
    "a2-ultragpu-1g": Machine(12, 170, _A100_80, 1, local_ssds=1),
    "a2-ultragpu-2g": Machine(24, 340, _A100_80, 2, local_ssds=2),
    "a2-ultragpu-4g": Machine(48, 680, _A100_80, 4, local_ssds=4),
    "a2-ultragpu-8g": Machine(96, 1360, _A100_80, 8, local_ssds=8),
    "a3-highgpu-1g": Machine(26, 234, _H100, 1, local_ssds=2),
    "a3-highgpu-2g": Machine(52, 468, _H100, 2, local_ssds=4),
    "a3-highgpu-4g": Machine(104, 936, _H100, 4, local_ssds=8),
    "a3-highgpu-8g": Machine(208, 1872, _H100, 8, local_ssds=16),
    "a3-megagpu-8g": Machine(208, 1872, "nvidia-h100-mega-80gb", 8, local_ssds=16),
    "a3-ultragpu-8g": Machine(224, 2952, "nvidia-h200-141gb", 8, local_ssds=32),
    "a4-highgpu-8g": Machine(224, 3968, "nvidia-b200", 8, local_ssds=32),
    "a4x-highgpu-4g": Machine(140, 884, "nvidia-gb200", 4, local_ssds=4, local_ssd_gib=3000, arm=True),
    "a4x-highgpu-4g-nolssd": Machine(140, 884, "nvidia-gb200", 4, arm=True),
    "ct5lp-hightpu-1t": _tpu(_V5E, 24, 48, 1),
    "ct5lp-hightpu-4t": _tpu(_V5E, 112, 192, 4),
    "ct5lp-hightpu-8t": _tpu(_V5E, 224, 384, 8),
    "ct5p-hightpu-4t": _tpu(_V5P, 208, 448, 4),
    "ct6e-standard-1t": _tpu(_V6E, 44, 176, 1),
    "ct6e-standard-4t": _tpu(_V6E, 180, 720, 4),
    "ct6e-standard-8t": _tpu(_V6E, 360, 1440, 8),
    "tpu7x-standard-1t": _tpu(_V7, 56, 240, 1),
    "tpu7x-standard-4t": _tpu(_V7, 224, 960, 4),
}
