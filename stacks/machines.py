"""Machine types a pool may use, and what one machine holds.

Source: Compute Engine, "General-purpose machine family" and "Accelerator-optimized machine family".
Memory is in GiB (Google writes GB). Accelerators of these families are part of the machine type, so a
pool can't ask for another number of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine: virtual CPUs, memory in GiB, and the GPUs that come with it."""

    vcpus: int
    memory_gib: int
    gpu_type: str | None = None
    gpu_count: int = 0


def _family(prefix: str, vcpus: tuple[int, ...], gib_per_vcpu: int) -> dict[str, Machine]:
    return {f"{prefix}-{count}": Machine(count, count * gib_per_vcpu) for count in vcpus}


_L4 = "nvidia-l4"
_A100 = "nvidia-tesla-a100"

MACHINES: dict[str, Machine] = {
    **_family("e2-standard", (2, 4, 8, 16, 32), 4),
    **_family("e2-highmem", (2, 4, 8, 16), 8),
    **_family("n2-standard", (2, 4, 8, 16, 32, 48, 64, 80), 4),
    "g2-standard-4": Machine(4, 16, _L4, 1),
    "g2-standard-8": Machine(8, 32, _L4, 1),
    "g2-standard-12": Machine(12, 48, _L4, 1),
    "g2-standard-16": Machine(16, 64, _L4, 1),
    "g2-standard-24": Machine(24, 96, _L4, 2),
    "g2-standard-32": Machine(32, 128, _L4, 1),
    "g2-standard-48": Machine(48, 192, _L4, 4),
    "g2-standard-96": Machine(96, 384, _L4, 8),
    "a2-highgpu-1g": Machine(12, 85, _A100, 1),
    "a2-highgpu-2g": Machine(24, 170, _A100, 2),
    "a2-highgpu-4g": Machine(48, 340, _A100, 4),
    "a2-highgpu-8g": Machine(96, 680, _A100, 8),
    "a3-highgpu-8g": Machine(208, 1872, "nvidia-h100-80gb", 8),
}
