"""DeviceClasses in a stack: as the controller and Kueue read them, and invalid ones."""

from typing import Any

import msgspec
import pytest

from muster.objects import kueue_queues
from muster.translation.devices import device_classes
from settings.load import parse, warnings
from settings.manifests.configuration import kueue_configuration
from settings.manifests.objects import manifests
from tests.unit.settings.builders import FILE, GOOD, Case, put, refusal

GPU = "nvidia.com/gpu"
MAPPING = {"name": GPU, "deviceClassNames": ["gpu.nvidia.com", "mig.nvidia.com"]}
AT = "muster:admission.deviceClasses"


def admission(**fields: Any) -> dict[str, Any]:
    return {**GOOD, "muster:admission": {**GOOD.get("muster:admission", {}), **fields}}


def test_each_queue_counts_the_devices_of_a_stack() -> None:
    settings = parse(admission(deviceClasses=[MAPPING], uncountedDeviceClasses=["mrdma.google.com"]), FILE)
    declared = [m for m in manifests(settings) if m["kind"] == "ClusterQueue"]
    assert declared
    for manifest in declared:
        queue = msgspec.convert(manifest, kueue_queues.ClusterQueue)
        assert device_classes(queue.metadata.annotations) == {
            "gpu.nvidia.com": GPU,
            "mig.nvidia.com": GPU,
            "mrdma.google.com": "",
        }


def test_a_stack_without_device_classes_declares_none() -> None:
    declared = manifests(parse(GOOD, FILE))
    assert not any("muster.dev/device-classes" in m["metadata"].get("annotations", {}) for m in declared)


def test_kueue_counts_the_same_devices() -> None:
    settings = parse(admission(engine="kueue", deviceClasses=[MAPPING]), FILE)
    configuration = kueue_configuration(settings.kueue, settings.admission.device_classes)
    assert configuration["resources"] == {"deviceClassMappings": [MAPPING]}


def test_devices_that_are_only_claimed_may_have_quota_of_any_flavor() -> None:
    fpga = {"name": "example.com/fpga", "deviceClassNames": ["fpga.example.com"]}
    config = put("muster:queues", "clusterQueues", 0, "quotas", "cpu", fpga["name"], 2)
    config["muster:admission"] = {**config["muster:admission"], "deviceClasses": [fpga]}
    parse(config, FILE)


CASES = [
    Case(
        "a class of two resources",
        admission(deviceClasses=[MAPPING], uncountedDeviceClasses=["gpu.nvidia.com"]),
        "muster:admission.uncountedDeviceClasses[0]",
        '"gpu.nvidia.com"',
        "a unique DeviceClass",
        "gpu.nvidia.com is already in use; choose another name",
    ),
    Case(
        "two entries of a resource",
        admission(deviceClasses=[MAPPING, {"name": GPU, "deviceClassNames": ["other"]}]),
        f"{AT}[1].name",
        f'"{GPU}"',
        "a unique resource of device classes",
        f"{GPU} is already in use; choose another name",
    ),
    Case(
        "a resource without quota",
        admission(deviceClasses=[{"name": "nvidia.com/gpus", "deviceClassNames": ["gpu.nvidia.com"]}]),
        f"{AT}[0].name",
        '"nvidia.com/gpus"',
        "a resource of devices with quota in this file",
        f"did you mean {GPU}?",
    ),
    Case(
        "a resource that is no device",
        admission(deviceClasses=[{"name": "cpu", "deviceClassNames": ["cpu.example.com"]}]),
        f"{AT}[0].name",
        '"cpu"',
        "a resource of devices with quota in this file",
        f"choose one of {GPU}",
    ),
    Case(
        "devices without quota with engine kueue",
        admission(engine="kueue", uncountedDeviceClasses=["mrdma.google.com"]),
        "muster:admission.uncountedDeviceClasses",
        '["mrdma.google.com"]',
        "no value: engine kueue has no devices without quota",
        "map the classes in `deviceClasses`, or choose engine: muster",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_device_classes_are_refused(case: Case) -> None:
    assert refusal(case.config) == case.message


CLAIMS = {"one-gpu": {"deviceClass": "gpu.nvidia.com"}}
CLAIMING = put("muster:tenants", 0, "deviceClaims", CLAIMS)["muster:tenants"]


def doubts(config: dict[str, Any]) -> list[str]:
    at = "muster:tenants[0].deviceClaims.one-gpu.deviceClass\n"
    return [warning for warning in warnings(parse(config, FILE)) if warning.startswith(at)]


def test_claims_that_queues_refuse_are_doubted() -> None:
    (warning,) = doubts({**GOOD, "muster:tenants": CLAIMING})
    assert "gangs with claims of DeviceClass gpu.nvidia.com are refused" in warning


def test_claims_of_mapped_classes_are_not_doubted() -> None:
    config = {**admission(deviceClasses=[MAPPING]), "muster:tenants": CLAIMING}
    assert doubts(config) == []
