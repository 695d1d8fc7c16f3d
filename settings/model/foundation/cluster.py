"""A GKE cluster that the stack creates."""

import re
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import Doc

from settings.model.base import Model, matching
from settings.model.foundation.backup import Backup
from settings.model.foundation.cluster_version import (
    CLAIM_APIS,
    MUTATING_POLICIES,
    RESOURCE_CLAIMS,
    ClusterVersion,
)
from settings.model.foundation.dns import Dns
from settings.model.foundation.maintenance import Maintenance
from settings.model.foundation.network import Cidr
from settings.model.foundation.node_auto_provisioning import NodeAutoProvisioning
from settings.model.foundation.node_defaults import NodeDefaults
from settings.model.foundation.place import Autopilot, GkePlace
from settings.model.foundation.secret_manager import SecretManager
from settings.model.google_cloud import (
    LABELS_MAX,
    NETWORK,
    PROJECT,
    ExistingNetwork,
    ExistingSubnetwork,
    GoogleLabelKey,
    GoogleLabelValue,
    KmsKey,
    ProjectId,
    RangeName,
    TagKey,
    TagValue,
)
from settings.model.regions import Location, Zone
from settings.model.versions import GkeVersion

CLUSTER_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
TOPIC = re.compile(rf"projects/{PROJECT}/topics/[A-Za-z][\w.~+%-]{{2,254}}")

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
Logs = Literal[
    "workloads",
    "apiserver",
    "scheduler",
    "controller-manager",
    "kcp-connection",
    "kcp-sshd",
    "kcp-hpa",
    "kcp-vpa",
]
# The Parallelstore driver is left out: GKE no longer supports it.
CsiDriver = Literal["persistent-disk", "gcs-fuse", "filestore", "lustre"]

ClusterName = Annotated[
    str,
    matching(
        CLUSTER_NAME,
        "1 to 40 of a-z, 0-9 and '-', from a letter on, no '-' at the end (GKE API: Cluster.name)",
        "rename it",
    ),
    Doc("cluster name"),
]


PubSubTopic = Annotated[
    str,
    matching(TOPIC, "the full name of a Pub/Sub topic", "write projects/PROJECT/topics/TOPIC"),
    Doc("Pub/Sub topic"),
]

SecurityGroup = Annotated[
    str,
    matching(
        re.compile(r"gke-security-groups@[a-z0-9.-]+"),
        "the group that contains the groups used in RBAC, whose name GKE prescribes "
        "(GKE, Google Groups for RBAC)",
        "write gke-security-groups@ followed by your domain",
    ),
    Doc("group's address"),
]


