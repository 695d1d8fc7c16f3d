"""Rules of the cluster."""

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Network

from settings.model.foundation.cluster import CLUSTER_NAME, Gke
from settings.model.foundation.cluster_version import DRA_BETA
from settings.model.foundation.existing import Existing
from settings.model.foundation.node_auto_provisioning import Limit
from settings.model.observability import EMAIL
from settings.model.pools.gpus import ATTACHABLE
from settings.model.pools.machines import MACHINES
from settings.model.stack import Settings
from settings.model.versions import GkeVersion
from settings.problems import Finding, Path, did_you_mean
from settings.rules.registry import rule

ACCELERATORS = sorted(
    {
        name
        for machine in MACHINES.values()
        for name in (machine.gpu_type, machine.tpu_type, *ATTACHABLE)
        if name
    }
)
LARGEST_NETWORK = 8  # the prefix of the largest private range


@rule("project", "cluster")
def gke_needs_a_project(settings: Settings) -> Iterator[Finding]:
    """A GKE cluster belongs to a project, `gcp:project` (GKE API: Cluster)."""
    if settings.place and not settings.project:
        yield Finding(
            ("gcp:project",), "the Google Cloud project that the cluster belongs to", "add `gcp:project`"
        )


@rule("cluster")
def zones_belong_to_the_cluster(settings: Settings) -> Iterator[Finding]:
    """The zones of a cluster are in its region; a zonal cluster's are in addition to its own (GKE
    API: Cluster.locations; Pulumi's `node_locations`)."""
    if not isinstance(settings.cluster, Gke):
        return
    cluster, path = settings.cluster, ("muster:cluster", "zones")
    for i, zone in enumerate(cluster.zones):
        if zone == cluster.location:
            yield Finding(
                (*path, i), f"zones other than {zone}, which a cluster in that zone always has", "remove it"
            )
        elif zone.rpartition("-")[0] != cluster.region:
            yield Finding((*path, i), f"a zone of {cluster.region}", "choose one of them")


@rule("cluster")
def control_plane_can_be_reached(settings: Settings) -> Iterator[Finding]:
    """At least one endpoint or network gives access to the control plane, but not the whole internet (CIS
    GKE 5.6.3, 5.6.4)."""
    if not isinstance(settings.cluster, Gke):
        return
    cluster, path = settings.cluster, ("muster:cluster", "authorizedNetworks")
    for name, network in cluster.authorized_networks.items():
        if IPv4Network(network).prefixlen < LARGEST_NETWORK:
            yield Finding(
                (*path, name),
                "a network smaller than the whole internet (CIS GKE 5.6.3)",
                "write your networks, or remove it: the DNS endpoint serves any network and uses IAM",
            )
    if cluster.authorized_networks:
        return
    if cluster.public_endpoint:
        yield Finding(
            path,
            "at least one entry: only these networks reach a public endpoint (CIS GKE 5.6.3)",
            "add one, such as {office: 203.0.113.0/24}, or remove `publicEndpoint`",
        )
    elif not cluster.dns_endpoint:
        yield Finding(
            path,
            "at least one entry: without a DNS endpoint only these networks reach the control plane "
            "(GKE, network isolation)",
            "add one, such as {vpn: 10.200.0.0/16}, or write dnsEndpoint: true",
        )


@rule("cluster")
def joined_clusters_have_gkes_names(settings: Settings) -> Iterator[Finding]:
    """An existing cluster in GKE has a name that GKE accepts (GKE API: Cluster.name)."""
    cluster = settings.cluster
    if isinstance(cluster, Existing) and cluster.gke and not CLUSTER_NAME.fullmatch(cluster.name):
        yield Finding(
            ("muster:cluster", "name"),
            "its name in GKE: 1 to 40 of a-z, 0-9 and '-', from a letter on (GKE API: Cluster.name)",
            "copy it from `gcloud container clusters list`",
        )


