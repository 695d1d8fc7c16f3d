"""Warnings about tenants: what names a group, namespace or place that is probably another one."""

import difflib
from collections.abc import Iterator
from ipaddress import IPv4Network

from settings.model.foundation.cluster import Gke
from settings.model.foundation.existing import Existing
from settings.model.queues.admission import WEEK_SECONDS
from settings.model.stack import Settings
from settings.problems import Doubt
from settings.rules.network import ranges
from settings.rules.registry import doubt
from settings.rules.tenants import tenants_of

DAY_SECONDS = 86400
# Regions in or near a location of several regions.
AROUND = {
    "us": ("us-",),
    "nam4": ("us-central1", "us-east1"),
    "eu": ("europe-",),
    "eur4": ("europe-north1", "europe-west4"),
    "eur5": ("europe-west1", "europe-west2"),
    "eur7": ("europe-west2", "europe-west3"),
    "eur8": ("europe-west3", "europe-west6"),
    "asia": ("asia-",),
    "asia1": ("asia-northeast1", "asia-northeast2"),
}


@doubt("tenants")
def unqueued_devices_may_be_unbounded(settings: Settings) -> Iterator[Doubt]:
    """Queues do not count the devices of `unqueued` objects; a ResourceQuota does (Kubernetes, resource
    quotas for extended resources)."""
    for path, tenant in tenants_of(settings):
        if tenant.unqueued and not any("/" in key.removeprefix("count/") for key in tenant.resource_quota):
            yield Doubt(
                (*path, "unqueued"),
                "no queue counts their devices, and no `resourceQuota`, such as requests.nvidia.com/gpu, "
                "bounds them",
                "Kubernetes, resource quotas",
            )


@doubt("cluster", "admission", "tenants")
def autoscalers_may_be_isolated(settings: Settings) -> Iterator[Doubt]:
    """Heads of isolated tenants reach the API server of an existing cluster if its address is named: Ray's
    autoscaler asks it for workers (docs/elastic.md, network policies). Without autoscaling, and with a public
    address and egress `https`, they need no rule."""
    cluster = settings.cluster
    if not isinstance(cluster, Existing) or cluster.gke is None or cluster.api_server:
        return
    networks = [tenant.network for tenant in settings.tenants]
    if settings.admission.engine != "kai" and any(n.isolated and not n.destinations for n in networks):
        yield Doubt(
            ("muster:cluster", "apiServer"),
            "NetworkPolicies keep Ray's autoscaler from a private address of the API server, so autoscaled "
            "jobs stay at their minimum; `kubectl get endpointslices -n default` shows the address",
            "docs/elastic.md",
        )


@doubt("cluster", "tenants")
def buckets_may_be_far(settings: Settings) -> Iterator[Doubt]:
    """Checkpoints are written to a bucket in the cluster's region, or in the part of the world around it:
    elsewhere each one crosses an ocean, and is billed (Cloud Storage, bucket locations)."""
    region = settings.place.region if settings.place else ""
    for path, tenant in tenants_of(settings):
        location = (tenant.checkpoints.location or "").lower() if tenant.checkpoints else ""
        if location and region and location != region and not region.startswith(AROUND.get(location, ("-",))):
            yield Doubt(
                (*path, "checkpoints", "location"),
                f"the cluster is in {region}: every checkpoint is sent there and back",
                "Cloud Storage, bucket locations",
            )


@doubt("pools", "admission", "tenants")
def checkpoints_may_be_deleted_too_soon(settings: Settings) -> Iterator[Doubt]:
    """Checkpoints exist for as long as the nodes that a job may run on: a job that is evicted near the end
    resumes from them (Cloud Storage, object lifecycle: Age; GKE, queued provisioning: at most a week)."""
    queued = settings.admission.queued_provisioning.max_run_seconds or WEEK_SECONDS
    limits = [pool.max_run_seconds or (queued if pool.queued else 0) for pool in settings.pools]
    longest = max(limits, default=0)
    for path, tenant in tenants_of(settings):
        days = tenant.checkpoints.delete_after_days if tenant.checkpoints else None
        if days is not None and days * DAY_SECONDS < longest:
            yield Doubt(
                (*path, "checkpoints", "deleteAfterDays"),
                f"a job may run on a node for {longest / DAY_SECONDS:.3g} days: what it wrote at its start, "
                "such as data that a checkpoint refers to, is deleted while it runs",
                "Cloud Storage, object lifecycle",
            )


