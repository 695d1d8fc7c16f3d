"""Maintenance windows and node auto-provisioning of a GKE cluster."""

from datetime import datetime, timedelta

import pulumi
from pulumi_gcp.container import (
    ClusterClusterAutoscalingArgs,
    ClusterClusterAutoscalingAutoProvisioningDefaultsArgs,
    ClusterClusterAutoscalingAutoProvisioningDefaultsManagementArgs,
    ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfigArgs,
    ClusterClusterAutoscalingResourceLimitArgs,
    ClusterMaintenancePolicyArgs,
    ClusterMaintenancePolicyMaintenanceExclusionArgs,
    ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs,
    ClusterMaintenancePolicyRecurringWindowArgs,
)

from components.foundation.google_cloud import api_word
from settings.model.foundation.cluster import Gke
from settings.model.foundation.maintenance import INSTANT, WEEK, Exclusion, Maintenance, Window

# Any Monday in the past: GKE needs the first occurrence of a window, and repeats it from then on.
MONDAY = datetime(2024, 1, 1)
PLATFORM_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def maintenance_policy(maintenance: Maintenance | None) -> ClusterMaintenancePolicyArgs | None:
    """Returns the maintenance window and its exclusions; None for GKE's default."""
    if maintenance is None:
        return None
    return ClusterMaintenancePolicyArgs(
        recurring_window=_window(maintenance.window),
        maintenance_exclusions=[_exclusion(exclusion) for exclusion in maintenance.exclusions] or None,
    )


def _window(window: Window) -> ClusterMaintenancePolicyRecurringWindowArgs:
    days = [day for day in WEEK if day in window.days]
    hours, minutes = map(int, window.start.split(":"))
    start = MONDAY + timedelta(days=WEEK.index(days[0]), hours=hours, minutes=minutes)
    return ClusterMaintenancePolicyRecurringWindowArgs(
        start_time=start.strftime(INSTANT),
        end_time=(start + timedelta(hours=window.hours)).strftime(INSTANT),
        recurrence="FREQ=DAILY" if len(days) == len(WEEK) else f"FREQ=WEEKLY;BYDAY={','.join(days)}",
    )


def _exclusion(exclusion: Exclusion) -> ClusterMaintenancePolicyMaintenanceExclusionArgs:
    options = ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs(
        scope=api_word(exclusion.scope),
        end_time_behavior=None if exclusion.end else "UNTIL_END_OF_SUPPORT",
    )
    return ClusterMaintenancePolicyMaintenanceExclusionArgs(
        exclusion_name=exclusion.name,
        start_time=exclusion.start,
        end_time=exclusion.end,
        exclusion_options=options,
    )


def cluster_autoscaling(cluster: Gke, service_account: pulumi.Input[str]) -> ClusterClusterAutoscalingArgs:
    """Returns the autoscaler's profile and node auto-provisioning, whose nodes get the security settings of
    the stack's own pools."""
    profile = cluster.autoscaling_profile and api_word(cluster.autoscaling_profile)
    provisioning = cluster.node_auto_provisioning
    if provisioning is None:
        return ClusterClusterAutoscalingArgs(enabled=False, autoscaling_profile=profile)
    return ClusterClusterAutoscalingArgs(
        enabled=True,
        autoscaling_profile=profile,
        resource_limits=[
            ClusterClusterAutoscalingResourceLimitArgs(
                resource_type=resource, minimum=limit.min, maximum=limit.max
            )
            for resource, limit in provisioning.limits.items()
        ],
        auto_provisioning_defaults=ClusterClusterAutoscalingAutoProvisioningDefaultsArgs(
            service_account=service_account,
            oauth_scopes=[PLATFORM_SCOPE],
            management=ClusterClusterAutoscalingAutoProvisioningDefaultsManagementArgs(
                auto_repair=True, auto_upgrade=True
            ),
            boot_disk_kms_key=cluster.boot_disk_kms_key,
            shielded_instance_config=ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfigArgs(
                enable_secure_boot=True, enable_integrity_monitoring=True
            ),
        ),
    )
