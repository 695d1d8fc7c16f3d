"""Tenants: the namespaces of teams, their local queues, and what a team may do, use and reach there."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import Doc

from settings.model.base import DnsLabel, DnsSubdomain, Model, Quantity, refuse
from settings.model.tenants.google import Checkpoints, Identity, Serving
from settings.model.tenants.limits import Limits, QuotaKey
from settings.model.tenants.network import TenantNetwork
from settings.model.tenants.pods import DeviceClaim, PodSecurity

# Groups that everyone is in, or that RBAC gives everything already.
GROUP = re.compile(r"(?!system:)\S+")


def _group(group: str) -> str:
    if not GROUP.fullmatch(group):
        refuse(
            "a group of your identity provider, not one of Kubernetes' own (system:…)",
            "write the team's group, such as team-a@example.com",
        )
    return group


class Tenant(Model):
    """A team: its namespace and its queues; all else is optional."""

    namespace: DnsLabel
    """The team's own; its name is in those of what belongs to it."""
    queues: Annotated[dict[DnsSubdomain, DnsSubdomain], Field(min_length=1)]
    """Local queues, by the name that jobs are labelled with, and the cluster queue each leads to."""
    queue_required: bool = False
    """Refuse Ray objects without a queue's label, which would run past the queues."""
    priorities: Annotated[tuple[DnsSubdomain, ...], Field(min_length=1)] | None = None
    """WorkloadPriorityClasses that its jobs may name, of those in `muster:admission.priorities`; without it
    all of them. Their pods can't have a priority class of another name."""
    group: Annotated[str, AfterValidator(_group), Doc("group")] | None = None
    """The team's group: may run Ray in the namespace, and read queues, workloads, pods and logs."""
    resource_quota: dict[QuotaKey, Quantity] = Field(default_factory=dict)
    """A ResourceQuota's hard limits, for what the queues don't count or as a bound above theirs."""
    limits: Limits | None = None
    """A LimitRange: bounds and defaults of each container."""
    pod_security: PodSecurity = PodSecurity()
    """What pods of the namespace may ask of their node."""
    network: TenantNetwork = TenantNetwork()
    """Whom its pods reach, and who reaches them."""
    ray_auth: Literal["token"] | None = None
    """`token`: Ray itself asks for a token (Ray 2.52 or later), in every Ray cluster of the namespace."""
    device_claims: dict[DnsLabel, DeviceClaim] = Field(default_factory=dict)
    """ResourceClaimTemplates by name, for pods that get devices by claim (Kubernetes 1.34 or later)."""
    identity: Identity | None = None
    """What its pods are to Google Cloud; GKE only."""
    checkpoints: Checkpoints | None = None
    """A bucket of its own, which pods mount; GKE only, and needs `identity`."""
    serving: Serving | None = None
    """Its RayServices under names of their own; GKE only."""

    @property
    def google_account(self) -> str:
        """The ID of its Google service account, if it has an identity."""
        named = self.identity.account if self.identity else None
        return named or f"{self.namespace}-ray"
