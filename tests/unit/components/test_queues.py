"""Kueue's objects: queues and priorities."""

from typing import Any

import pytest

from tests.unit.components.harness import declare_platform
from tests.unit.settings.builders import EXISTING, GOOD, L4, TEAM_A, put

# On an existing cluster, without cloud resources.
LOCAL = {**GOOD, "muster:cluster": EXISTING}

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
QUEUED_TAINT = {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"}

OBJECTS: dict[str, dict[str, Any]] = {
    "ResourceFlavor/cpu": {"nodeLabels": {"cloud.google.com/gke-nodepool": "system"}},
    "ResourceFlavor/l4": {
        "nodeLabels": {
            "cloud.google.com/gke-nodepool": "l4",
            "cloud.google.com/gke-accelerator": "nvidia-l4",
        },
        "nodeTaints": [GPU_TAINT, QUEUED_TAINT],
        "tolerations": [GPU_TAINT | {"operator": "Equal"}, QUEUED_TAINT | {"operator": "Equal"}],
    },
    "Cohort/ml": {},
    "ProvisioningRequestConfig/queued-provisioning": {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": ["nvidia.com/gpu"],
        "podSetMergePolicy": "IdenticalWorkloadSchedulingRequirements",
        "retryStrategy": {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
        "podSetUpdates": {
            "nodeSelector": [
                {
                    "key": "autoscaling.gke.io/provisioning-request",
                    "valueFromProvisioningClassDetail": "ResizeRequestName",
                }
            ]
        },
    },
    "AdmissionCheck/queued-provisioning": {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {
            "apiGroup": "kueue.x-k8s.io",
            "kind": "ProvisioningRequestConfig",
            "name": "queued-provisioning",
        },
    },
    "ClusterQueue/team-a": {
        "namespaceSelector": {},
        "cohortName": "ml",
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": "queued-provisioning", "onFlavors": ["l4"]}]
        },
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
                "flavors": [
                    {
                        "name": "cpu",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "8"},
                            {"name": "memory", "nominalQuota": "32Gi"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "0"},
                        ],
                    },
                    {
                        "name": "l4",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "16"},
                            {"name": "memory", "nominalQuota": "64Gi"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "4", "borrowingLimit": "0"},
                        ],
                    },
                ],
            }
        ],
    },
    "LocalQueue/team-a/user-queue": {"clusterQueue": "team-a"},
}


def test_every_object_of_kueues_api() -> None:
    declared = declare_platform(LOCAL)
    kueue = {name for name, resource in declared.items() if "kueue.x-k8s.io" in resource.type}

    assert {name: declared.spec(name) for name in kueue & OBJECTS.keys()} == OBJECTS
    assert kueue - OBJECTS.keys() == {
        "WorkloadPriorityClass/prod-priority",
        "WorkloadPriorityClass/dev-priority",
    }


def test_a_priority_class_has_its_value_outside_a_spec() -> None:
    assert declare_platform(LOCAL).inputs("WorkloadPriorityClass/prod-priority") == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "prod-priority"},
        "value": 1000,
    }


def test_a_queue_shared_by_usage_weighs_its_local_queues() -> None:
    config = put(*TEAM_A, "admissionFairSharing", True) | {
        "muster:admission": {"engine": "kueue"},
        "muster:kueue": {"admissionFairSharing": {"usageHalfLifeSeconds": 3600}},
    }
    config["muster:tenants"][0]["weight"] = 0.5
    declared = declare_platform(config)

    scope = declared.spec("ClusterQueue/team-a")["admissionScope"]
    assert scope == {"admissionMode": "UsageBasedAdmissionFairSharing"}
    assert declared.spec("LocalQueue/team-a/user-queue") == {
        "clusterQueue": "team-a",
        "fairSharing": {"weight": "0.5"},
    }


def test_without_queued_pools_there_is_no_check() -> None:
    declared = declare_platform({**put(*L4, "provisioning", "on-demand"), "muster:cluster": EXISTING})

    assert not declared.kinds("AdmissionCheck", "ProvisioningRequestConfig")
    assert "admissionChecksStrategy" not in declared.spec("ClusterQueue/team-a")


def test_a_queue_without_queued_flavors_has_no_check() -> None:
    config = put(*TEAM_A, "quotas", {"cpu": {"cpu": 8}}) | {"muster:cluster": EXISTING}

    assert "admissionChecksStrategy" not in declare_platform(config).spec("ClusterQueue/team-a")


def test_run_time_and_retries_of_provisioning_can_be_set() -> None:
    parameters = {"maxRunSeconds": 3600, "retry": {"limit": 0, "baseSeconds": 1, "maxSeconds": 2}}
    spec = declare_platform(put("muster:admission", "queuedProvisioning", parameters)).spec(
        "ProvisioningRequestConfig/queued-provisioning"
    )

    assert spec["parameters"] == {"maxRunDurationSeconds": "3600"}
    assert spec["retryStrategy"] == {
        "backoffLimitCount": 0,
        "backoffBaseSeconds": 1,
        "backoffMaxSeconds": 2,
    }


