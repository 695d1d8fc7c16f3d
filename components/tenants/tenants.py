"""Tenants: the teams' namespaces, and the components of each."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.admission.queues import QUEUE_REQUIRED
from components.admission.tenants import TENANT, TOKEN_REQUIRED
from components.base import Component
from components.foundation.google_cloud import GoogleCloud
from components.tenants.checkpoints import Checkpoints, CheckpointsArgs
from components.tenants.gateway import Gateway, GatewayArgs
from components.tenants.namespace_bounds import NamespaceBounds, NamespaceBoundsArgs
from components.tenants.network_isolation import NetworkIsolation, NetworkIsolationArgs
from components.tenants.team_access import TeamAccess, TeamAccessArgs
from components.tenants.workload_identity import WorkloadIdentity, WorkloadIdentityArgs
from settings.model.tenants.tenant import Tenant


@dataclass(frozen=True)
class TenantsArgs:
    """`protect`: refuse to delete a namespace or bucket, and with it a team's jobs and checkpoints;
    `google`: None if the cluster is not GKE's; `operator_hosted`: KubeRay is GKE's add-on."""

    tenants: tuple[Tenant, ...]
    protect: bool
    google: GoogleCloud | None
    operator_hosted: bool


class Tenants(Component):
    """`namespaces` are the tenants' Namespaces, `addresses` those of their Gateways, both by namespace."""

    def __init__(self, name: str, args: TenantsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Tenants", name, opts)
        self._args = args
        self.namespaces = {
            tenant.namespace: Namespace(
                self.named(tenant.namespace),
                metadata=ObjectMetaArgs(name=tenant.namespace, labels=_labels(tenant)),
                # GKE and other controllers annotate namespaces.
                opts=self.child(protect=args.protect, ignore_changes=["metadata.annotations"]),
            )
            for tenant in args.tenants
        }
        self.addresses: dict[str, pulumi.Output[str]] = {}
        TeamAccess("team-access", TeamAccessArgs(args.tenants, self.namespaces), self.child())
        for tenant in args.tenants:
            self._inside(tenant)
            if args.google:
                self._google_cloud(tenant, args.google)
        self.register_outputs({"namespaces": list(self.namespaces), "addresses": self.addresses})

    def _in(self, tenant: Tenant) -> pulumi.ResourceOptions:
        return self.child(depends_on=[self.namespaces[tenant.namespace]])

    def _inside(self, tenant: Tenant) -> None:
        """Declares a tenant's components that work in every cluster."""
        NamespaceBounds(f"{tenant.namespace}-bounds", NamespaceBoundsArgs(tenant), self._in(tenant))
        if tenant.network.isolated:
            isolation = NetworkIsolationArgs(
                tenant, self._args.google is not None, self._args.operator_hosted
            )
            NetworkIsolation(f"{tenant.namespace}-network", isolation, self._in(tenant))

    def _google_cloud(self, tenant: Tenant, google: GoogleCloud) -> None:
        """Declares a tenant's Google Cloud components."""
        if tenant.identity:
            identity = WorkloadIdentity(
                f"{tenant.namespace}-identity",
                WorkloadIdentityArgs(tenant, tenant.identity.service_account, google),
                self._in(tenant),
            )
            if tenant.checkpoints:
                checkpoints = CheckpointsArgs(
                    tenant.namespace, tenant.checkpoints, google, identity.member, self._args.protect
                )
                Checkpoints(f"{tenant.namespace}-checkpoints", checkpoints, self._in(tenant))
        if tenant.serving:
            gateway = Gateway(
                f"{tenant.namespace}-serving",
                GatewayArgs(tenant.namespace, tenant.serving, google),
                self._in(tenant),
            )
            self.addresses[tenant.namespace] = gateway.address


def _labels(tenant: Tenant) -> dict[str, str]:
    """Returns the labels by which admission policies and other tenants' NetworkPolicies select namespaces."""
    labels = {**TENANT}
    for mode, level in tenant.pod_security.levels.items():
        labels[f"pod-security.kubernetes.io/{mode}"] = level
    if tenant.queue_required:
        labels |= QUEUE_REQUIRED
    if tenant.ray_auth == "token":
        labels |= TOKEN_REQUIRED
    return labels
