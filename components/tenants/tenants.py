"""Tenants: the teams' namespaces, and the components of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.cluster_egress import ApiServer
from components.foundation.google_cloud import GoogleCloud
from components.tenants.checkpoints import Checkpoints, CheckpointsArgs
from components.tenants.gateway import Gateway, GatewayArgs
from components.tenants.mounted_secrets import MountedSecrets, MountedSecretsArgs
from components.tenants.namespace_bounds import NamespaceBounds, NamespaceBoundsArgs
from components.tenants.network_isolation import NetworkIsolation, NetworkIsolationArgs
from components.tenants.team_access import TeamAccess, TeamAccessArgs
from components.tenants.workload_identity import WorkloadIdentity, WorkloadIdentityArgs
from settings.model.tenants.tenant import Tenant


@dataclass(frozen=True)
class TenantsArgs:
    """`protect`: refuse to delete a namespace or bucket, and with it a team's jobs and checkpoints;
    `google`: None if the cluster is not GKE's; `operator_hosted`: KubeRay is GKE's add-on; `api_servers`: as
    of NetworkIsolationArgs."""

    tenants: tuple[Tenant, ...]
    protect: bool
    google: GoogleCloud | None
    operator_hosted: bool
    api_servers: Sequence[ApiServer] = ()


class Tenants(Component):
    """By namespace: `namespaces`, the Gateways' `addresses`, the Google service `accounts`, and `buckets`.

    A namespace is declared after the identity, the volume and the access to secrets that its pods use, and
    deleted before them. The objects in it are deleted with it: deleted before, they would wait for running
    pods (claims), or leave them without protection (NetworkPolicies). Only Gateways are deleted before it, as
    their addresses are in use until they are deleted.
    """

    def __init__(self, name: str, args: TenantsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Tenants", name, opts)
        self._args = args
        self.namespaces: dict[str, Namespace] = {}
        self.addresses: dict[str, pulumi.Output[str]] = {}
        self.accounts: dict[str, pulumi.Output[str]] = {}
        self.buckets: dict[str, pulumi.Output[str]] = {}
        for tenant in args.tenants:
            identity = self._identity(tenant)
            checkpoints = self._checkpoints(tenant, identity)
            before: list[pulumi.Resource] = [identity.impersonation] if identity else []
            before += [checkpoints.volume] if checkpoints else []
            secrets = self._secrets(tenant, identity)
            before += secrets.access if secrets else []
            namespace = self.namespaces[tenant.namespace] = self._namespace(tenant, before)
            if identity:
                identity.add_service_account(namespace)
                self.accounts[tenant.namespace] = identity.account.email
            if checkpoints:
                checkpoints.add_claim(namespace)
                self.buckets[tenant.namespace] = checkpoints.bucket.name
            if secrets:
                secrets.add_class(namespace)
            self._inside(tenant, namespace)
        TeamAccess("team-access", TeamAccessArgs(args.tenants, self.namespaces), self.child())
        self.register_outputs({"namespaces": list(self.namespaces), "addresses": self.addresses})

    def _namespace(self, tenant: Tenant, before: Sequence[pulumi.Resource]) -> Namespace:
        return Namespace(
            self.named(tenant.namespace),
            metadata=ObjectMetaArgs(name=tenant.namespace, labels=tenant.namespace_labels),
            # GKE and other controllers annotate namespaces.
            opts=self.child(
                depends_on=before, protect=self._args.protect, ignore_changes=["metadata.annotations"]
            ),
        )

    def _identity(self, tenant: Tenant) -> WorkloadIdentity | None:
        google, identity = self._args.google, tenant.identity
        if google is None or identity is None:
            return None
        args = WorkloadIdentityArgs(tenant.namespace, identity, google)
        return WorkloadIdentity(f"{tenant.namespace}-identity", args, self.child())

    def _checkpoints(self, tenant: Tenant, identity: WorkloadIdentity | None) -> Checkpoints | None:
        google, settings = self._args.google, tenant.checkpoints
        if google is None or settings is None or identity is None:
            return None
        args = CheckpointsArgs(tenant.namespace, settings, google, identity.member, self._args.protect)
        return Checkpoints(f"{tenant.namespace}-checkpoints", args, self.child())

    def _secrets(self, tenant: Tenant, identity: WorkloadIdentity | None) -> MountedSecrets | None:
        google = self._args.google
        if google is None or identity is None or not tenant.secrets:
            return None
        args = MountedSecretsArgs(tenant.namespace, tenant.secrets, google, identity.member)
        return MountedSecrets(f"{tenant.namespace}-secrets", args, self.child())

    def _inside(self, tenant: Tenant, namespace: Namespace) -> None:
        """Declares a tenant's components in its namespace."""
        google = self._args.google
        with_it = self.child(depends_on=[namespace], deleted_with=namespace)
        NamespaceBounds(f"{tenant.namespace}-bounds", NamespaceBoundsArgs(tenant), with_it)
        if tenant.network.isolated:
            isolation = NetworkIsolationArgs(
                tenant, google is not None, self._args.operator_hosted, self._args.api_servers
            )
            NetworkIsolation(f"{tenant.namespace}-network", isolation, with_it)
        if google and tenant.serving:
            gateway = Gateway(
                f"{tenant.namespace}-serving",
                GatewayArgs(tenant.namespace, tenant.serving, google),
                self.child(depends_on=[namespace]),
            )
            self.addresses[tenant.namespace] = gateway.address
