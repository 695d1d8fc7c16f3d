"""Tenants: teams' namespaces, their local queues, permissions, limits and network access."""

import re
from math import ceil
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import Doc

from muster.cluster.jobs.kinds import JOB_KINDS, SCHEDULES
from muster.objects.names import (
    CLAIMS_LABEL,
    QUEUE_REQUIRED_LABEL,
    RAY_AUTH_LABEL,
    SECRETS_LABEL,
    TENANT_LABEL,
    unqueued_label,
)
from settings.model.base import DnsLabel, DnsSubdomain, Model, Quantity, amount, matching
from settings.model.destinations import Destination
from settings.model.queues.queue import Weight
from settings.model.tenants.google import CLAIM_SIZE, Checkpoints, Identity, Serving
from settings.model.tenants.limits import Limits, QuotaKey
from settings.model.tenants.pods import DeviceClaim, PodSecurity, Unqueued
from settings.model.tenants.secrets import MountedSecret

# system: groups contain every user, or have all permissions already; gke-security-groups contains all groups.
GROUP = re.compile(r"(?!system:|gke-security-groups@)\S+")
# Labels of namespaces, by which admission policies and NetworkPolicies select them.
TENANT = {TENANT_LABEL: "true"}
QUEUE_REQUIRED = {QUEUE_REQUIRED_LABEL: "true"}
# In namespaces whose claims only administrators create.
NO_CLAIMS = {CLAIMS_LABEL: "none"}
STORAGE = "requests.storage"
SCHEDULE_OBJECTS_MAX = 500
"""Bound of each kind of objects that create jobs on a schedule, such as CronJobs, in a namespace."""
# Jobs of a namespace: KubeRay creates Services and RayClusters for each before it is admitted. An admitted
# job whose RayCluster is refused would hold quota and never start.
JOB_OBJECTS = {f"count/{kind.plural}.{kind.kind.group}": str(kind.objects_max) for kind in JOB_KINDS} | {
    f"count/{it.plural}.{it.group}": str(SCHEDULE_OBJECTS_MAX) for it in SCHEDULES
}
TOKEN_REQUIRED = {RAY_AUTH_LABEL: "token"}

IdentityGroup = Annotated[
    str,
    matching(
        GROUP,
        "a team's group of your identity provider: neither one of Kubernetes' (system:…), nor "
        "gke-security-groups@…, which contains the groups of all teams",
        "write the team's group, such as team-a@example.com",
    ),
    Doc("group"),
]


class TenantNetwork(Model):
    """NetworkPolicies of the namespace, which allow only traffic that Ray needs and what is listed here."""

    isolated: bool = True
    """`false` declares no NetworkPolicy: every pod of the cluster can reach Ray's dashboard and job API."""
    egress: Literal["https", "google-apis", "none"] = "https"
    """Egress in addition to Ray, DNS and the metadata server: HTTPS to public addresses, for example PyPI and
    Hugging Face; only Google APIs through private.googleapis.com and restricted.googleapis.com, which your
    DNS must resolve to; or none."""
    destinations: tuple[Destination, ...] = ()
    """Further destinations, such as a database."""
    clients: tuple[DnsLabel, ...] = ()
    """Namespaces whose pods may call Ray Serve in this namespace (port 8000)."""


class Tenant(Model):
    """A team: its namespace and local queues; all other keys are optional."""

    namespace: DnsLabel
    """The team's namespace, and prefix of the names of its resources."""
    queues: Annotated[dict[DnsSubdomain, DnsSubdomain], Field(min_length=1)]
    """Local queues: the name that jobs are labeled with, and its cluster queue."""
    weight: Weight | None = None
    """Weight by which the usage of its local queues is divided, in cluster queues with
    `admissionFairSharing`; 1 if unset."""
    queue_required: bool = False
    """Refuses Ray objects and other jobs without a queue label, which would bypass the queues. Those that
    request accelerators need one in every tenant."""
    unqueued: tuple[Unqueued, ...] = ()
    """Objects whose pods may use accelerators outside the queues; all others are refused. The queues do not
    count them: set `resourceQuota` to bound them, and leave their nodes out of the quotas."""
    priorities: Annotated[tuple[DnsSubdomain, ...], Field(min_length=1)] | None = None
    """WorkloadPriorityClasses that its jobs may use, out of `muster:admission.priorities`; all if unset.
    Pods may not have a PriorityClass of any other name."""
    group: IdentityGroup | None = None
    """The team's group, which may run jobs of all kinds in the namespace and read queues, workloads, pods
    and logs."""
    resource_quota: dict[QuotaKey, Quantity] = Field(default_factory=dict)
    """Hard limits of a ResourceQuota, for resources that the queues do not count or as a bound above them.
    Counts of jobs, including finished ones, have defaults: count/rayjobs.ray.io 5000,
    count/rayservices.ray.io 500, count/rayclusters.ray.io, which includes clusters of jobs and services,
    7000, count/jobs.batch, which includes submitters of RayJobs and Jobs of JobSets, 10000,
    count/jobsets.jobset.x-k8s.io 5000, and count/leaderworkersets.leaderworkerset.x-k8s.io 5000."""
    storage: Quantity | None = None
    """Storage that the team may request in all by PersistentVolumeClaims, which it creates itself, and by
    ephemeral volumes; if unset, an administrator creates its claims, and pods have no ephemeral volumes
    unless `resourceQuota` has requests.storage."""
    limits: Limits | None = None
    """A LimitRange: bounds and defaults of each container."""
    pod_security: PodSecurity = PodSecurity()
    """Pod Security Standards of the namespace."""
    network: TenantNetwork = TenantNetwork()
    """Network access from and to its pods."""
    ray_auth: Literal["token"] | None = None
    """`token`: every Ray cluster of the namespace requires Ray's token authentication (Ray 2.52 or later)."""
    device_claims: dict[DnsLabel, DeviceClaim] = Field(default_factory=dict)
    """ResourceClaimTemplates by name, for pods that claim devices (Kubernetes 1.34 or later)."""
    identity: Identity | None = None
    """A Google service account for its pods; GKE only."""
    checkpoints: Checkpoints | None = None
    """A bucket that its pods mount; GKE only, requires `identity`."""
    secrets: tuple[MountedSecret, ...] = ()
    """Secrets of Secret Manager that its pods mount as files; GKE only, requires `identity` and
    `muster:cluster.secretManager`."""
    serving: Serving | None = None
    """Exposes its RayServices by HTTPS; GKE only."""

    @property
    def hard_limits(self) -> dict[str, str]:
        """Limits of its ResourceQuota; `storage` is in addition to the claim of `checkpoints`."""
        limits = {**JOB_OBJECTS, **self.resource_quota}
        if self.storage is None:
            return limits
        claim = CLAIM_SIZE if self.checkpoints else "0"
        return {**limits, STORAGE: str(ceil(amount(self.storage) + amount(claim)))}

    @property
    def namespace_labels(self) -> dict[str, str]:
        """Labels of its namespace, in addition to Kubernetes' own."""
        labels = {**TENANT}
        for mode, level in self.pod_security.levels.items():
            labels[f"pod-security.kubernetes.io/{mode}"] = level
        if self.queue_required:
            labels |= QUEUE_REQUIRED
        if self.storage is None and STORAGE not in self.resource_quota:
            labels |= NO_CLAIMS
        if self.ray_auth == "token":
            labels |= TOKEN_REQUIRED
        if self.secrets and self.identity:
            labels |= {SECRETS_LABEL: self.identity.service_account}
        labels |= {unqueued_label(entry.kind, entry.name): "true" for entry in self.unqueued}
        return labels
