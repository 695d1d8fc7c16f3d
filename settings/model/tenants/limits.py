"""How much a tenant's namespace and the containers in it may use."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DNS_SUBDOMAIN, RESOURCE_NAME, Model, Quantity, ResourceName, refuse

# kubernetes.io/docs/concepts/policy/resource-quotas: what may stand without a prefix.
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
        refuse("requests.: of extended resources Kubernetes bounds requests only", f"write requests.{key}")
    if not known:
        refuse(
            f"what a ResourceQuota can bound: {', '.join(PLAIN)}, requests.…, limits.… or count/…",
            "write it so, as in requests.nvidia.com/gpu or count/rayclusters.ray.io",
        )
    return key


def _extended(resource: str) -> bool:
    return (
        "/" in resource and bool(re.fullmatch(RESOURCE_NAME, resource)) and not resource.startswith("count/")
    )


QuotaKey = Annotated[str, AfterValidator(_quota_key), Doc("resource of a quota")]
Amounts = dict[ResourceName, Quantity]


class Limits(Model):
    """A LimitRange of the namespace's containers: bounds, and what they get where they say nothing."""

    default: Amounts = Field(default_factory=dict)
    """Their limits, where they give none."""
    default_request: Amounts = Field(default_factory=dict)
    """Their requests, where they give none."""
    min: Amounts = Field(default_factory=dict)
    """The least that one may request."""
    max: Amounts = Field(default_factory=dict)
    """The most that one may be limited to."""