@rule("cluster", "tenants")
def google_groups_are_found(settings: Settings) -> Iterator[Finding]:
    """Tenants' groups require the cluster's `securityGroup`: otherwise RoleBindings to groups have no effect
    (GKE, "Configure Google Groups for RBAC")."""
    if not isinstance(settings.cluster, Gke) or settings.cluster.security_group:
        return
    if groups := [tenant.group for tenant in settings.tenants if tenant.group]:
        yield Finding(
            ("muster:cluster", "securityGroup"),
            f"gke-security-groups@DOMAIN, the group that contains {', '.join(groups)}: without it GKE "
            "ignores Google groups, and tenants' groups have no access (GKE, Google Groups for RBAC)",
            "add it, or remove `group` from the tenants",
        )


@rule("cluster", "tenants")
def google_groups_are_addresses(settings: Settings) -> Iterator[Finding]:
    """On GKE a group is the e-mail address of a Google group (GKE, "Configure Google Groups for RBAC")."""
    for i, tenant in enumerate(settings.tenants if isinstance(settings.cluster, Gke) else ()):
        if tenant.group and not EMAIL.fullmatch(tenant.group):
            yield Finding(
                ("muster:tenants", i, "group"),
                "the e-mail address of a Google group (GKE, Google Groups for RBAC)",
                f"write the full address, such as {tenant.group.partition('@')[0]}@example.com",
            )


@rule("cluster")
def claims_are_served(settings: Settings) -> Iterator[Finding]:
    """The beta of dynamic resource allocation requires 1.32 (Kubernetes, resource.k8s.io/v1beta1)."""
    if not isinstance(settings.cluster, Gke) or not settings.cluster.dynamic_resource_allocation:
        return
    if GkeVersion.parse(settings.cluster.version) < DRA_BETA:
        yield Finding(
            ("muster:cluster", "version"),
            "1.32 or later, the first version with the beta of dynamic resource allocation (Kubernetes)",
            "raise it, or remove `dynamicResourceAllocation`",
        )


@rule("cluster")
def auto_provisioning_limits_are_in_order(settings: Settings) -> Iterator[Finding]:
    """A limit of node auto-provisioning has a `min` of at most its `max` (GKE API: ResourceLimit)."""
    for resource, limit in _limits(settings).items():
        if limit.min > limit.max:
            yield Finding(
                (*_limit_path(resource), "min"),
                f"at most max, which is {limit.max}",
                "lower `min` or raise `max`",
            )


@rule("cluster")
def auto_provisioned_accelerators_exist(settings: Settings) -> Iterator[Finding]:
    """Accelerators have GKE's names (GKE, node auto-provisioning; Compute Engine, GPU platforms)."""
    for name in _limits(settings):
        if name not in ("cpu", "memory", *ACCELERATORS):
            yield Finding(
                _limit_path(name),
                f"GKE's name of an accelerator: {', '.join(ACCELERATORS)} (GKE, node auto-provisioning)",
                did_you_mean(name, ACCELERATORS),
            )


@rule("cluster", "pools")
def auto_provisioning_leaves_room_for_the_pools(settings: Settings) -> Iterator[Finding]:
    """Limits of node auto-provisioning apply to the whole cluster, so they leave room for the stack's own
    pools (GKE, node auto-provisioning)."""
    own: Counter[str] = Counter()
    for pool in settings.pools:
        own["cpu"] += pool.nodes_max * pool.machine.vcpus
        own["memory"] += pool.nodes_max * pool.machine.memory_gib
        if pool.gpu:
            own[pool.gpu.type] += pool.nodes_max * pool.gpu.count
    for resource, limit in _limits(settings).items():
        if limit.max < own[resource]:
            yield Finding(
                (*_limit_path(resource), "max"),
                f"at least {own[resource]}, the most that this stack's pools may have: the limit includes "
                "them (GKE, node auto-provisioning)",
                "raise it, or lower the pools' nodes.max",
            )


def _limits(settings: Settings) -> dict[str, Limit]:
    provisioning = settings.cluster.node_auto_provisioning if isinstance(settings.cluster, Gke) else None
    return provisioning.limits if provisioning else {}


def _limit_path(resource: str) -> Path:
    place = (resource,) if resource in ("cpu", "memory") else ("accelerators", resource)
    return ("muster:cluster", "nodeAutoProvisioning", *place)
