"""Configuration files of the engines: Kueue's Configuration (apis/config/v1beta2), and that of Muster's
controller, which has the fields of Kueue's that it reads."""

from collections.abc import Sequence
from typing import Any

from settings.model.controller import Controller, OwnRules
from settings.model.operators.kueue import (
    INTEGRATED,
    AdmissionFairSharing,
    FairSharing,
    Kueue,
    Retention,
    WaitForPodsReady,
)
from settings.model.queues.admission import Elastic
from settings.model.queues.devices import DeviceClassMapping

# As in the chart's own file, which ours replaces, and as Jobs for each further kind. Kueue's default is 1.
CONCURRENCY = dict(
    sorted(
        {
            "ClusterQueue.kueue.x-k8s.io": 5,
            "LocalQueue.kueue.x-k8s.io": 5,
            "ResourceFlavor.kueue.x-k8s.io": 1,
            "Workload.kueue.x-k8s.io": 10,
            **{f"{job_kind.name}.{job_kind.kind.group}": 5 for job_kind in INTEGRATED},
        }.items()
    )
)


def kueue_configuration(settings: Kueue, device_classes: Sequence[DeviceClassMapping] = ()) -> dict[str, Any]:
    """Returns Kueue's Configuration; the chart's Services, probes and roles expect its ports and names."""
    result: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": CONCURRENCY},
        "clientConnection": {"qps": settings.client.qps, "burst": settings.client.burst},
        "integrations": {"frameworks": list(settings.frameworks)},
    }
    if settings.wait_for_pods_ready:
        result["waitForPodsReady"] = _wait_for_pods_ready(settings.wait_for_pods_ready)
    if settings.fair_sharing:
        result["fairSharing"] = _fair_sharing(settings.fair_sharing)
    if settings.admission_fair_sharing:
        result["admissionFairSharing"] = _admission_fair_sharing(settings.admission_fair_sharing)
    if retained := _retention(settings.retention):
        result["objectRetentionPolicies"] = retained
    if counted := _resources(settings, device_classes):
        result["resources"] = counted
    if settings.managed_namespaces:
        result["managedJobsNamespaceSelector"] = {"matchLabels": dict(settings.managed_namespaces)}
    if settings.feature_gates:
        result["featureGates"] = dict(settings.feature_gates)
    return result


def controller_configuration(settings: Controller, elastic: Elastic) -> dict[str, Any]:
    """Returns the configuration of Muster's controller: the fields that differ from its defaults."""
    result: dict[str, Any] = {}
    if settings.wait_for_pods_ready:
        result["waitForPodsReady"] = _wait_for_pods_ready(settings.wait_for_pods_ready)
    if settings.fair_sharing:
        result["fairSharing"] = _fair_sharing(settings.fair_sharing)
    if retained := _retention(settings.retention):
        result["objectRetentionPolicies"] = retained
    if settings.feature_gates:
        result["featureGates"] = dict(settings.feature_gates)
    if rules := _own_rules(settings.rules):
        result["rules"] = rules
    if elastic != Elastic():
        result["elastic"] = {"notice": f"{elastic.notice_seconds}s"}
    return result


def _resources(settings: Kueue, device_classes: Sequence[DeviceClassMapping]) -> dict[str, Any]:
    """Returns `resources`, empty if nothing is set: how pods' requests and claims are counted."""
    result: dict[str, Any] = {}
    if settings.exclude_resource_prefixes:
        result["excludeResourcePrefixes"] = list(settings.exclude_resource_prefixes)
    if settings.transformations:
        result["transformations"] = [
            transformation.model_dump(by_alias=True, exclude_none=True)
            for transformation in settings.transformations
        ]
    if device_classes:
        result["deviceClassMappings"] = [
            mapping.model_dump(mode="json", by_alias=True) for mapping in device_classes
        ]
    return result


def _fair_sharing(settings: FairSharing) -> dict[str, Any]:
    """Returns `fairSharing`."""
    return {"preemptionStrategies": list(settings.preemption_strategies)}


def _admission_fair_sharing(settings: AdmissionFairSharing) -> dict[str, Any]:
    return {
        "usageHalfLifeTime": f"{settings.usage_half_life_seconds}s",
        "usageSamplingInterval": f"{settings.usage_sampling_seconds}s",
        "resourceWeights": dict(settings.resource_weights),
    }


def _retention(settings: Retention) -> dict[str, Any]:
    """Returns `objectRetentionPolicies`, empty if nothing is set."""
    seconds = {
        "afterFinished": settings.after_finished_seconds,
        "afterDeactivatedByKueue": settings.after_deactivated_seconds,
    }
    retained = {name: f"{value}s" for name, value in seconds.items() if value is not None}
    return {"workloads": retained} if retained else {}


def _wait_for_pods_ready(settings: WaitForPodsReady) -> dict[str, Any]:
    """Returns `waitForPodsReady`."""
    requeuing = settings.requeuing
    result: dict[str, Any] = {
        "timeout": f"{settings.timeout_seconds}s",
        "blockAdmission": settings.block_admission,
        "requeuingStrategy": {
            "timestamp": requeuing.timestamp,
            "backoffBaseSeconds": requeuing.base_seconds,
            "backoffMaxSeconds": requeuing.max_seconds,
        },
    }
    if settings.recovery_timeout_seconds is not None:
        result["recoveryTimeout"] = f"{settings.recovery_timeout_seconds}s"
    if requeuing.limit is not None:
        result["requeuingStrategy"]["backoffLimitCount"] = requeuing.limit
    return result


def _own_rules(rules: OwnRules) -> dict[str, Any]:
    """Returns the enabled rules in the form that muster/configuration/configuration.py reads."""
    result: dict[str, Any] = {}
    if rules.immediate_unparking:
        result["immediateUnparking"] = True
    if rules.backfill:
        result["backfill"] = True
    if rules.minimum_run_seconds:
        result["minimumRunTime"] = f"{rules.minimum_run_seconds}s"
    if rules.aging:
        period = f"{rules.aging.period_seconds}s"
        result["aging"] = {"step": rules.aging.step, "period": period, "max": rules.aging.max}
    return result
