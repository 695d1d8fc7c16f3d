"""Limits of a tenant's namespace and of the containers in it."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DNS_SUBDOMAIN, RESOURCE_NAME, Model, Quantity, ResourceName, refuse

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
BOUNDED = ("cpu", "memory", "ephemeral-storage")
DEVICES = ".deviceclass.resource.k8s.io/devices"


def _quota_key(key: str) -> str:
    prefix, _, resource = key.partition(".")
    known = (
        key in PLAIN
        or (prefix == "limits" and resource in BOUNDED)
        or (prefix == "requests" and (resource in (*BOUNDED, "storage") or _extended(resource)))
        or (key.startswith("count/") and DNS_SUBDOMAIN.fullmatch(key.removeprefix("count/")))
        or key.endswith(DEVICES)
    )
    if not known and _extended(key):
        refuse(
            "requests.…: quotas of extended resources are on requests only (Kubernetes)",
            f"write requests.{key}",
        )
    if not known:
        refuse(
            f"a key of a ResourceQuota: {', '.join(PLAIN)}, requests.…, limits.… or count/…",
            "write, for example, requests.nvidia.com/gpu or count/rayclusters.ray.io",
        )
    return key


def _extended(resource: str) -> bool:
    return (
        "/" in resource and bool(re.fullmatch(RESOURCE_NAME, resource)) and not resource.startswith("count/")
    )


QuotaKey = Annotated[str, AfterValidator(_quota_key), Doc("resource of a quota")]
Amounts = dict[ResourceName, Quantity]


class Limits(Model):
    """A LimitRange: bounds and defaults of the namespace's containers."""

    default: Amounts = Field(default_factory=dict)
    """Default limits of a container."""
    default_request: Amounts = Field(default_factory=dict)
    """Default requests of a container."""
    min: Amounts = Field(default_factory=dict)
    """Minimum requests of a container."""
    max: Amounts = Field(default_factory=dict)
    """Maximum limits of a container."""