@doubt("cluster", "tenants")
def groups_may_be_unknown(settings: Settings) -> Iterator[Doubt]:
    """GKE knows the groups that are nested in the cluster's `securityGroup`, usually of its domain (GKE,
    Google Groups for RBAC)."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke) or not cluster.security_group:
        return
    domain = cluster.security_group.rpartition("@")[2]
    for path, tenant in tenants_of(settings):
        if tenant.group and tenant.group.rpartition("@")[2] != domain:
            yield Doubt(
                (*path, "group"),
                f"its domain is not {domain}, that of muster:cluster.securityGroup: the team has no access "
                "unless its group is nested in that group",
                "GKE, Google Groups for RBAC",
            )


@doubt("cluster", "tenants")
def callers_may_be_outsiders(settings: Settings) -> Iterator[Doubt]:
    """Callers of Ray Serve usually belong to the organization of the cluster's `securityGroup` (IAP, Managing
    access). Service accounts have Google's domains."""
    cluster = settings.cluster
    if not isinstance(cluster, Gke) or not cluster.security_group:
        return
    domain = cluster.security_group.rpartition("@")[2]
    for path, tenant in tenants_of(settings):
        for i, member in enumerate(tenant.serving.iap.members if tenant.serving else ()):
            kind, _, name = member.partition(":")
            of_member = name.rpartition("@")[2]
            inside = of_member == domain or of_member.endswith(f".{domain}")
            if kind in ("user", "group", "domain") and not inside:
                yield Doubt(
                    (*path, "serving", "iap", "members", i),
                    f"its domain is not {domain}, that of muster:cluster.securityGroup: people outside the "
                    "organization may call the team's models",
                    "IAP, Managing access",
                )


@doubt("tenants")
def clients_may_be_misspelt(settings: Settings) -> Iterator[Doubt]:
    """A client of Ray Serve whose name is similar to a tenant's namespace is probably misspelt, and a
    misspelt name lets no pods in; namespaces outside the stack may have any name (Kubernetes,
    NetworkPolicy: namespaceSelector)."""
    names = [tenant.namespace for tenant in settings.tenants]
    for path, tenant in tenants_of(settings):
        for i, client in enumerate(tenant.network.clients):
            similar = difflib.get_close_matches(client, names, n=1)
            if client not in names and similar:
                yield Doubt(
                    (*path, "network", "clients", i),
                    "no tenant has this namespace, so only pods of a namespace outside the stack get in; "
                    f"did you mean {similar[0]}?",
                    "Kubernetes, NetworkPolicy: namespaceSelector",
                )


@doubt("tenants")
def clients_may_be_the_tenants_own(settings: Settings) -> Iterator[Doubt]:
    """Clients are other namespaces: pods of a namespace reach each other in any case (docs/security.md)."""
    for path, tenant in tenants_of(settings):
        if tenant.namespace in tenant.network.clients:
            yield Doubt(
                (*path, "network", "clients", tenant.network.clients.index(tenant.namespace)),
                "the tenant's own namespace, whose pods reach each other without it",
                "Kubernetes, NetworkPolicy",
            )


@doubt("network", "cluster", "tenants")
def destinations_may_be_in_the_cluster(settings: Settings) -> Iterator[Doubt]:
    """Destinations are outside of the cluster: GKE Dataplane V2 selects its pods, Services and nodes by their
    identity, never by an address (Cilium, "IP/CIDR based")."""
    if settings.network is None or not isinstance(settings.cluster, Gke) or not settings.cluster.dataplane_v2:
        return
    own = [(path[-1], cidr) for path, cidr in ranges(settings.network) if path[-1] != "gpuTraffic"]
    for path, tenant in tenants_of(settings):
        for i, destination in enumerate(tenant.network.destinations):
            target = IPv4Network(destination.cidr)
            inside = [name for name, cidr in own if target.subnet_of(cidr)]
            if inside:
                yield Doubt(
                    (*path, "network", "destinations", i, "cidr"),
                    f"in the cluster's own range `{inside[0]}`: Dataplane V2 matches no addresses of pods, "
                    "Services and nodes, so it allows nothing; `clients` of the other tenant lets pods in",
                    "Cilium, IP/CIDR based",
                )


@doubt("tenants")
def namespaces_may_be_of_operators(settings: Settings) -> Iterator[Doubt]:
    """Operators have namespaces that end in -system, such as istio-system: the stack would label one as a
    team's, isolate it and bound its pods (Kubernetes, namespaces)."""
    for path, tenant in tenants_of(settings):
        if tenant.namespace.endswith("-system"):
            yield Doubt(
                (*path, "namespace"),
                "namespaces of this form are usually an operator's, whose pods the tenant's policies would "
                "refuse or isolate",
                "Kubernetes, namespaces",
            )
