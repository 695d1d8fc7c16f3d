"""Rules of tenants: their namespaces and queues, and what they require of the cluster."""

from collections.abc import Iterator

from settings.model.foundation.cluster import Gke
from settings.model.foundation.cluster_version import RESOURCE_CLAIMS
from settings.model.operators.namespaces import OPERATORS
from settings.model.stack import Settings
from settings.model.tenants.tenant import Tenant
from settings.model.versions import GkeVersion
from settings.problems import Finding, Path, did_you_mean
from settings.rules.names import unique
from settings.rules.registry import rule

OWN_NAMESPACES = ("default", *OPERATORS)
OWN_PREFIXES = ("kube-", "gke-", "gmp-")
OLDEST_WITH_TOKENS = (1, 5, 1)
# Drivers whose StorageClasses create volumes (GKE, storage overview).
CLAIM_DRIVERS = {"persistent-disk", "filestore", "lustre"}


def tenants_of(settings: Settings) -> Iterator[tuple[Path, Tenant]]:
    """Yields each tenant with its path."""
    for i, tenant in enumerate(settings.tenants):
        yield ("muster:tenants", i), tenant


@rule("tenants")
def tenants_have_their_own_namespaces(settings: Settings) -> Iterator[Finding]:
    """The namespace of a tenant is neither the default one nor one of the system (Kubernetes, namespaces)."""
    for path, tenant in tenants_of(settings):
        if tenant.namespace in OWN_NAMESPACES or tenant.namespace.startswith(OWN_PREFIXES):
            yield Finding(
                (*path, "namespace"),
                f"a namespace for the team: not {', '.join(OWN_NAMESPACES)}, nor one of the system "
                f"({', '.join(f'{prefix}*' for prefix in OWN_PREFIXES)})",
                "choose another name",
            )


@rule("queues", "tenants")
def tenants_suit_queues(settings: Settings) -> Iterator[Finding]:
    """Tenants have local queues of cluster queues in the file (Kueue: LocalQueueSpec.clusterQueue)."""
    queues = [queue.name for queue in settings.queues.cluster_queues]
    for path, tenant in tenants_of(settings):
        for local, target in tenant.queues.items():
            if target not in queues:
                yield Finding(
                    (*path, "queues", local),
                    "the name of a cluster queue in this file",
                    did_you_mean(target, queues),
                )


@rule("admission", "tenants")
def tenants_suit_priorities(settings: Settings) -> Iterator[Finding]:
    """Tenants use priorities of `muster:admission.priorities` (Kueue: WorkloadPriorityClass)."""
    priorities = list(settings.admission.priorities)
    for path, tenant in tenants_of(settings):
        for i, name in enumerate(tenant.priorities or ()):
            if name not in priorities:
                yield Finding(
                    (*path, "priorities", i),
                    "the name of a priority in muster:admission.priorities",
                    did_you_mean(name, priorities),
                )


@rule("controller", "tenants")
def tenants_share_no_names(settings: Settings) -> Iterator[Finding]:
    """Buckets, Google service accounts and hosts are unique in the project or in all of Google Cloud (Cloud
    Storage, bucket names; IAM: accountId)."""
    by_kind: dict[str, list[tuple[Path, str]]] = {"bucket": [], "Google service account": [], "host": []}
    journal = settings.controller.journal if settings.controller else None
    if journal and journal.existing_bucket:
        existing: Path = ("muster:controller", "journal", "existingBucket")
        by_kind["bucket"].append((existing, journal.existing_bucket))
    for kind, path, name in chosen_names(settings):
        by_kind[kind].append((path, name))
    for kind, named in by_kind.items():
        yield from unique(named, kind)


def chosen_names(settings: Settings) -> Iterator[tuple[str, Path, str]]:
    """Yields the names of Google Cloud's resources that the file chooses: the kind, the path and the name."""
    journal = settings.controller.journal if settings.controller else None
    if journal and journal.bucket:
        yield "bucket", ("muster:controller", "journal", "bucket"), journal.bucket
    for path, tenant in tenants_of(settings):
        if tenant.checkpoints:
            yield "bucket", (*path, "checkpoints", "bucket"), tenant.checkpoints.bucket
        if tenant.identity and tenant.identity.account:
            yield "Google service account", (*path, "identity", "account"), tenant.identity.account
        for host in tenant.serving.hosts if tenant.serving else ():
            yield "host", (*path, "serving", "hosts", host), host


@rule("cluster", "tenants")
def tenants_suit_the_cluster(settings: Settings) -> Iterator[Finding]:
    """Identities, buckets and Gateways require a GKE cluster, and the features of the cluster that serve
    them (GKE: Cloud Storage FUSE, Gateway, network policies; Kubernetes: ResourceClaims)."""
    for path, tenant in tenants_of(settings):
        if settings.place is None:
            features = {
                "identity": tenant.identity,
                "checkpoints": tenant.checkpoints,
                "secrets": tenant.secrets,
                "serving": tenant.serving,
            }
            for key in (key for key, value in features.items() if value):
                yield Finding(
                    (*path, key),
                    "no value: it needs Google Cloud, and this cluster is not known to be there",
                    f"remove `{key}`, or say in muster:cluster.gke where the cluster is",
                )
        elif isinstance(settings.cluster, Gke):
            yield from _suits_gke(tenant, settings.cluster, path)


