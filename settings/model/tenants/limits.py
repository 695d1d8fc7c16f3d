"""Limits of a tenant's namespace and of the containers in it."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from muster.cluster.jobs.kinds import RESOURCES, SCHEDULES
from settings.model.base import DNS_SUBDOMAIN, RESOURCE_NAME, Model, Quantity, ResourceName, refuse
from settings.problems import did_you_mean

# Keys of a ResourceQuota without a prefix (kubernetes.io/docs/concepts/policy/resource-quotas).
PLAIN = (
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
)
CORE = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "serviceaccounts",
    "services",
)
# Kubernetes counts no events (pkg/quota/v1/install: DefaultIgnoredResources).
COUNTED = {"": CORE, "events.k8s.io": ()} | {
    group: (*plurals, *(it.plural for it in SCHEDULES if it.group == group))
    for group, plurals in RESOURCES.items()
}
"""Resources by API group; those of other groups are not checked."""
BOUNDED = ("cpu", "memory", "ephemeral-storage")
DEVICES = ".deviceclass.resource.k8s.io/devices"


def _quota_key(key: str) -> str:
    prefix, _, resource = key.partition(".")
    valid = (
        key in PLAIN
        or (prefix == "limits" and resource in BOUNDED)
        or (prefix == "requests" and (resource in (*BOUNDED, "storage") or _extended(resource)))
        or (key.startswith("count/") and _counted(key.removeprefix("count/")))
        or key.endswith(DEVICES)
    )
    if not valid and key.startswith("count/"):
        refuse(
            "count/ and the plural of a kind with its API group (Kubernetes, object count quota)",
            did_you_mean(
                key,
                [
                    f"count/{plural}.{group}".rstrip(".")
                    for group, plurals in COUNTED.items()
                    for plural in sorted(plurals)
                ],
            ),
        )
    singular = key.startswith(("request.", "limit."))
    if not valid and singular:
        refuse(
            "a key of a ResourceQuota: requests.… or limits.…, in the plural",
            f"did you mean {prefix}s.{resource}?",
        )
    if not valid and prefix == "limits" and "/" in resource:
        refuse(
            "requests.…: quotas of extended resources are on requests only (Kubernetes)",
            f"write requests.{resource}",
        )
    if not valid and _extended(key):
        refuse(
            "requests.…: quotas of extended resources are on requests only (Kubernetes)",
            f"write requests.{key}",
        )
    if not valid:
        refuse(
            f"a key of a ResourceQuota: {', '.join(PLAIN)}, requests.…, limits.… or count/…",
            "write, for example, requests.nvidia.com/gpu or count/rayjobs.ray.io",
        )
    return key


def _counted(resource: str) -> bool:
    """Returns whether the API can count this resource: one of Kubernetes' core, or `<plural>.<group>`."""
    plural, _, group = resource.partition(".")
    plurals = COUNTED.get(group, (plural,))
    return bool(DNS_SUBDOMAIN.fullmatch(resource)) and plural in plurals


def _extended(resource: str) -> bool:
    return (
        "/" in resource and bool(re.fullmatch(RESOURCE_NAME, resource)) and not resource.startswith("count/")
    )


QuotaKey = Annotated[str, AfterValidator(_quota_key), Doc("resource of a quota")]


def _container_resource(name: str) -> str:
    if "/" not in name and name not in BOUNDED and not name.startswith("hugepages-"):
        refuse(
            f"a resource of containers: {', '.join(BOUNDED)} or a device (Kubernetes, LimitRange)",
            "write `resourceQuota` to bound the namespace as a whole",
        )
    return name


Amounts = dict[Annotated[ResourceName, AfterValidator(_container_resource)], Quantity]


def _without_devices(amounts: Amounts) -> Amounts:
    for name in amounts:
        if "/" in name:
            refuse(
                f"no {name}: every container would get devices, also those of heads and submitters",
                "remove it, and request devices in the pods that use them",
            )
    return amounts


Defaults = Annotated[Amounts, AfterValidator(_without_devices)]


class Limits(Model):
    """A LimitRange: bounds and defaults of the namespace's containers."""

    default: Defaults = Field(default_factory=dict)
    """Default limits of a container."""
    default_request: Defaults = Field(default_factory=dict)
    """Default requests of a container."""
    min: Amounts = Field(default_factory=dict)
    """Minimum requests of a container."""
    max: Amounts = Field(default_factory=dict)
    """Maximum limits of a container."""
