"""Devices of claims and of extended resources, as resources of quota.

The cases with `kueue` in their name are facts of Kueue v0.19.2: Test_GetResourceRequests in
pkg/dra/claims_test.go and TestResolveExtendedResourceQuota in extended_resources_test.go. Muster counts
`firstAvailable`, which Kueue refuses, and evaluates no CEL selectors: a claim that no device matches waits.
"""

from typing import Any

import msgspec
import pytest

from muster.objects.devices import DeviceClass, ResourceClaimSpec
from muster.objects.names import DEVICE_CLASSES
from muster.translation.devices import (
    DEVICES_MAX,
    UNCOUNTED,
    DeviceRequests,
    UncountableClaim,
    claimed_devices,
    device_classes,
    extended_resources,
    uncounted_classes,
)

Body = dict[str, Any]
CLASSES = {
    "test-deviceclass-1": "res-1",
    "gpu-class": "res-1",
    "test-deviceclass-2": "res-2",
    "nic": UNCOUNTED,
}


def devices(device_class: str, count: int | None = None, **fields: Any) -> Body:
    return {"deviceClassName": device_class, **({} if count is None else {"count": count}), **fields}


def claim(*requests: Body, **fields: Any) -> ResourceClaimSpec:
    named = [{"name": f"r{i}", **request} for i, request in enumerate(requests)]
    return msgspec.convert({"devices": {"requests": named, **fields}}, ResourceClaimSpec)


def exactly(device_class: str, count: int | None = None, **fields: Any) -> Body:
    return {"exactly": devices(device_class, count, **fields)}


def first_available(*choices: Body) -> Body:
    return {"firstAvailable": list(choices)}


CEL = [{"cel": {"expression": 'device.driver == "test-driver"'}}]
COUNTED: dict[str, tuple[ResourceClaimSpec, dict[str, int]]] = {
    "kueue: a request": (claim(exactly("test-deviceclass-1", 2)), {"res-1": 2}),
    "kueue: requests of a class add up": (
        claim(exactly("test-deviceclass-1", 2), exactly("test-deviceclass-1", 3)),
        {"res-1": 5},
    ),
    "kueue: with selectors": (claim(exactly("test-deviceclass-1", 1, selectors=CEL)), {"res-1": 1}),
    "kueue: with constraints": (
        claim(
            exactly("test-deviceclass-1", 1),
            exactly("test-deviceclass-1", 1),
            constraints=[{"requests": ["r0", "r1"], "matchAttribute": "example.com/numa"}],
        ),
        {"res-1": 2},
    ),
    "kueue: with configuration": (
        claim(exactly("test-deviceclass-1", 1), config=[{"requests": ["r0"]}]),
        {"res-1": 1},
    ),
    "the API's default is one device": (claim(exactly("test-deviceclass-1")), {"res-1": 1}),
    "classes of one resource add up": (
        claim(exactly("test-deviceclass-1", 2), exactly("gpu-class", 1)),
        {"res-1": 3},
    ),
    "classes of two resources": (
        claim(exactly("test-deviceclass-1", 2), exactly("test-deviceclass-2", 1)),
        {"res-1": 2, "res-2": 1},
    ),
    "the most of alternatives": (
        claim(first_available(devices("test-deviceclass-1", 1), devices("gpu-class", 4))),
        {"res-1": 4},
    ),
    "the most of alternatives for each resource": (
        claim(first_available(devices("test-deviceclass-1", 2), devices("test-deviceclass-2", 8))),
        {"res-1": 2, "res-2": 8},
    ),
    "alternatives and another request": (
        claim(first_available(devices("gpu-class", 2), devices("nic", 1)), exactly("gpu-class", 1)),
        {"res-1": 3},
    ),
    "a share of a device counts as a device": (
        claim(exactly("gpu-class", 1, capacity={"requests": {"memory": "1Gi"}})),
        {"res-1": 1},
    ),
    "devices without quota": (claim(exactly("nic", allocationMode="All")), {}),
    "no requests": (claim(), {}),
    "the most that is allocated": (claim(exactly("gpu-class", DEVICES_MAX)), {"res-1": DEVICES_MAX}),
}
REFUSED: dict[str, tuple[ResourceClaimSpec, str]] = {
    "kueue: a class that is not mapped": (
        claim(exactly("other", 1)),
        "is for devices of DeviceClass 'other', which no quota counts: have an administrator add it to "
        "muster:admission.deviceClasses",
    ),
    "kueue: all devices": (
        claim(exactly("gpu-class", allocationMode="All")),
        "is for a number of devices that is unknown before they are allocated: its request 'r0' has "
        "allocationMode All; expected ExactCount",
    ),
    "kueue: access of an administrator": (
        claim(exactly("gpu-class", 1, adminAccess=True)),
        "has adminAccess to devices of others in its request 'r0'",
    ),
    "kueue: neither exactly nor firstAvailable": (
        claim({}),
        "has the request 'r0' without exactly and firstAvailable",
    ),
    "an alternative that is not mapped": (
        claim(first_available(devices("gpu-class"), devices("other"))),
        "is for devices of DeviceClass 'other', which no quota counts",
    ),
    "an alternative of all devices": (
        claim(first_available(devices("gpu-class"), devices("gpu-class", allocationMode="All"))),
        "is for a number of devices that is unknown before they are allocated",
    ),
    "kueue: more than a 64-bit number in total": (
        claim(exactly("gpu-class", 2**63 - 1), exactly("gpu-class", 2**63 - 1)),
        f"is for {2**63 - 1} devices, but Kubernetes allocates at most 32 to a claim",
    ),
}