def _suits_gke(tenant: Tenant, cluster: Gke, path: Path) -> Iterator[Finding]:
    if tenant.checkpoints and "gcs-fuse" not in cluster.csi_drivers:
        yield Finding(
            (*path, "checkpoints"),
            "no value: the cluster's csiDrivers do not include gcs-fuse, which mounts buckets",
            "add gcs-fuse to muster:cluster.csiDrivers, or remove `checkpoints`",
        )
    if tenant.storage and not CLAIM_DRIVERS.intersection(cluster.csi_drivers):
        yield Finding(
            (*path, "storage"),
            "no value: the cluster's csiDrivers include none that provides volumes for claims",
            f"add {' or '.join(sorted(CLAIM_DRIVERS))} to muster:cluster.csiDrivers, or remove `storage`",
        )
    if tenant.serving and not cluster.gateway_api:
        yield Finding(
            (*path, "serving"),
            "no value: the cluster's gatewayApi is off, so the Gateway would get no load balancer",
            "write muster:cluster.gatewayApi: true, or remove `serving`",
        )
    if tenant.network.isolated and not cluster.dataplane_v2:
        yield Finding(
            (*path, "network", "isolated"),
            "false: without dataplaneV2 the cluster does not enforce NetworkPolicies (GKE, network policy)",
            "write muster:cluster.dataplaneV2: true, or isolated: false",
        )
    if tenant.device_claims and GkeVersion.parse(cluster.version) < RESOURCE_CLAIMS:
        yield Finding(
            (*path, "deviceClaims"),
            "no value: ResourceClaimTemplate v1 requires Kubernetes 1.34",
            'raise muster:cluster.version to "1.34" or later, or remove `deviceClaims`',
        )


@rule("tenants")
def tenants_have_dependencies(settings: Settings) -> Iterator[Finding]:
    """A tenant's bucket requires an identity and egress to Google APIs (Cloud Storage FUSE)."""
    for path, tenant in tenants_of(settings):
        if tenant.checkpoints and not tenant.identity:
            yield Finding(
                (*path, "identity"),
                "an identity, with which pods access the bucket of `checkpoints`",
                "add `identity: {}`",
            )
        if tenant.checkpoints and tenant.network.isolated and tenant.network.egress == "none":
            yield Finding(
                (*path, "network", "egress"),
                "https or google-apis: pods reach the bucket of `checkpoints` through Google APIs",
                "write google-apis",
            )


@rule("kuberay", "tenants")
def tokens_are_made(settings: Settings) -> Iterator[Finding]:
    """`rayAuth` requires KubeRay 1.5.1, which creates Ray's tokens (docs.ray.io, KubeRay authentication)."""
    kuberay = settings.kuberay
    numbers = kuberay.chart_version.partition("-")[0].split(".")
    if kuberay.install != "helm" or tuple(map(int, numbers)) >= OLDEST_WITH_TOKENS:
        return
    for path, tenant in tenants_of(settings):
        if tenant.ray_auth == "token":
            yield Finding(
                (*path, "rayAuth"),
                f"no value: KubeRay {kuberay.chart_version} does not support authOptions",
                "raise muster:kuberay.version to 1.5.1 or later, or remove `rayAuth`",
            )


@rule("tenants")
def network_keys_need_isolation(settings: Settings) -> Iterator[Finding]:
    """Traffic that a tenant's network allows is an exception from its isolation (Kubernetes,
    NetworkPolicy)."""
    for path, tenant in tenants_of(settings):
        for key in ("egress", "destinations", "clients"):
            if not tenant.network.isolated and key in tenant.network.model_fields_set:
                yield Finding(
                    (*path, "network", key),
                    "no value: with isolated: false there is no NetworkPolicy, and all traffic is allowed",
                    f"remove `{key}`, or `isolated`",
                )


@rule("tenants")
def identities_are_asked_for(settings: Settings) -> Iterator[Finding]:
    """The identity of a tenant belongs to pods that name its ServiceAccount, and not to all others, which run
    as `default` (CIS GKE 4.1.5)."""
    for path, tenant in tenants_of(settings):
        if tenant.identity and tenant.identity.service_account == "default":
            yield Finding(
                (*path, "identity", "serviceAccount"),
                "another name: pods that name no ServiceAccount would have the identity (CIS GKE 4.1.5)",
                "remove it, which means ray, and set serviceAccountName in the pods that need the identity",
            )


@rule("project", "pools", "tenants")
def nodes_share_no_account_with_tenants(settings: Settings) -> Iterator[Finding]:
    """The account of nodes is not that of a tenant, whose pods could act as the nodes (GKE, Workload Identity
    Federation)."""
    accounts = {
        f"{tenant.identity.account}@{settings.project}.iam.gserviceaccount.com": tenant.namespace
        for tenant in settings.tenants
        if tenant.identity and tenant.identity.account
    }
    for i, pool in enumerate(settings.pools):
        if namespace := accounts.get(pool.service_account or ""):
            yield Finding(
                ("muster:pools", i, "serviceAccount"),
                f"an account that no pod has: pods of {namespace} act as this one",
                "choose another one, or remove it: the stack then creates an account of the nodes",
            )
