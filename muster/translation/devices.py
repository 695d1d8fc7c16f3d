"""Counts the devices of claims and of extended resources (dynamic resource allocation) as resources of quota.

A ClusterQueue's annotation maps DeviceClasses to the resources whose quota counts their devices. Source:
Kueue pkg/dra (claims.go, extended_resources.go, mapper.go), which refuses `firstAvailable` as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from muster.objects.devices import DeviceClass, DeviceRequest, RequestedDevices, ResourceClaimSpec
from muster.objects.meta import millis
from muster.objects.names import DEVICE_CLASSES

UNCOUNTED = ""
"""Instead of a resource: devices of the class have no quota."""
DEVICES_MAX = 32
"""The most devices that Kubernetes allocates to a claim (resource.k8s.io/v1 AllocationResultsMaxSize)."""
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Before the name of any DeviceClass: an extended resource that requests its devices (KEP-5004)."""


class UncountableClaim(ValueError):
    """A claim whose devices no quota counts; its message is the predicate of a sentence about the claim."""


@dataclass(frozen=True, slots=True)
class DeviceRequests:
    """The devices of a Workload's pods, as resources of quota: those that one pod of a pod set claims, by pod
    set, and the resource that counts requests of an extended resource, by its name. `problem` is a sentence
    about the first claim that can't be counted, or empty."""

    claimed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    extended: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def counted(self, pod_set: str, requests: Mapping[str, int]) -> Mapping[str, int]:
        """Returns what quota counts for one pod whose containers request `requests`."""
        claimed = self.claimed.get(pod_set, {})
        if not claimed and self.extended.keys().isdisjoint(requests):
            return requests
        total: dict[str, int] = {}
        for resource, amount in (*requests.items(), *claimed.items()):
            name = self.extended.get(resource, resource)
            total[name] = total.get(name, 0) + amount
        return total


NO_DEVICES = DeviceRequests()


def device_classes(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the quota resource of each DeviceClass by the annotations of a ClusterQueue; UNCOUNTED for
    classes without quota. Raises: ValueError (including msgspec's errors) that names the annotation."""
    text = annotations.get(DEVICE_CLASSES, "")
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else {}
    except ValueError as error:
        raise ValueError(f"annotation {DEVICE_CLASSES}: {error}") from error


def claimed_devices(claim: ResourceClaimSpec, classes: Mapping[str, str]) -> dict[str, int]:
    """Returns the devices of a claim by quota resource. Each device counts as a whole, also a partition or a
    share of one. Raises: UncountableClaim."""
    total: dict[str, int] = {}
    for request in claim.devices.requests:
        for resource, count in _requested(request, classes).items():
            total[resource] = total.get(resource, 0) + count
    return total


def uncounted_classes(claim: ResourceClaimSpec, classes: Mapping[str, str]) -> set[str]:
    """Returns the DeviceClasses of a claim whose devices have no quota by the queue's annotation."""
    return {
        choice.device_class_name
        for request in claim.devices.requests
        for choice in _choices(request)
        if classes.get(choice.device_class_name) == UNCOUNTED
    }


def extended_resources(objects: Iterable[DeviceClass], classes: Mapping[str, str]) -> dict[str, str]:
    """Returns the quota resource that counts each extended resource that devices of a mapped class satisfy.

    If several classes have the name of an extended resource, the scheduler allocates from the newest, and
    from the first by name among classes of the same age."""
    by_age = sorted(objects, key=lambda c: (-millis(c.metadata.creation_timestamp), c.metadata.name))
    selected: dict[str, str] = {}
    for obj in by_age:
        if name := obj.spec.extended_resource_name:
            selected.setdefault(name, obj.metadata.name)
    implicit = {f"{IMPLICIT_PREFIX}{name}": name for name in classes}
    resources = {
        extended: classes.get(name, UNCOUNTED) for extended, name in {**implicit, **selected}.items()
    }
    return {extended: resource for extended, resource in resources.items() if resource != UNCOUNTED}


def _choices(request: DeviceRequest) -> tuple[RequestedDevices, ...]:
    return request.first_available if request.exactly is None else (request.exactly,)


def _requested(request: DeviceRequest, classes: Mapping[str, str]) -> dict[str, int]:
    """Returns the most devices of each quota resource that any choice of the request takes."""
    choices = _choices(request)
    if not choices:
        raise UncountableClaim(f"has the request {request.name!r} without exactly and firstAvailable")
    most: dict[str, int] = {}
    for choice in choices:
        resource = _resource(request, choice, classes)
        if resource != UNCOUNTED:
            most[resource] = max(most.get(resource, 0), choice.count)
    return most


def _resource(request: DeviceRequest, choice: RequestedDevices, classes: Mapping[str, str]) -> str:
    """Returns the quota resource of the devices, which may be UNCOUNTED. Raises: UncountableClaim."""
    name = choice.device_class_name
    resource = classes.get(name)
    if resource is None:
        raise UncountableClaim(
            f"is for devices of DeviceClass {name!r}, which no quota counts: have an administrator add it to "
            "muster:admission.deviceClasses"
        )
    if resource != UNCOUNTED and choice.admin_access:
        raise UncountableClaim(f"has adminAccess to devices of others in its request {request.name!r}")
    if resource != UNCOUNTED and choice.allocation_mode != "ExactCount":
        raise UncountableClaim(
            f"is for a number of devices that is unknown before they are allocated: its request "
            f"{request.name!r} has allocationMode {choice.allocation_mode}; expected ExactCount"
        )
    if choice.count > DEVICES_MAX:
        raise UncountableClaim(
            f"is for {choice.count} devices, but Kubernetes allocates at most {DEVICES_MAX} to a claim"
        )
    return resource
