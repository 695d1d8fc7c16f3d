"""Names of the properties of `gcp.container.Cluster` and `NodePool` in GKE's API.

Pulumi uses the names of Terraform's google-beta provider in camel case. Most are the API's too; these are
the others, by the API message (container v1beta1) that contains them. A field is a path from that message:
`.` descends into a message, `*` is any value of a map. A list of at most one entry in Terraform may be a
single message in the API. Source: pulumi_gcp 10.2.0 and the provider's field mapping
(resource_container_cluster_meta.yaml, resource_container_node_pool_meta.yaml); a test checks completeness.
"""

from collections.abc import Mapping

FIELDS: Mapping[str, Mapping[str, str]] = {
    "Cluster": {
        "allowNetAdmin": "autopilot.workloadPolicyConfig.allowNetAdmin",
        "autopilotClusterPolicyConfig": "autopilot.clusterPolicyConfig",
        "autopilotPrivilegedAdmissions": "autopilot.privilegedAdmissionConfig.allowlistPaths",
        "clusterAutoscaling": "autoscaling",
        "datapathProvider": "networkConfig.datapathProvider",
        "dataplaneOptimizationMode": "networkConfig.dataplaneV2Config.scalabilityMode",
        "defaultMaxPodsPerNode": "defaultMaxPodsConstraint.maxPodsPerNode",
        "defaultSnatStatus": "networkConfig.defaultSnatStatus",
        "disableL4LbFirewallReconciliation": "networkConfig.disableL4LbFirewallReconciliation",
        "dnsConfig": "networkConfig.dnsConfig",
        "enableAutopilot": "autopilot.enabled",
        "enableCiliumClusterwideNetworkPolicy": "networkConfig.enableCiliumClusterwideNetworkPolicy",
        "enableFqdnNetworkPolicy": "networkConfig.enableFqdnNetworkPolicy",
        "enableIntranodeVisibility": "networkConfig.enableIntraNodeVisibility",
        "enableL4IlbSubsetting": "networkConfig.enableL4ilbSubsetting",
        "enableLegacyAbac": "legacyAbac.enabled",
        "enableMultiNetworking": "networkConfig.enableMultiNetworking",
        "enableShieldedNodes": "shieldedNodes.enabled",
        "gatewayApiConfig": "networkConfig.gatewayApiConfig",
        "inTransitEncryptionConfig": "networkConfig.inTransitEncryptionConfig",
        "minMasterVersion": "initialClusterVersion",
        "networkPerformanceConfig": "networkConfig.networkPerformanceConfig",
        "networkingMode": "ipAllocationPolicy.useIpAliases",
        "nodeLocations": "locations",
        "nodeVersion": "currentNodeVersion",
        "privateIpv6GoogleAccess": "networkConfig.privateIpv6GoogleAccess",
        "serviceExternalIpsConfig": "networkConfig.serviceExternalIpsConfig",
    },
    "NodePool": {
        "maintenancePolicies": "maintenancePolicy",
        "managedInstanceGroupUrls": "instanceGroupUrls",
        "maxPodsPerNode": "maxPodsConstraint.maxPodsPerNode",
        "nodeConfig": "config",
        "nodeDrainConfigs": "nodeDrainConfig",
        "nodeLocations": "locations",
    },
    "NodeConfig": {
        "gpudirectStrategy": "gpuDirectConfig.gpuDirectStrategy",
        "guestAccelerators": "accelerators",
        "loggingVariant": "loggingConfig.variantConfig.variant",
        "nodeImageConfigs": "nodeImageConfig",
        "resourceManagerTags": "resourceManagerTags.tags",
    },
    "AcceleratorConfig": {"count": "acceleratorCount", "type": "acceleratorType"},
    "AdditionalPodNetworkConfig": {"maxPodsPerNode": "maxPodsPerNode.maxPodsPerNode"},
    "AddonsConfig": {"cloudrunConfig": "cloudRunConfig", "rayOperatorConfigs": "rayOperatorConfig"},
    "AutoprovisioningNodePoolDefaults": {"diskSize": "diskSizeGb"},
    "ClusterAutoscaling": {
        "autoProvisioningDefaults": "autoprovisioningNodePoolDefaults",
        "autoProvisioningLocations": "autoprovisioningLocations",
        "defaultComputeClassEnabled": "defaultComputeClassConfig.enabled",
        "enabled": "enableNodeAutoprovisioning",
    },
    "Filter": {"eventTypes": "eventType"},
    "HostConfig": {"cas": "ca", "clients": "client", "headers": "header"},
    "LinuxNodeConfig": {"hugepagesConfig": "hugepages"},
    "LoggingConfig": {"enableComponents": "componentConfig.enableComponents"},
    "MaintenancePolicy": {
        "dailyMaintenanceWindow": "window.dailyMaintenanceWindow",
        "maintenanceExclusions": "window.maintenanceExclusions.*",
        "recurringMaintenanceWindow": "window.recurringMaintenanceWindow",
        "recurringWindow": "window.recurringWindow",
    },
    "MonitoringConfig": {
        "enableComponents": "componentConfig.enableComponents",
        "managedPrometheus": "managedPrometheusConfig",
    },
    "NodeConfigDefaults": {
        "insecureKubeletReadonlyPortEnabled": "nodeKubeletConfig.insecureKubeletReadonlyPortEnabled",
        "loggingVariant": "loggingConfig.variantConfig.variant",
    },
    "NodePoolAutoConfig": {"resourceManagerTags": "resourceManagerTags.tags"},
    "NodePoolMaintenancePolicy": {"exclusionUntilEndOfSupports": "exclusionUntilEndOfSupport"},
    "PodCIDROverprovisionConfig": {"disabled": "disable"},
    "PrivateRegistryAccessConfig": {"certificateAuthorityDomainConfigs": "certificateAuthorityDomainConfig"},
    "RecurringTimeWindow": {"endTime": "window.endTime", "startTime": "window.startTime"},
    "RegistryHeader": {"values": "value"},
    "ResourceUsageExportConfig": {
        "enableResourceConsumptionMetering": "consumptionMeteringConfig.enabled",
    },
    "TimeWindow": {"exclusionOptions": "maintenanceExclusionOptions"},
    "WindowsNodeConfig": {"osversion": "osVersion"},
}