class Gke(Model):
    """A GKE cluster that the stack creates; the defaults follow the CIS GKE benchmark."""

    kind: Literal["gke"]
    """Creates the cluster, its node pools and the stack's other Google Cloud resources."""
    name: ClusterName
    """Name of the cluster. Changing it recreates the cluster and everything in it."""
    location: Location
    """A region, or a zone for a cluster with a single control plane."""
    zones: tuple[Zone, ...] = ()
    """Zones of the nodes. Regional cluster: all zones (none: GKE chooses); zonal cluster: additional ones."""
    channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    """Release channel: `rapid` is upgraded first, `stable` last, `extended` keeps minor versions longer."""
    autopilot: Autopilot = False
    """Autopilot is refused: its clusters have no node pools."""
    version: ClusterVersion = "1.36"
    """Minimum version; GKE upgrades the cluster according to its channel."""
    maintenance: Maintenance | None = None
    """Times at which GKE may upgrade and repair the cluster; any time if unset."""
    labels: dict[GoogleLabelKey, GoogleLabelValue] = Field(default_factory=dict, max_length=LABELS_MAX)
    """Labels of the cluster's Google Cloud resources, for cost allocation."""
    deletion_protection: bool = True
    """Makes GKE and Pulumi refuse to delete the cluster, its pools and network, and tenants' namespaces and
    buckets."""
    enable_apis: bool = True
    """Enables the Google Cloud APIs that the stack uses, which stay enabled when it is destroyed; `false` if
    the deploying identity may not."""

    network: ExistingNetwork | None = None
    """An existing network of the project, if `muster:network` is unset (none: default)."""
    subnetwork: ExistingSubnetwork | None = None
    """The subnet of `network`, in the cluster's region (none: default)."""
    pods_range: RangeName | None = None
    """The secondary range for pods in `subnetwork`; if unset, GKE creates one. Required with a Shared VPC."""
    services_range: RangeName | None = None
    """The secondary range for Services in `subnetwork`; if unset, GKE creates one. Required with a Shared
    VPC."""
    additional_pods_ranges: tuple[RangeName, ...] = ()
    """Further secondary ranges of the subnet, which nodes use when the range for pods is full."""
    host_roles: bool = True
    """Grants GKE's service agents the roles that they need in the host project of a Shared VPC; `false` if
    its administrators do so."""
    dataplane_v2: bool = True
    """GKE Dataplane V2, which enforces NetworkPolicies by eBPF (CIS GKE 4.3.1)."""
    intranode_visibility: bool = True
    """Makes traffic between pods of a node visible to firewalls and flow logs (CIS GKE 5.6.1)."""
    private_nodes: bool = True
    """Gives nodes no public IP addresses (CIS GKE 5.6.5)."""
    dns_endpoint: bool = True
    """Serves the control plane under a DNS name, from anywhere, to users authorized by IAM."""
    public_endpoint: bool = False
    """Gives the control plane a public IP address (CIS GKE 5.6.4), open to `authorizedNetworks` only."""
    authorized_networks: dict[str, Cidr] = Field(default_factory=dict)
    """Networks by name that may reach the control plane's IP address from outside the cluster's subnet."""

    security_group: SecurityGroup | None = None
    """gke-security-groups@DOMAIN, the group that contains the Google groups used in RBAC."""
    secrets_encryption: KmsKey | None = None
    """The KMS key that encrypts Secrets in etcd."""
    boot_disk_kms_key: KmsKey | None = None
    """The KMS key that encrypts boot disks of nodes, also of auto-provisioned ones, whose pool names no other
    (CIS GKE 5.9.2)."""
    resource_manager_tags: dict[TagKey, TagValue] = Field(default_factory=dict)
    """Tags of all nodes for network firewall policies: tagKeys/ID to tagValues/ID, or PROJECT/KEY to VALUE;
    at most 5 (GKE API: ResourceManagerTags)."""
    anonymous_authentication: Literal["limited", "enabled"] | None = None
    """Requests without credentials that the API server accepts: health checks only (`limited`), or all that
    RBAC allows (`enabled`); GKE's default if unset (GKE API: AnonymousAuthenticationConfig.mode)."""
    binary_authorization: bool = True
    """Admits images according to the project's Binary Authorization policy."""
    security_posture: bool = True
    """Scans workloads for misconfiguration, shown in GKE's security posture dashboard."""

    cost_management: bool = True
    """Breaks costs down by namespace and label (GKE, cost allocation)."""
    managed_prometheus: bool = True
    """Google Cloud Managed Service for Prometheus scrapes the pods selected by PodMonitorings."""
    logs: tuple[Logs, ...] = ("workloads",)
    """Logs to collect, in addition to logs of system components. `kcp-connection` and `kcp-sshd` are
    connections to the control plane's machines, `kcp-hpa` and `kcp-vpa` decisions of pod autoscalers."""
    metrics: tuple[Metrics, ...] = ("dcgm", "pod", "deployment", "storage", "cadvisor", "kubelet")
    """Metrics to collect, in addition to metrics of system components; `dcgm` are NVIDIA's GPU metrics."""
    gateway_api: bool = True
    """Enables GKE's Gateway controller, which tenants' `serving` requires."""
    vertical_pod_autoscaling: bool = True
    """Enables VerticalPodAutoscalers; for Ray pods they may only recommend."""
    csi_drivers: tuple[CsiDriver, ...] = ("persistent-disk", "gcs-fuse")
    """CSI drivers for volumes; tenants' `checkpoints` and the controller's `journal` require gcs-fuse."""
    dynamic_resource_allocation: bool = False
    """Enables the beta APIs of ResourceClaims; 1.34 and later serve them as v1 in any case."""
    node_auto_provisioning: NodeAutoProvisioning | None = None
    """Lets GKE create its own node pools. If unset, pods run on the stack's pools only."""
    autoscaling_profile: Literal["balanced", "optimize-utilization"] | None = None
    """Scheduling of pods and removal of idle nodes by the cluster autoscaler: `optimize-utilization` fills
    nodes and removes idle ones sooner; GKE's default if unset (GKE API:
    ClusterAutoscaling.autoscalingProfile)."""
    backup: Backup | None = None
    """Backups of the cluster's objects and volumes by Backup for GKE; none if unset."""
    secret_manager: SecretManager | None = None
    """GKE's Secret Manager add-on, which tenants' `secrets` require; off if unset."""
    dns: Dns | None = None
    """DNS of the cluster; GKE's defaults if unset."""
    slice_controller: bool = False
    """Runs GKE's controller of dynamic TPU slices, which forms slices of tpu7x nodes from Slice objects (GKE
    API: AddonsConfig.sliceControllerConfig). The stack and its queues declare no Slices."""
    fleet: ProjectId | None = None
    """Project of the fleet that the cluster joins."""
    notifications: PubSubTopic | None = None
    """The Pub/Sub topic for GKE's notifications of upgrades and security bulletins."""

    @property
    def place(self) -> GkePlace:
        """The name and the location of the cluster."""
        return GkePlace(self.name, self.location, self.zones, self.deletion_protection)

    @property
    def node_defaults(self) -> NodeDefaults:
        """Settings that pools inherit."""
        return NodeDefaults(self.boot_disk_kms_key, self.resource_manager_tags)

    @property
    def host_project(self) -> str | None:
        """The project of an existing network that `network` names by its path."""
        path = NETWORK.fullmatch(self.network or "")
        return path["project"] if path else None

    @property
    def region(self) -> str:
        """The region of the cluster, also of a zonal one."""
        return self.place.region

    @property
    def serves_mutating_policies(self) -> bool:
        """Returns whether the API server can suspend queued Ray objects at creation."""
        return GkeVersion.parse(self.version) >= MUTATING_POLICIES

    @property
    def beta_apis(self) -> tuple[str, ...]:
        """The beta APIs to enable; later versions serve ResourceClaims as v1 by default."""
        claims = self.dynamic_resource_allocation and GkeVersion.parse(self.version) < RESOURCE_CLAIMS
        return CLAIM_APIS if claims else ()
