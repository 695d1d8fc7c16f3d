"""The Google Cloud identity of a tenant's pods: their own service account, by Workload Identity."""

from dataclasses import dataclass

import pulumi
from pulumi_gcp import serviceaccount
from pulumi_kubernetes.core.v1 import ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.base import Component
from components.foundation.google_cloud import (
    IDENTITY_ANNOTATION,
    GoogleCloud,
    account_id,
    name_at_creation,
    pod_identity,
)
from settings.model.tenants.google import Identity


@dataclass(frozen=True)
class WorkloadIdentityArgs:
    """`identity` is that of the tenant."""

    namespace: str
    identity: Identity
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
        namespace, google, explicit = args.namespace, args.google, args.identity.account
        self.account = serviceaccount.Account(
            self.named(f"{namespace}-ray"),
            account_id=explicit or account_id(google.cluster, namespace, "ray"),
            display_name=f"Ray in {namespace} of {google.cluster.name}",
            project=google.project,
            opts=self.child(
                provider=google.provider, ignore_changes=None if explicit else name_at_creation("accountId")
            ),
        )
        self.member = self.account.member
        self._kubernetes_account = f"{namespace}/{args.identity.service_account}"
        self.impersonation = pod_identity(
            self.named(f"{namespace}-ray-pods"),
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
                name=self._args.identity.service_account,
                namespace=self._args.namespace,
                annotations={IDENTITY_ANNOTATION: self.account.email},
            ),
            # Google's token comes from the metadata server; these pods need no Kubernetes token.
            automount_service_account_token=False,
            opts=self.child(depends_on=[self.impersonation, namespace], deleted_with=namespace),
        )