@pytest.mark.parametrize(("of", "expected"), COUNTED.values(), ids=COUNTED)
def test_devices_of_a_claim_are_counted(of: ResourceClaimSpec, expected: dict[str, int]) -> None:
    assert claimed_devices(of, CLASSES) == expected


@pytest.mark.parametrize(("of", "why"), REFUSED.values(), ids=REFUSED)
def test_claims_that_cannot_be_counted_are_refused(of: ResourceClaimSpec, why: str) -> None:
    with pytest.raises(UncountableClaim) as raised:
        claimed_devices(of, CLASSES)
    assert str(raised.value).startswith(why)


def test_classes_without_quota_are_named() -> None:
    of = claim(exactly("nic", 1), exactly("gpu-class", 1), first_available(devices("other"), devices("nic")))
    assert uncounted_classes(of, CLASSES) == {"nic"}


def device_class(
    name: str, extended: str | None = None, created: str = "2026-01-01T00:00:00Z"
) -> DeviceClass:
    spec = {} if extended is None else {"extendedResourceName": extended}
    body = {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}
    return msgspec.convert(body, DeviceClass)


IMPLICIT = {
    f"deviceclass.resource.kubernetes.io/{name}": resource
    for name, resource in CLASSES.items()
    if resource != UNCOUNTED
}
OLDER, NEWER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
EXTENDED: dict[str, tuple[list[DeviceClass], dict[str, str]]] = {
    "kueue: of a mapped class": ([device_class("gpu-class", "a.com/gpu")], {"a.com/gpu": "res-1"}),
    "kueue: of a class that is not mapped": ([device_class("other", "a.com/gpu")], {}),
    "kueue: the newest class of the name": (
        [
            device_class("gpu-class", "a.com/gpu", OLDER),
            device_class("test-deviceclass-2", "a.com/gpu", NEWER),
        ],
        {"a.com/gpu": "res-2"},
    ),
    "kueue: the first class by name among classes of the same age": (
        [device_class("test-deviceclass-2", "a.com/gpu"), device_class("gpu-class", "a.com/gpu")],
        {"a.com/gpu": "res-1"},
    ),
    "the newest class is not mapped": (
        [device_class("gpu-class", "a.com/gpu", OLDER), device_class("other", "a.com/gpu", NEWER)],
        {},
    ),
    "of a class without quota": ([device_class("nic", "a.com/nic")], {}),
    "the names that any class has": ([], {}),
}


@pytest.mark.parametrize(("objects", "expected"), EXTENDED.values(), ids=EXTENDED)
def test_extended_resources_count_as_their_class(
    objects: list[DeviceClass], expected: dict[str, str]
) -> None:
    assert extended_resources(objects, CLASSES) == expected | IMPLICIT


CPU, GPU = "cpu", "a.com/gpu"
PODS: dict[str, tuple[DeviceRequests, dict[str, int]]] = {
    "no devices": (DeviceRequests(), {CPU: 1000, GPU: 1}),
    "claimed by another pod set": (DeviceRequests({"head": {"res-1": 1}}), {CPU: 1000, GPU: 1}),
    "claimed": (DeviceRequests({"workers": {"res-1": 2}}), {CPU: 1000, GPU: 1, "res-1": 2}),
    "claimed, of a resource that the containers request": (
        DeviceRequests({"workers": {GPU: 2}}),
        {CPU: 1000, GPU: 3},
    ),
    "requested as an extended resource": (DeviceRequests({}, {GPU: "res-1"}), {CPU: 1000, "res-1": 1}),
    "kueue: both": (DeviceRequests({"workers": {"res-1": 2}}, {GPU: "res-1"}), {CPU: 1000, "res-1": 3}),
}


@pytest.mark.parametrize(("of", "expected"), PODS.values(), ids=PODS)
def test_devices_are_added_to_the_requests_of_a_pod(of: DeviceRequests, expected: dict[str, int]) -> None:
    assert of.counted("workers", {CPU: 1000, GPU: 1}) == expected


UNREADABLE = {"not JSON": "{", "not names": '{"gpu": 1}', "a list": "[]"}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_annotation_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"^annotation {DEVICE_CLASSES}: "):
        device_classes({DEVICE_CLASSES: text})


def test_a_queue_without_the_annotation_maps_no_classes() -> None:
    assert device_classes({}) == {}
