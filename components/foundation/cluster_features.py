"""Features of a GKE cluster: add-ons, encryption, logs and metrics."""

from pulumi_gcp.container import (
    ClusterAddonsConfigArgs,
    ClusterAddonsConfigDnsCacheConfigArgs,
    ClusterAddonsConfigGcePersistentDiskCsiDriverConfigArgs,
    ClusterAddonsConfigGcpFilestoreCsiDriverConfigArgs,
    ClusterAddonsConfigGcsFuseCsiDriverConfigArgs,
    ClusterAddonsConfigGkeBackupAgentConfigArgs,
    ClusterAddonsConfigLustreCsiDriverConfigArgs,
    ClusterAddonsConfigRayOperatorConfigArgs,
    ClusterAddonsConfigRayOperatorConfigRayClusterLoggingConfigArgs,
    ClusterAddonsConfigRayOperatorConfigRayClusterMonitoringConfigArgs,
    ClusterAddonsConfigSliceControllerConfigArgs,
    ClusterDatabaseEncryptionArgs,
    ClusterDnsConfigArgs,
    ClusterLoggingConfigArgs,
    ClusterMonitoringConfigArgs,
    ClusterMonitoringConfigManagedPrometheusArgs,
    ClusterNodePoolAutoConfigArgs,
    ClusterNodePoolAutoConfigNodeKubeletConfigArgs,
    ClusterNodePoolDefaultsArgs,
    ClusterNodePoolDefaultsNodeConfigDefaultsArgs,
    ClusterSecretManagerConfigArgs,
    ClusterSecretManagerConfigRotationConfigArgs,
)

from components.foundation.google_cloud import api_word
from settings.model.foundation.cluster import Gke
from settings.model.foundation.dns import Dns
from settings.model.foundation.secret_manager import SecretManager
from settings.model.operators.kuberay import Addon

SYSTEM = "SYSTEM_COMPONENTS"

# Closes the kubelets' unauthenticated port, in auto-provisioned pools too.
NODE_DEFAULTS = ClusterNodePoolDefaultsArgs(
    node_config_defaults=ClusterNodePoolDefaultsNodeConfigDefaultsArgs(
        insecure_kubelet_readonly_port_enabled="FALSE"
    )
)


def auto_node_defaults(cluster: Gke) -> ClusterNodePoolAutoConfigArgs:
    """Returns the settings of node pools that GKE creates itself."""
    return ClusterNodePoolAutoConfigArgs(
        node_kubelet_config=ClusterNodePoolAutoConfigNodeKubeletConfigArgs(
            insecure_kubelet_readonly_port_enabled="FALSE"
        ),
        resource_manager_tags=cluster.resource_manager_tags or None,
    )


def addons(cluster: Gke, ray: Addon | None) -> ClusterAddonsConfigArgs:
    """Returns the cluster's add-ons; `ray` is GKE's Ray add-on, None where KubeRay is installed otherwise."""
    drivers, cache = cluster.csi_drivers, cluster.dns.node_cache if cluster.dns else None
    return ClusterAddonsConfigArgs(
        dns_cache_config=None if cache is None else ClusterAddonsConfigDnsCacheConfigArgs(enabled=cache),
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
        gke_backup_agent_config=ClusterAddonsConfigGkeBackupAgentConfigArgs(enabled=True)
        if cluster.backup
        else None,
        ray_operator_configs=[_ray_operator(ray)] if ray else None,
        slice_controller_config=ClusterAddonsConfigSliceControllerConfigArgs(enabled=True)
        if cluster.slice_controller
        else None,
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


def dns(settings: Dns | None) -> ClusterDnsConfigArgs | None:
    """Returns the provider of the cluster's DNS; None for GKE's default."""
    if settings is None or settings.provider is None:
        return None
    return ClusterDnsConfigArgs(
        cluster_dns=api_word(settings.provider),
        cluster_dns_scope=f"{api_word(settings.scope)}_SCOPE" if settings.provider == "cloud-dns" else None,
        cluster_dns_domain=settings.domain,
        additive_vpc_scope_dns_domain=settings.additive_vpc_domain,
    )


def secret_manager(settings: SecretManager | None) -> ClusterSecretManagerConfigArgs | None:
    """Returns the Secret Manager add-on; None where it is off."""
    if settings is None:
        return None
    seconds = settings.rotation_seconds
    return ClusterSecretManagerConfigArgs(
        enabled=True,
        rotation_config=None
        if seconds is None
        else ClusterSecretManagerConfigRotationConfigArgs(enabled=True, rotation_interval=f"{seconds}s"),
    )


def encryption(key: str | None) -> ClusterDatabaseEncryptionArgs:
    """Encrypts Secrets in etcd with `key` of Cloud KMS, on top of Google's encryption of disks."""
    return ClusterDatabaseEncryptionArgs(state="ENCRYPTED" if key else "DECRYPTED", key_name=key)


def logging(cluster: Gke) -> ClusterLoggingConfigArgs:
    """Returns the components whose logs the cluster exports."""
    return ClusterLoggingConfigArgs(enable_components=[SYSTEM, *map(api_word, cluster.logs)])


def monitoring(cluster: Gke) -> ClusterMonitoringConfigArgs:
    """Returns the components whose metrics the cluster exports."""
    return ClusterMonitoringConfigArgs(
        enable_components=[SYSTEM, *map(api_word, cluster.metrics)],
        managed_prometheus=ClusterMonitoringConfigManagedPrometheusArgs(enabled=cluster.managed_prometheus),
    )
