"""The cluster of a stack: one that GKE makes, or one that already runs."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from typing_extensions import Doc

from settings.model.base import DnsLabel, Model, refuse
from settings.model.foundation.maintenance import Maintenance
from settings.model.foundation.network import Cidr
from settings.model.foundation.node_auto_provisioning import NodeAutoProvisioning
from settings.model.pools.values import Zone
from settings.model.versions import GkeVersion

LOCATION = re.compile(r"[a-z]+-[a-z]+[0-9]+(-[a-z])?")
CLUSTER_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
KMS_KEY = re.compile(r"projects/[^/]+/locations/(?P<location>[^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
TOPIC = re.compile(r"projects/[^/]+/topics/[^/]+")

# The first versions that serve ValidatingAdmissionPolicy, MutatingAdmissionPolicy and ResourceClaim as v1,
# without which Ray objects are not kept in their queues, not suspended for their users, and get no devices
# by claim.
OLDEST_VERSION = GkeVersion(1, 30, 0, 0)
MUTATING_POLICIES = GkeVersion(1, 36, 0, 0)
RESOURCE_CLAIMS = GkeVersion(1, 34, 0, 0)
DRA_BETA = GkeVersion(1, 32, 0, 0)
CLAIM_APIS = tuple(
    f"resource.k8s.io/v1beta1/{kind}"
    for kind in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
)

Metrics = Literal[
    "apiserver",
    "scheduler",
    "controller-manager",
    "storage",
    "hpa",
    "pod",
    "daemonset",
    "deployment",
    "statefulset",
    "kubelet",
    "cadvisor",
    "jobset",
    "dcgm",
]
Logs = Literal["workloads", "apiserver", "scheduler", "controller-manager"]
# The Parallelstore driver is left out: GKE supports it no longer.
CsiDriver = Literal["persistent-disk", "gcs-fuse", "filestore", "lustre"]


def _location(location: str) -> str:
    if not LOCATION.fullmatch(location):
        refuse("a zone such as us-west1-b or a region such as us-west1", "choose where the cluster runs")
    return location


def _cluster_name(name: str) -> str:
    if not CLUSTER_NAME.fullmatch(name):
        refuse(
            "1 to 40 of a-z, 0-9 and '-', from a letter to a letter or digit (GKE API: Cluster.name)",
            "choose such a name",
        )
    return name


def _version(version: str) -> str:
    try:
        parsed = GkeVersion.parse(version)
    except ValueError:
        refuse("a GKE version", 'write it in quotes, such as "1.36" or "1.36.1-gke.1234000"')
    if parsed < OLDEST_VERSION:
        refuse(
            "1.30 or later, the first version that serves ValidatingAdmissionPolicy v1, by which Ray objects "
            "are kept in their queues",
            'raise it, best to "1.36", which suspends queued Ray objects for their users',
        )
    return version


def _kms_key(key: str) -> str:
    if not KMS_KEY.fullmatch(key):
        refuse(
            "a key of Cloud KMS by its full name",
            "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        )
    return key


def _topic(topic: str) -> str:
    if not TOPIC.fullmatch(topic):
        refuse("a Pub/Sub topic by its full name", "write projects/PROJECT/topics/TOPIC")
    return topic


def _security_group(group: str) -> str:
    if not re.fullmatch(r"gke-security-groups@[a-z0-9.-]+", group):
        refuse(
            "the group of groups that GKE looks RBAC's groups up in, which must have that name "
            "(GKE, Google Groups for RBAC)",
            "write gke-security-groups@ and your domain",
        )
    return group


class Gke(Model):
    """A GKE cluster that this stack makes; what is left out is as the CIS GKE benchmark has it."""

    kind: Literal["gke"]
    """Makes the cluster, its node pools, and what else of Google Cloud the stack asks for."""
    name: Annotated[str, AfterValidator(_cluster_name), Doc("cluster name")]
    """Another name would be another cluster: everything is made anew."""
    location: Annotated[str, AfterValidator(_location), Doc("region or zone")]
    """A region, or a zone for a cluster with one control plane only."""
    zones: tuple[Zone, ...] = ()
    """Where nodes run: of a regional cluster all of them (none: GKE chooses), of a zonal one the others."""
    channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    """How soon GKE upgrades it: `rapid` first, `stable` last, `extended` keeps minor versions longer."""
    version: Annotated[str, AfterValidator(_version), Doc("GKE version")] = "1.36"
    """The oldest to run; GKE upgrades it as the channel says."""
    maintenance: Maintenance | None = None
    """When GKE may upgrade and repair it; at any time unless given."""
    labels: dict[DnsLabel, str] = Field(default_factory=dict)
    """Labels of its Google Cloud resources, by which costs can be told apart."""
    deletion_protection: bool = True
    """GKE and Pulumi refuse to delete the cluster, its pools and network, tenants' namespaces and buckets."""

    network: str | None = None
    """One of the project's to use, with `subnetwork`, where there is no `muster:network` (none: default)."""
    subnetwork: str | None = None
    """The subnet of `network`, in the cluster's region (none: default)."""
    dataplane_v2: bool = True
    """Network policies are enforced, by eBPF (CIS GKE 4.3.1)."""
    intranode_visibility: bool = True
    """Traffic within a node is seen by firewalls and flow logs too (CIS GKE 5.6.1)."""
    private_nodes: bool = True
    """Nodes have no public addresses (CIS GKE 5.6.5)."""
    dns_endpoint: bool = True
    """The control plane answers by a DNS name, from anywhere, to those whom IAM allows it."""
    public_endpoint: bool = False
    """The control plane's IP address is public (CIS GKE 5.6.4), to `authorizedNetworks` alone."""
    authorized_networks: dict[str, Cidr] = Field(default_factory=dict)
    """By name, who reaches the control plane's IP address from outside the cluster's subnet."""

    security_group: Annotated[str, AfterValidator(_security_group), Doc("group's address")] | None = None
    """gke-security-groups@DOMAIN, in which RBAC finds Google groups."""
    secrets_encryption: Annotated[str, AfterValidator(_kms_key), Doc("key of Cloud KMS")] | None = None
    """The KMS key that secrets are encrypted with in etcd."""
    binary_authorization: bool = True
    """Images are admitted as the project's policy says."""
    security_posture: bool = True
    """GKE's posture dashboard looks for what is amiss in workloads' configuration."""

    cost_management: bool = True
    """The bill is split by namespace and label (GKE, cost allocation)."""
    managed_prometheus: bool = True
    """Google's managed Prometheus scrapes what PodMonitorings name."""
    logs: tuple[Logs, ...] = ("workloads",)
    """Beside those of the system's own components."""
    metrics: tuple[Metrics, ...] = ("dcgm", "pod", "deployment", "storage", "cadvisor", "kubelet")
    """Beside those of the system's own components; dcgm is NVIDIA's, of GPUs."""
    gateway_api: bool = True
    """GKE's Gateway controller, which tenants' `serving` needs."""
    vertical_pod_autoscaling: bool = True
    """VerticalPodAutoscalers are served; for Ray they may recommend only."""
    csi_drivers: tuple[CsiDriver, ...] = ("persistent-disk", "gcs-fuse")
    """Kinds of storage that pods can mount; tenants' `checkpoints` need gcs-fuse."""
    dynamic_resource_allocation: bool = False
    """Serve resource claims; from 1.34 on they are anyway, before that they are beta APIs."""
    node_auto_provisioning: NodeAutoProvisioning | None = None
    """Off unless given: then no pods get nodes but by the stack's pools."""
    fleet: str | None = None
    """The project of the fleet that it joins."""
    notifications: Annotated[str, AfterValidator(_topic), Doc("Pub/Sub topic")] | None = None
    """The Pub/Sub topic that GKE tells of upgrades and security bulletins."""

    @property
    def regional(self) -> bool:
        return self.location == self.region

    @property
    def region(self) -> str:
        return "-".join(self.location.split("-")[:2])

    @property
    def serves_mutating_policies(self) -> bool:
        """Whether the API server itself can suspend queued Ray objects."""
        return GkeVersion.parse(self.version) >= MUTATING_POLICIES

    @property
    def beta_apis(self) -> tuple[str, ...]:
        """The beta APIs to switch on; later versions serve resource claims as v1 by themselves."""
        claims = self.dynamic_resource_allocation and GkeVersion.parse(self.version) < RESOURCE_CLAIMS
        return CLAIM_APIS if claims else ()


class Existing(Model):
    """A cluster that already runs, reached by the ambient KUBECONFIG (and `context` in it, if given)."""

    kind: Literal["existing"]
    """Uses a cluster that the stack does not make: nothing of Google Cloud can be asked for."""
    name: DnsLabel
    """What it is called in the stack's outputs."""
    context: str | None = None
    """The kubeconfig's current one unless given."""
    serves_mutating_policies: bool = True
    """Whether it has MutatingAdmissionPolicy v1, as Kubernetes from 1.36 on."""

    @model_validator(mode="before")
    @classmethod
    def _is_not_made_here(cls, given: Any) -> Any:
        gke_only = _keys(Gke) - _keys(cls)
        if isinstance(given, dict) and (wrong := sorted(gke_only & given.keys())):
            refuse(
                f"no {' or '.join(wrong)}: this cluster runs already, only one that the stack makes has them",
                "remove them, or write kind: gke",
            )
        return given


def _keys(model: type[Model]) -> set[str]:
    """The keys that the model has in a file."""
    return {field.alias or name for name, field in model.model_fields.items()}


Cluster = Annotated[Gke | Existing, Field(discriminator="kind")]
