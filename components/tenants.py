"""Tenants' namespaces."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from stacks.tenants import Tenant


@dataclass(frozen=True)
class TenantsArgs:
    """`protect`: refuse to delete a namespace, and with it a team's jobs."""

    tenants: tuple[Tenant, ...]
    protect: bool


class Tenants(Component):
    """`namespaces` holds one Namespace a tenant, by name."""

    def __init__(self, name: str, args: TenantsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Tenants", name, opts)
        self.namespaces = {
            tenant.namespace: Namespace(
                tenant.namespace,
                metadata=ObjectMetaArgs(name=tenant.namespace),
                opts=self.child(protect=args.protect),
            )
            for tenant in args.tenants
        }
        self.register_outputs({"namespaces": list(self.namespaces)})
