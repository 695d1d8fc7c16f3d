"""Pools of every kind, for valid and invalid stacks."""

from typing import Any, NamedTuple

from tests.unit.settings.builders import Case

UP_TO_4 = {"nodes": {"max": 4}}
GPU: dict[str, Any] = {"machineType": "g2-standard-4", "gpu": {"type": "nvidia-l4", "count": 1}, **UP_TO_4}
CPU = {"machineType": "n2-standard-8", **UP_TO_4}
H4D = {"machineType": "h4d-highmem-192", **UP_TO_4}
H100 = {"machineType": "a3-highgpu-8g", "gpu": {"type": "nvidia-h100-80gb", "count": 8}, **UP_TO_4}
H100_ALONE = {"machineType": "a3-highgpu-1g", "gpu": {"type": "nvidia-h100-80gb", "count": 1}, **UP_TO_4}
H100_MEGA = {"machineType": "a3-megagpu-8g", "gpu": {"type": "nvidia-h100-mega-80gb", "count": 8}, **UP_TO_4}
H200 = {
    "machineType": "a3-ultragpu-8g",
    "gpu": {"type": "nvidia-h200-141gb", "count": 8},
    "provisioning": "spot",
    **UP_TO_4,
}
B200 = {"machineType": "a4-highgpu-8g", "gpu": {"type": "nvidia-b200", "count": 8}, **UP_TO_4}
GB200 = {
    "machineType": "a4x-highgpu-4g",
    "gpu": {"type": "nvidia-gb200", "count": 4},
    "provisioning": "reserved",
    "reservation": "gpus",
    **UP_TO_4,
}
V6E = {"machineType": "ct6e-standard-4t", "tpu": {"topology": "2x2"}, **UP_TO_4}
SLICES = {"machineType": "ct6e-standard-4t", "tpu": {"topology": "4x4"}, "slices": {"max": 2}}

# Pools with GPUDirect: four networks with TCPX, eight with TCPXO.
GPUDIRECT_H100: dict[str, Any] = {"name": "h100", "provisioning": "queued", "gpudirect": "tcpx", **H100}
GPUDIRECT_MEGA: dict[str, Any] = {"name": "mega", "provisioning": "queued", "gpudirect": "tcpxo", **H100_MEGA}

QUEUED, FLEX = {"provisioning": "queued"}, {"provisioning": "flex-start"}
SPOT, RESERVED = {"provisioning": "spot"}, {"provisioning": "reserved", "reservation": "gpus"}
NO_TENANTS: dict[str, Any] = {"muster:tenants": []}  # isolated tenants require Dataplane V2
COMPACT, REGION = {"placement": "compact"}, {"location": "us-west1"}
NVLINK = {"placement": "nvlink"}
LONG = "a" * 35


class Rule(NamedTuple):
    """A rule with a violating and a valid stack."""

    broken: Case
    valid: dict[str, Any]

    def __str__(self) -> str:
        return self.broken.name


def rule(
    name: str,
    broken: dict[str, Any],
    valid: dict[str, Any],
    path: str,
    value: str,
    expected: str,
    remedy: str,
) -> Rule:
    return Rule(Case(name, broken, path, value, expected, remedy), valid)


MORE = "muster:pools[2]"
