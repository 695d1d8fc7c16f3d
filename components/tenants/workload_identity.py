"""The Google Cloud identity of a tenant's pods: their own service account, by Workload Identity."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount
from pulumi_kubernetes.core.v1 import ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation.google_cloud import IDENTITY_ANNOTATION, GoogleCloud, pod_identity
from settings.model.tenants.tenant import Tenant


@dataclass(frozen=True)
class WorkloadIdentityArgs:
    """`service_account`: the name of the pods' ServiceAccount."""

    tenant: Tenant
    service_account: str
    google: GoogleCloud


class WorkloadIdentity(Component):
    """A Google service account without roles; `member` names it in bindings.

    Declare the namespace after `impersonation`, then its ServiceAccount, which acts as the Google one: so
    pods keep the identity until they have ended.
    """

    def __init__(
        self, name: str, args: WorkloadIdentityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("WorkloadIdentity", name, opts)
        self._args = args
        tenant, google = args.tenant, args.google
        self.account = serviceaccount.Account(
            self.named(f"{tenant.namespace}-ray"),
            account_id=tenant.google_account,
            display_name=f"Ray in {tenant.namespace}",
            project=google.project,
            opts=self.child(provider=google.provider),
        )
        self.member = self.account.member
        self._kubernetes_account = f"{tenant.namespace}/{args.service_account}"
        self.impersonation = pod_identity(
            self.named(f"{tenant.namespace}-ray-pods"),
            self.account,
            self._kubernetes_account,
            google,
            self.child(provider=google.provider),
        )
        self.register_outputs({"email": self.account.email})

    def add_service_account(self, namespace: pulumi.Resource) -> None:
        """Declares the pods' ServiceAccount in the tenant's namespace."""
        ServiceAccount(
            self.named(self._kubernetes_account),
            metadata=ObjectMetaArgs(
                name=self._args.service_account,
                namespace=self._args.tenant.namespace,
                annotations={IDENTITY_ANNOTATION: self.account.email},
            ),
            # Google's token comes from the metadata server; these pods need no Kubernetes token.
            automount_service_account_token=False,
            opts=self.child(depends_on=[self.impersonation, namespace], deleted_with=namespace),
        )
