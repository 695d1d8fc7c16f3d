"""Clusters and node pools checked against GKE's API description."""

from typing import Any

import pytest

from preview.plugins import gke_document
from preview.resources.values import UNKNOWN, Secret


def pool(**node_config: Any) -> dict[str, Any]:
    return {"nodeConfig": node_config}


@pytest.mark.parametrize(
    ("inputs", "messages"),
    [
        pytest.param(
            {
                "cluster": "ray",
                "maxPodsPerNode": 64,
                "queuedProvisioning": {"enabled": True},
                "nodeLocations": ["us-west1-b"],
                "nodeDrainConfigs": [{"pdbTimeoutDuration": "3600s"}],
                "nodeConfig": {
                    "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
                    "kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE"},
                    "resourceManagerTags": {"tagKeys/1": "tagValues/2"},
                },
            },
            [],
            id="valid",
        ),
        pytest.param(
            pool(guestAccelerators=[{"tpye": "nvidia-l4"}]),
            ["nodeConfig.guestAccelerators[0].tpye: unknown property; did you mean type?"],
            id="an unknown field, with the program's names",
        ),
        pytest.param(
            pool(taints=[{"key": "gpu", "effect": "NoSchedule"}]),
            [
                "nodeConfig.taints[0].effect: expected one of NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE, "
                'given "NoSchedule"'
            ],
            id="Kubernetes' value of an enum",
        ),
        pytest.param(
            pool(guestAccelerators=[{"gpuDriverInstallationConfig": {"gpuDriverVersion": "latest"}}]),
            [
                "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion: expected one "
                'of INSTALLATION_DISABLED, DEFAULT, LATEST, SPECIFIC, given "latest"'
            ],
            id="lower case",
        ),
        pytest.param(
            {"placementPolicy": {"type": "TIGHT"}},
            ['placementPolicy.type: expected one of COMPACT, given "TIGHT"'],
            id="an enum with one value",
        ),
        pytest.param(
            {"placementPolicy": {"type": "TYPE_UNSPECIFIED"}}, [], id="accepted, but never recommended"
        ),
        pytest.param(
            pool(kubeletConfig={"insecureKubeletReadonlyPortEnabled": False}),
            [
                "nodeConfig.kubeletConfig.insecureKubeletReadonlyPortEnabled: expected one of TRUE, FALSE, "
                "given false"
            ],
            id="Terraform's words for a boolean",
        ),
        pytest.param(
            pool(maxRunDuration="7d"),
            ['nodeConfig.maxRunDuration: expected seconds, such as 3600s, given "7d"'],
            id="duration",
        ),
        pytest.param(
            {"maxPodsPerNode": "many"},
            ['maxPodsPerNode: expected a whole number, given "many"'],
            id="a number that is a string in the API",
        ),
        pytest.param(
            pool(diskSizeGb="100"), ['nodeConfig.diskSizeGb: expected a whole number, given "100"'], id="text"
        ),
        pytest.param(pool(spot=1), ["nodeConfig.spot: expected true or false, given 1"], id="number"),
        pytest.param(
            pool(reservationAffinity="NO_RESERVATION"),
            ['nodeConfig.reservationAffinity: expected a mapping, given "NO_RESERVATION"'],
            id="no message",
        ),
        pytest.param(pool(labels="gpu"), ['nodeConfig.labels: expected a mapping, given "gpu"'], id="no map"),
        pytest.param(pool(labels={"a": 1}), ["nodeConfig.labels.a: expected text, given 1"], id="in a map"),
        pytest.param(pool(tags="a"), ['nodeConfig.tags: expected a list, given "a"'], id="no list"),
        pytest.param(
            pool(machineType=Secret(4)),
            ["nodeConfig.machineType: expected text, given a secret"],
            id="secret",
        ),
        pytest.param(
            {"cluster": UNKNOWN, "management": UNKNOWN, **pool(spot=UNKNOWN, taints=[{"effect": UNKNOWN}])},
            [],
            id="not known yet",
        ),
    ],
)
def test_problems_of_node_pools_are_found(inputs: dict[str, Any], messages: list[str]) -> None:
    assert [str(problem) for problem in gke_document.problems("NodePool", inputs)] == messages


