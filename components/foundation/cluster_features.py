"""What a GKE cluster does beside running pods: add-ons, encryption, logs and metrics."""

from pulumi_gcp.container import (
    ClusterAddonsConfigArgs,
    ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs,
    ClusterAddonsConfigGcpFilestoreCsiDriverConfigArgs,
    ClusterAddonsConfigGcsFuseCsiDriverConfigArgs,
    ClusterAddonsConfigLustreCsiDriverConfigArgs,
    ClusterAddonsConfigRayOperatorConfigArgs,
    ClusterAddonsConfigRayOperatorConfigRayClusterLoggingConfigArgs,
    ClusterAddonsConfigRayOperatorConfigRayClusterMonitoringConfigArgs,
    ClusterDatabaseEncryptionArgs,
    ClusterLoggingConfigArgs,
    ClusterMonitoringConfigArgs,
    ClusterMonitoringConfigManagedPrometheusArgs,
    ClusterNodePoolAutoConfigArgs,
    ClusterNodePoolAutoConfigNodeKubeletConfigArgs,
    ClusterNodePoolDefaultsArgs,
    ClusterNodePoolDefaultsNodeConfigDefaultsArgs,
)

from settings.model.foundation.cluster import Gke
from settings.model.operators.kuberay import Addon

SYSTEM = "SYSTEM_COMPONENTS"

# Of kubelets, the port without authentication stays closed, in pools of GKE's own too.
NODE_DEFAULTS = ClusterNodePoolDefaultsArgs(
    node_config_defaults=ClusterNodePoolDefaultsNodeConfigDefaultsArgs(
        insecure_kubelet_readonly_port_enabled="FALSE"
    )
)
AUTO_NODE_DEFAULTS = ClusterNodePoolAutoConfigArgs(
    node_kubelet_config=ClusterNodePoolAutoConfigNodeKubeletConfigArgs(
        insecure_kubelet_readonly_port_enabled="FALSE"
    )
)


def addons(cluster: Gke, ray: Addon | None) -> ClusterAddonsConfigArgs:
    """`ray` is GKE's Ray add-on; None where KubeRay comes otherwise."""
    drivers = cluster.csi_drivers
    return ClusterAddonsConfigArgs(
        gce_persistent_disk_csi_driver_config=ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs(
            enabled="persistent-disk" in drivers
        ),
        gcs_fuse_csi_driver_config=ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(
            enabled="gcs-fuse" in drivers
        ),
        gcp_filestore_csi_driver_config=ClusterAddonsConfigGcpFilestoreCsiDriverConfigArgs(
            enabled="filestore" in drivers
        ),
        lustre_csi_driver_config=ClusterAddonsConfigLustreCsiDriverConfigArgs(enabled="lustre" in drivers),
        ray_operator_configs=[_ray_operator(ray)] if ray else None,
    )


def _ray_operator(addon: Addon) -> ClusterAddonsConfigRayOperatorConfigArgs:
    return ClusterAddonsConfigRayOperatorConfigArgs(
        enabled=True,
        ray_cluster_logging_config=ClusterAddonsConfigRayOperatorConfigRayClusterLoggingConfigArgs(
            enabled=addon.logging
        ),
        ray_cluster_monitoring_config=ClusterAddonsConfigRayOperatorConfigRayClusterMonitoringConfigArgs(
            enabled=addon.monitoring
        ),
    )


def encryption(key: str | None) -> ClusterDatabaseEncryptionArgs:
    """Of secrets in etcd, with a key of the project's; Google's own encryption of disks is there anyway."""
    return ClusterDatabaseEncryptionArgs(state="ENCRYPTED" if key else "DECRYPTED", key_name=key)


def logging(cluster: Gke) -> ClusterLoggingConfigArgs:
    return ClusterLoggingConfigArgs(enable_components=[SYSTEM, *map(_component, cluster.logs)])


def monitoring(cluster: Gke) -> ClusterMonitoringConfigArgs:
    return ClusterMonitoringConfigArgs(
        enable_components=[SYSTEM, *map(_component, cluster.metrics)],
        managed_prometheus=ClusterMonitoringConfigManagedPrometheusArgs(enabled=cluster.managed_prometheus),
    )


def _component(name: str) -> str:
    return name.upper().replace("-", "_")
