"""Every setting of queues, applied to a real API server with Kueue's own CRDs."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import KubeConfig

from preview.pulumi_cli import PulumiCli, Stack
from preview.resources import kubernetes_writes as writes
from sandbox.cluster.kubectl import Kubectl
from tests.stacks.conftest import LOCAL, wait_for_suspension
from tools.kubernetes import ApiServer

COHORTS = [
    {"name": "company", "quotas": {"cpu": {"cpu": 4, "memory": "16Gi"}}},
    {"name": "research", "parent": "company", "weight": "0.5"},
]
TEAM_A = {
    "name": "team-a",
    "cohort": "research",
    "quotas": {
        "cpu": {"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 0},
        "l4": {
            "cpu": 16,
            "memory": "64Gi",
            "nvidia.com/gpu": {"nominal": 4, "borrowingLimit": 2, "lendingLimit": 1},
        },
    },
    "strategy": "StrictFIFO",
    "preemption": {
        "withinClusterQueue": "LowerOrNewerEqualPriority",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 99},
    },
    "flavorFungibility": {
        "whenCanBorrow": "TryNextFlavor",
        "whenCanPreempt": "TryNextFlavor",
        "preference": "BorrowingOverPreemption",
    },
    "weight": 2,
    "checks": {"budget": ["l4"]},
    "stop": "Hold",
    "namespaces": {"muster.dev/tenant": "true"},
}
CHECKS = [
    {
        "name": "budget",
        "controller": "acme.example/budget",
        "parameters": {"apiGroup": "acme.example", "kind": "Budget", "name": "gpu-hours"},
    }
]


def test_a_cohort_may_lose_all_its_settings(local_cli: PulumiCli, cluster: Kubectl) -> None:
    config = KubeConfig.from_file(str(cluster.kubeconfig)).get()
    assert config is not None
    cohort = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "emptied"}}
    with closing(ApiServer(config)) as api:
        writes.create(api, {**cohort, "spec": {"parentName": "company"}})
        try:
            writes.apply(api, {**cohort, "spec": {}}, dry_run=True)
            assert writes.update(api, {**cohort, "spec": {}})["spec"] == {}
            assert writes.update(api, {**cohort, "spec": {}})["spec"] == {}
        finally:
            writes.delete(api, cohort, 30.0)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Stack local with engine kueue and queues that use every setting."""
    content: dict[str, Any] = yaml.safe_load(LOCAL.read_text())
    config = content["config"]
    config["muster:admission"]["engine"] = "kueue"
    config["muster:kueue"] = {"install": "existing"}
    queues = config["muster:queues"]
    others = [{**q, "cohort": "company"} for q in queues["clusterQueues"] if q["name"] != "team-a"]
    config["muster:queues"] = {"cohorts": COHORTS, "clusterQueues": [TEAM_A, *others], "checks": CHECKS}
    file = tmp_path / LOCAL.name
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.thorough
def test_queues_with_every_setting_are_applied_without_drift(
    local_stack: Stack, local_cli: PulumiCli, cluster: Kubectl, settings: Path
) -> None:
    """Stack local, which other tests share, is changed and restored."""
    changed = local_cli.select("local", settings)
    try:
        assert "update" in changed.up().counts
        changed.up(expect_no_changes=True)
        weight = "jsonpath={.spec.fairSharing.weight}"
        assert cluster.run("get", "clusterqueue", "team-a", "-o", weight) == "2"
        assert cluster.run("get", "cohort", "research", "-o", weight) == "0.5"
    finally:
        local_cli.select("local", LOCAL).up()
        wait_for_suspension(cluster)
