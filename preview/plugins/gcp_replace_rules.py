"""Properties of Google Cloud resources whose change recreates the resource.

Pulumi's plugin is built on Terraform's google-beta provider, whose schemas (7.45) mark properties ForceNew.
These are the marked ones, in Pulumi's names, for the types that the components declare, and two unmarked ones
that Google has no call to change (a pool's placementPolicy, a resource policy's name). Known difference:
removing a property that Google computes changes nothing with the official plugin, but is a replacement here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Any

# A name covers the property and all below it; with `#` only adding or removing it as a whole.
_NODE_CONFIG = (
    "advancedMachineFeatures#",
    "advancedMachineFeatures.enableNestedVirtualization",
    "advancedMachineFeatures.threadsPerCore",
    "bootDiskKmsKey",
    "confidentialNodes.confidentialInstanceType",
    "enableConfidentialStorage",
    "ephemeralStorageConfig",
    "ephemeralStorageLocalSsdConfig",
    "flexStart",
    "guestAccelerators",
    "hostMaintenancePolicy",
    "localNvmeSsdBlockConfig",
    "localSsdCount",
    "localSsdEncryptionMode",
    "maxRunDuration",
    "metadata",
    "minCpuPlatform",
    "nodeGroup",
    "oauthScopes",
    "preemptible",
    "reservationAffinity",
    "sandboxConfig#",
    "secondaryBootDisks",
    "serviceAccount",
    "shieldedInstanceConfig",
    "soleTenantConfig#",
    "soleTenantConfig.nodeAffinities",
    "spot",
)
_NODES = ("nodeConfig#", *(f"nodeConfig.{name}" for name in _NODE_CONFIG))
_NODE_NETWORK = (
    "acceleratorNetworkProfile",
    "additionalNodeNetworkConfigs",
    "additionalPodNetworkConfigs",
    "createPodRange",
    "podCidrOverprovisionConfig#",
    "podIpv4CidrBlock",
    "podRange",
    "subnetwork",
)
_POOL = (
    "initialNodeCount",
    "maxPodsPerNode",
    "name",
    "namePrefix",
    *(f"networkConfig.{name}" for name in _NODE_NETWORK),
    "placementPolicy",
    "queuedProvisioning",
    *_NODES,
)
_ADDRESS = (
    "address",
    "addressType",
    "description",
    "ipVersion",
    "name",
    "network",
    "prefixLength",
    "project",
    "purpose",
)

RULES: Mapping[str, tuple[str, ...]] = {
    "gcp:artifactregistry/repository:Repository": (
        "format",
        "kmsKeyName",
        "location",
        "mode",
        "project",
        "repositoryId",
    ),
    "gcp:binaryauthorization/attestor:Attestor": ("name", "project"),
    "gcp:binaryauthorization/policy:Policy": ("project",),
    "gcp:certificatemanager/certificate:Certificate": (
        "location",
        "managed",
        "name",
        "project",
        "scope",
    ),
    "gcp:certificatemanager/certificateMap:CertificateMap": ("name", "project"),
    "gcp:certificatemanager/certificateMapEntry:CertificateMapEntry": (
        "hostname",
        "map",
        "matcher",
        "name",
        "project",
    ),
    "gcp:compute/address:Address": (
        *_ADDRESS,
        "ipCollection",
        "ipv6EndpointType",
        "networkTier",
        "region",
        "subnetwork",
    ),
    "gcp:compute/firewall:Firewall": ("direction", "name", "params", "project"),
    "gcp:compute/globalAddress:GlobalAddress": _ADDRESS,
    "gcp:compute/network:Network": (
        "autoCreateSubnetworks",
        "description",
        "internalIpv6Range",
        "name",
        "networkProfile",
        "params",
        "project",
    ),
    "gcp:compute/resourcePolicy:ResourcePolicy": (
        "diskConsistencyGroupPolicy",
        "groupPlacementPolicy.gpuTopology",
        "groupPlacementPolicy.tpuTopology",
        "name",
        "project",
        "region",
        "workloadPolicy",
    ),
    "gcp:compute/router:Router": (
        "encryptedInterconnectRouter",
        "name",
        "nccGateway",
        "network",
        "params#",
        "project",
        "region",
    ),
    "gcp:compute/routerNat:RouterNat": (
        "endpointTypes",
        "initialNatIps",
        "name",
        "project",
        "region",
        "router",
        "type",
    ),
    "gcp:compute/subnetwork:Subnetwork": (
        "description",
        "externalIpv6Prefix",
        "internalIpv6Prefix",
        "name",
        "network",
        "params",
        "project",
        "region",
        "reservedInternalRange",
        "resolveSubnetMask",
    ),
    "gcp:container/cluster:Cluster": (
        "clusterAutoscaling.autoProvisioningDefaults.bootDiskKmsKey",
        "clusterIpv4Cidr",
        "confidentialNodes",
        "datapathProvider",
        "dataplaneOptimizationMode",
        "defaultMaxPodsPerNode",
        "description",
        "enableAutopilot",
        "enableKubernetesAlpha",
        "enableTpu",
        "initialNodeCount",
        "ipAllocationPolicy#",
        "ipAllocationPolicy.clusterIpv4CidrBlock",
        "ipAllocationPolicy.clusterSecondaryRangeName",
        "ipAllocationPolicy.podCidrOverprovisionConfig#",
        "ipAllocationPolicy.servicesIpv4CidrBlock",
        "ipAllocationPolicy.servicesSecondaryRangeName",
        "location",
        "masterAuth.clientCertificateConfig",
        "name",
        "network",
        "networkingMode",
        "nodePools#",
        *(f"nodePools.{name}" for name in _POOL),
        "privateClusterConfig.masterIpv4CidrBlock",
        "privateClusterConfig.privateEndpointSubnetwork",
        "project",
        "subnetwork",
        "tpuConfig",
        "userManagedKeysConfig.aggregationCa",
        "userManagedKeysConfig.clusterCa",
        "userManagedKeysConfig.etcdApiCa",
        "userManagedKeysConfig.etcdPeerCa",
        *_NODES,
    ),
    "gcp:container/nodePool:NodePool": ("cluster", "location", "project", *_POOL),
    "gcp:logging/metric:Metric": (
        "metricDescriptor.labels.key",
        "metricDescriptor.labels.valueType",
        "project",
    ),
    "gcp:logging/projectBucketConfig:ProjectBucketConfig": ("bucketId", "location", "project"),
    "gcp:logging/projectSink:ProjectSink": ("name", "project"),
    "gcp:monitoring/alertPolicy:AlertPolicy": ("project",),
    "gcp:monitoring/dashboard:Dashboard": ("project",),
    "gcp:monitoring/notificationChannel:NotificationChannel": ("project",),
    "gcp:containeranalysis/note:Note": ("name", "project"),
    "gcp:projects/serviceIdentity:ServiceIdentity": ("project", "service"),
    "gcp:projects/service:Service": ("project", "service"),
    "gcp:serviceaccount/account:Account": ("accountId", "project"),
    "gcp:storage/bucket:Bucket": (
        "customPlacementConfig.dataLocations",
        "enableObjectRetention",
        "hierarchicalNamespace",
        "location",
        "name",
        "project",
    ),
}

# A grant is one role of one member: any change makes another grant.
GRANTS = ("IAMMember", "IamMember")


def _switched_off(old: Any, new: Any) -> bool:
    return old is True and new is not True


def _takes_one_away(old: Any, new: Any) -> bool:
    return not set(old or ()) <= set(new or ())


def _shrinks(old: Any, new: Any) -> bool:
    """Returns whether a range loses addresses; a subnet can only be expanded."""
    return bool(old and new) and not ip_network(old).subnet_of(ip_network(new))  # type: ignore[arg-type]


CONDITIONS: Mapping[str, Mapping[str, Callable[[Any, Any], bool]]] = {
    "gcp:compute/subnetwork:Subnetwork": {"ipCidrRange": _shrinks},
    "gcp:container/cluster:Cluster": {
        "enableFqdnNetworkPolicy": _switched_off,
        "enableK8sBetaApis.enabledApis": _takes_one_away,
        "enableL4IlbSubsetting": _switched_off,
    },
    "gcp:storage/bucket:Bucket": {"retentionPolicy.isLocked": _switched_off},
}
"""Properties that force a replacement only for some changes of their value."""