def test_cohorts_name_their_parent() -> None:
    tree = [{"name": "org"}, {"name": "ml", "parent": "org"}]
    declared = declare_platform(put("muster:queues", "cohorts", tree))

    assert (declared.spec("Cohort/org"), declared.spec("Cohort/ml")) == ({}, {"parentName": "org"})


def test_every_setting_of_a_queue_reaches_its_spec() -> None:
    config = put(
        *TEAM_A,
        {
            "name": "team-a",
            "cohort": "ml",
            "quotas": {
                "cpu": {"cpu": 8, "nvidia.com/gpu": 0},
                "l4": {"cpu": 16, "nvidia.com/gpu": {"nominal": 4, "lendingLimit": 1}},
            },
            "strategy": "StrictFIFO",
            "preemption": {
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 99},
            },
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
            "weight": 2,
            "checks": {"budget": [], "licence": ["cpu"]},
            "stop": "Hold",
            "namespaces": {"muster.dev/tenant": "true"},
        },
    )
    config |= {
        "muster:cluster": EXISTING,
        "muster:admission": {"engine": "kueue"},
        "muster:kueue": {"install": "existing"},
    }
    parameters = {"apiGroup": "acme.example", "kind": "Budget", "name": "gpu-hours"}
    config["muster:queues"]["checks"] = [
        {"name": "budget", "controller": "acme.example/budget", "parameters": parameters},
        {"name": "licence", "controller": "acme.example/licence"},
    ]
    config["muster:queues"]["cohorts"] = [
        {"name": "org", "quotas": {"cpu": {"cpu": 4}}},
        {"name": "ml", "parent": "org", "weight": "0.5"},
    ]
    declared = declare_platform(config)

    assert declared.spec("AdmissionCheck/budget") == {
        "controllerName": "acme.example/budget",
        "parameters": parameters,
    }
    assert declared.spec("Cohort/org") == {
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "4"}]}],
            }
        ]
    }
    assert declared.spec("Cohort/ml") == {"parentName": "org", "fairSharing": {"weight": "0.5"}}
    queue = declared.spec("ClusterQueue/team-a")
    assert [group["coveredResources"] for group in queue.pop("resourceGroups")] == [["cpu", "nvidia.com/gpu"]]
    assert queue == {
        "cohortName": "ml",
        "namespaceSelector": {"matchLabels": {"muster.dev/tenant": "true"}},
        "queueingStrategy": "StrictFIFO",
        "preemption": {
            "withinClusterQueue": "Never",
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 99},
        },
        "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
        "fairSharing": {"weight": "2"},
        "stopPolicy": "Hold",
        "admissionChecksStrategy": {
            "admissionChecks": [
                {"name": "queued-provisioning", "onFlavors": ["l4"]},
                {"name": "budget"},
                {"name": "licence", "onFlavors": ["cpu"]},
            ]
        },
    }
    assert declared["ClusterQueue/team-a"].depends_on >= {"AdmissionCheck/budget", "Cohort/org"}


# An object is created after the objects that it names, and deleted before them.
ORDER = {
    "AdmissionCheck/queued-provisioning": {"ProvisioningRequestConfig/queued-provisioning"},
    "ClusterQueue/team-a": {
        "ResourceFlavor/cpu",
        "ResourceFlavor/l4",
        "Cohort/ml",
        "AdmissionCheck/queued-provisioning",
    },
    "LocalQueue/team-a/user-queue": {"ClusterQueue/team-a", "Namespace/team-a"},
}


@pytest.mark.parametrize(("name", "after"), ORDER.items(), ids=ORDER.keys())
def test_queues_depend_on_the_objects_that_they_name(name: str, after: set[str]) -> None:
    assert declare_platform(LOCAL)[name].depends_on >= after


def test_a_local_queue_is_replaced_with_its_cluster_queue() -> None:
    queue = declare_platform(LOCAL)["LocalQueue/team-a/user-queue"]

    assert queue.replace_on_changes == ("spec.clusterQueue",)
    assert queue.delete_before_replace
    assert queue.inputs["metadata"] == {"name": "user-queue", "namespace": "team-a"}


LEVELS = ["cloud.google.com/gce-topology-block", "kubernetes.io/hostname"]


def test_a_pool_with_levels_has_a_topology_of_its_own() -> None:
    declared = declare_platform({**put(*L4, "topology", LEVELS), "muster:cluster": EXISTING})

    assert declared.kinds("Topology") == ["Topology/l4"]
    assert declared.spec("Topology/l4") == {"levels": [{"nodeLabel": level} for level in LEVELS]}
    assert declared.spec("ResourceFlavor/l4")["topologyName"] == "l4"
    assert "topologyName" not in declared.spec("ResourceFlavor/cpu")
    assert "Topology/l4" in declared["ResourceFlavor/l4"].depends_on
