"""Bounds of a tenant's namespace: ResourceQuota, LimitRange, and device claims."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import (
    LimitRange,
    LimitRangeItemArgs,
    LimitRangeSpecArgs,
    ResourceQuota,
    ResourceQuotaSpecArgs,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.resource.v1 import (
    DeviceClaimArgs,
    DeviceRequestArgs,
    ExactDeviceRequestArgs,
    ResourceClaimSpecArgs,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpecArgs,
)

from components.base import Component
from settings.model.tenants.limits import Limits
from settings.model.tenants.pods import DeviceClaim
from settings.model.tenants.tenant import Tenant

QUOTA, LIMITS = "team-quota", "container-limits"


@dataclass(frozen=True)
class NamespaceBoundsArgs:
    """`tenant`: the tenant, with its limits."""

    tenant: Tenant


class NamespaceBounds(Component):
    """ResourceQuota, LimitRange and ResourceClaimTemplates that the tenant's settings declare."""

    def __init__(
        self, name: str, args: NamespaceBoundsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("NamespaceBounds", name, opts)
        tenant = args.tenant
        ResourceQuota(
            self.named(f"{tenant.namespace}/{QUOTA}"),
            metadata=ObjectMetaArgs(name=QUOTA, namespace=tenant.namespace),
            spec=ResourceQuotaSpecArgs(hard=tenant.hard_limits),
            opts=self.child(),
        )
        if tenant.limits:
            LimitRange(
                self.named(f"{tenant.namespace}/{LIMITS}"),
                metadata=ObjectMetaArgs(name=LIMITS, namespace=tenant.namespace),
                spec=LimitRangeSpecArgs(limits=[_containers(tenant.limits)]),
                opts=self.child(),
            )
        for claim, devices in tenant.device_claims.items():
            ResourceClaimTemplate(
                self.named(f"{tenant.namespace}/{claim}"),
                metadata=ObjectMetaArgs(name=claim, namespace=tenant.namespace),
                spec=_claim_template(devices),
                # The spec is immutable; existing claims are unchanged.
                opts=self.child(replace_on_changes=["spec"], delete_before_replace=True),
            )
        self.register_outputs({})


def _containers(limits: Limits) -> LimitRangeItemArgs:
    return LimitRangeItemArgs(
        type="Container",
        default=limits.default or None,
        default_request=limits.default_request or None,
        min=limits.min or None,
        max=limits.max or None,
    )


def _claim_template(devices: DeviceClaim) -> ResourceClaimTemplateSpecArgs:
    exactly = ExactDeviceRequestArgs(device_class_name=devices.device_class, count=devices.count)
    request = DeviceRequestArgs(name="devices", exactly=exactly)
    claim = ResourceClaimSpecArgs(devices=DeviceClaimArgs(requests=[request]))
    return ResourceClaimTemplateSpecArgs(spec=claim)