PULUMI_ONLY: Mapping[str, Mapping[str, str]] = {
    "Cluster": {
        "deletionPolicy": "done by the provider on deletion",
        "deletionProtection": "done by the provider on deletion",
        "desiredEmulatedVersion": "set by an update of the cluster, not part of it",
        "ignoreNodeCountChanges": "read by the provider",
        "project": "part of the cluster's address",
        "removeDefaultNodePool": "done by the provider after creation",
        "skipNodePoolRefresh": "read by the provider",
    },
    "NodePool": {
        "cluster": "part of the pool's address",
        "deletionPolicy": "done by the provider on deletion",
        "ignoreNodeCountChanges": "read by the provider",
        "location": "part of the pool's address",
        "namePrefix": "the provider generates the name from it",
        "nodeCount": "set by a separate call (setSize)",
        "project": "part of the pool's address",
    },
    "Fleet": {
        "membershipId": "read only: part of membership",
        "membershipLocation": "read only: part of membership",
    },
    "NodeConfig": {"effectiveTaints": "read only: computed by the provider"},
    "TimeWindow": {"exclusionName": "the exclusion's key in the API's map"},
}

VALUES: Mapping[tuple[str, str], Mapping[str, object]] = {
    ("Cluster", "networkingMode"): {"VPC_NATIVE": True, "ROUTES": False},
    ("NodeConfigDefaults", "insecureKubeletReadonlyPortEnabled"): {"TRUE": True, "FALSE": False},
    ("NodeKubeletConfig", "insecureKubeletReadonlyPortEnabled"): {"TRUE": True, "FALSE": False},
}
"""Terraform's words for values of the API, by message and property."""

GO_DURATIONS = frozenset({("RecurringMaintenanceWindow", "windowDuration")})
"""Message and property of durations that the provider converts to seconds, such as `4h30m`."""