WEEKEND = {"startTime": "2026-11-21T00:00:00Z", "endTime": "2026-11-22T00:00:00Z"}


@pytest.mark.parametrize(
    ("inputs", "messages"),
    [
        pytest.param(
            {
                "networkingMode": "VPC_NATIVE",
                "datapathProvider": "ADVANCED_DATAPATH",
                "releaseChannel": {"channel": "STABLE"},
                "addonsConfig": {"rayOperatorConfigs": [{"enabled": True}]},
                "monitoringConfig": {"enableComponents": ["DCGM"], "managedPrometheus": {"enabled": True}},
                "maintenancePolicy": {
                    "recurringWindow": dict(WEEKEND, recurrence="FREQ=WEEKLY;BYDAY=SA,SU"),
                    "maintenanceExclusions": [
                        {"exclusionName": "gala", **WEEKEND, "exclusionOptions": {"scope": "NO_UPGRADES"}}
                    ],
                },
                "clusterAutoscaling": {
                    "enabled": True,
                    "resourceLimits": [{"resourceType": "cpu", "maximum": 100}],
                },
            },
            [],
            id="valid",
        ),
        pytest.param(
            {"datapathProvider": "CILIUM"},
            [
                "datapathProvider: expected one of LEGACY_DATAPATH, ADVANCED_DATAPATH, "
                'MIGRATE_TO_ADVANCED_DATAPATH, MIGRATE_TO_LEGACY_DATAPATH, given "CILIUM"'
            ],
            id="a field with another path in the API",
        ),
        pytest.param(
            {"networkingMode": "NATIVE"},
            ['networkingMode: expected one of VPC_NATIVE, ROUTES, given "NATIVE"'],
            id="Terraform's words",
        ),
        pytest.param(
            {"loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOAD"]}},
            [
                "loggingConfig.enableComponents[1]: expected one of SYSTEM_COMPONENTS, WORKLOADS, APISERVER, "
                'SCHEDULER, CONTROLLER_MANAGER, KCP_SSHD, KCP_CONNECTION, KCP_HPA, KCP_VPA, given "WORKLOAD"'
            ],
            id="an enum in a list",
        ),
        pytest.param(
            {"maintenancePolicy": {"maintenanceExclusions": [{"exclusionOptions": {"scope": "ALL"}}]}},
            [
                "maintenancePolicy.maintenanceExclusions[0].exclusionOptions.scope: expected one of "
                'NO_UPGRADES, NO_MINOR_UPGRADES, NO_MINOR_OR_NODE_UPGRADES, given "ALL"'
            ],
            id="a list that is a map in the API",
        ),
        pytest.param(
            {"maintenancePolicy": {"recurringWindow": {"startTime": "09:00"}}},
            [
                "maintenancePolicy.recurringWindow.startTime: expected a time, such as 2027-01-31T09:00:00Z, "
                'given "09:00"'
            ],
            id="time",
        ),
        pytest.param(
            {"maintenancePolicy": {"recurringMaintenanceWindow": {"windowDuration": "4h30m"}}},
            [],
            id="a duration that the provider converts to seconds",
        ),
        pytest.param(
            {"addonsConfig": {"rayOperatorConfigs": [{"enabled": "yes"}]}},
            ['addonsConfig.rayOperatorConfigs[0].enabled: expected true or false, given "yes"'],
            id="a list of one that is a message in the API",
        ),
    ],
)
def test_problems_of_clusters_are_found(inputs: dict[str, Any], messages: list[str]) -> None:
    assert [str(problem) for problem in gke_document.problems("Cluster", inputs)] == messages
