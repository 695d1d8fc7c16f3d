"""Pure functions: nodes, the controller's command, kwokctl's configuration, and status rows."""

import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.control_plane import kwokctl_configuration
from sandbox.cluster.controller_process import command_of
from sandbox.cluster.nodes import node, node_changes, static_nodes
from sandbox.status_rows import kai_queue_row, pod_group_row, queue_row, workload_row, workload_state
from settings.model.pools.parts import Nodes
from settings.model.pools.pool import Pool
from tools.toolchain.steps import StepError

SYSTEM = Pool.model_validate(
    {"name": "system", "machineType": "e2-standard-4", "nodes": {"min": 2, "max": 2}}
)
L4 = Pool.model_validate(
    {
        "name": "l4",
        "machineType": "g2-standard-4",
        "gpu": {"type": "nvidia-l4", "count": 1},
        "provisioning": "queued",
        "nodes": {"max": 10},
    }
)
SPARE = L4.model_copy(update={"name": "spare", "provisioning": "on-demand", "nodes": Nodes(max=1)})


def test_static_nodes_are_those_of_pools_that_are_not_queued() -> None:
    names = [manifest["metadata"]["name"] for manifest in static_nodes([SYSTEM, L4, SPARE])]
    assert names == ["gke-system-0", "gke-system-1", "gke-spare-0"]


def test_a_static_node_has_its_pools_capacity_and_labels() -> None:
    (manifest,) = static_nodes([SPARE])
    assert manifest["metadata"]["labels"]["cloud.google.com/gke-accelerator"] == "nvidia-l4"
    assert manifest["spec"]["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]
    assert manifest["status"]["allocatable"]["nvidia.com/gpu"] == "1"


def test_given_labels_override_the_defaults() -> None:
    assert node("n", {"kubernetes.io/arch": "arm64"}, [], {})["metadata"]["labels"] == {
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": "n",
    }


def _deployment(**container: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "muster-controller", "namespace": "muster-system"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def test_the_controller_runs_the_deployments_command_under_our_python() -> None:
    argv, environment = command_of(
        _deployment(
            command=["python", "-m", "muster"],
            args=["controller", "--workers=2"],
            env=[
                {"name": "A", "value": "1"},
                {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            ],
        ),
        Path("volumes"),
    )
    assert argv == [sys.executable, "-m", "muster", "controller", "--workers=2"]
    assert environment == {"A": "1", "NAMESPACE": "muster-system"}


@pytest.mark.parametrize(
    ("container", "why"),
    [
        pytest.param({}, "starts with python", id="no-command"),
        pytest.param({"command": ["/bin/controller"]}, "starts with python", id="not-python"),
        pytest.param(
            {"command": ["python"], "env": [{"name": "S", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
            "env S",
            id="a-secret",
        ),
    ],
)
def test_a_deployment_that_cannot_run_here_is_refused(container: dict[str, Any], why: str) -> None:
    with pytest.raises(StepError, match=why):
        command_of(_deployment(**container), Path("volumes"))


@pytest.mark.parametrize(
    ("path", "local"),
    [
        pytest.param("--journal=/journal/ray", "--journal=volumes/kept/ray", id="a-folder-of-a-volume"),
        pytest.param("--journal=/journal", "--journal=volumes/kept", id="a-volume"),
        pytest.param("--journal=/journals", "--journal=/journals", id="a-longer-name"),
        pytest.param("--other=journal", "--other=journal", id="no-path"),
    ],
)
def test_a_volume_is_a_folder_of_this_machine(path: str, local: str) -> None:
    mounts = [{"name": "kept", "mountPath": "/journal"}]
    argv, _ = command_of(_deployment(command=["python"], args=[path], volumeMounts=mounts), Path("volumes"))
    assert argv == [sys.executable, local]


def test_the_control_plane_listens_on_loopback_and_enforces_rbac() -> None:
    names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
    configuration = kwokctl_configuration({name: Path("/bin") / name for name in names}, {"etcdPort": 1})
    options = configuration["options"]
    assert options["bindAddress"] == "127.0.0.1"
    assert options["kubeAuthorization"] is True
    assert options["etcdPort"] == 1
    assert options["kwokControllerBinary"] == "/bin/kwok"


def _conditions(**status: str) -> dict[str, Any]:
    conditions = [
        {"type": name, "status": value, "reason": f"r-{name}", "message": f"m-{name}"}
        for name, value in status.items()
    ]
    return {"status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("workload", "state"),
    [
        pytest.param({}, ("Pending", "", ""), id="new"),
        pytest.param(
            _conditions(QuotaReserved="False"), ("Pending", "r-QuotaReserved", "m-QuotaReserved"), id="waits"
        ),
        pytest.param(
            _conditions(QuotaReserved="True"),
            ("QuotaReserved", "r-QuotaReserved", "m-QuotaReserved"),
            id="reserved",
        ),
        pytest.param(
            _conditions(QuotaReserved="True", Admitted="True"),
            ("Admitted", "r-Admitted", "m-Admitted"),
            id="admitted",
        ),
        pytest.param(
            _conditions(QuotaReserved="True", Admitted="True", Evicted="True"),
            ("Evicted", "r-Evicted", "m-Evicted"),
            id="evicted",
        ),
        pytest.param(
            _conditions(Evicted="False", Admitted="True"),
            ("Admitted", "r-Admitted", "m-Admitted"),
            id="back-again",
        ),
        pytest.param(
            _conditions(Admitted="True", Finished="True"),
            ("Finished", "r-Finished", "m-Finished"),
            id="finished",
        ),
    ],
)
def test_workload_state(workload: dict[str, Any], state: tuple[str, str, str]) -> None:
    assert workload_state(workload) == state


def test_queue_row_shows_use_of_each_flavor() -> None:
    gpus = {"name": "nvidia.com/gpu", "nominalQuota": "4"}
    queue = {
        "metadata": {"name": "team-a"},
        "spec": {"cohortName": "ml", "resourceGroups": [{"flavors": [{"name": "l4", "resources": [gpus]}]}]},
        "status": {
            "pendingWorkloads": 3,
            "admittedWorkloads": 1,
            "flavorsUsage": [{"name": "l4", "resources": [{"name": "nvidia.com/gpu", "total": "2"}]}],
        },
    }
    assert queue_row(queue) == ("team-a", "ml", "3", "1", "l4/nvidia.com/gpu 2/4")


NOW = 1_800_000_000.0


def test_a_workload_is_shown_with_its_job_and_age() -> None:
    metadata = {
        "namespace": "team-a",
        "name": "rayjob-train-1a2b3",
        "creationTimestamp": "2027-01-15T07:55:00Z",
        "ownerReferences": [{"kind": "RayJob", "name": "train"}],
    }
    workload = {
        "metadata": metadata,
        "spec": {"queueName": "user-queue", "priority": 100},
        **_conditions(QuotaReserved="False"),
    }
    about = ("team-a", "RayJob/train", "rayjob-train-1a2b3", "user-queue", "100", "5m")
    assert workload_row(workload, NOW) == (*about, "Pending", "r-QuotaReserved", "m-QuotaReserved")


def test_a_pod_group_is_shown_with_its_pods_on_nodes() -> None:
    group = {
        "metadata": {"namespace": "a", "name": "pg", "creationTimestamp": "2027-01-15T07:55:00Z"},
        "spec": {"queue": "team-a", "minMember": 3, "priorityClassName": "train"},
        "status": {"schedulingConditions": [{"reason": "OverLimit", "message": "too much"}]},
    }

    def pod(node: str, group: str = "pg") -> dict[str, Any]:
        return {
            "metadata": {"namespace": "a", "annotations": {"pod-group-name": group}},
            "spec": {"nodeName": node},
        }

    about = ("a", "-", "pg", "team-a", "train", "5m")
    assert pod_group_row(group, [pod("n"), pod("n", "other")], NOW) == (*about, "1/3", "", "")
    assert pod_group_row(group, [pod("")], NOW) == (*about, "0/3", "OverLimit", "too much")


def test_a_kai_queue_shows_its_gpus() -> None:
    queue = {
        "metadata": {"name": "team-a"},
        "spec": {"parentQueue": "ml", "resources": {"gpu": {"quota": 4, "limit": -1}}},
    }
    assert kai_queue_row(queue) == ("team-a", "ml", "4", "unlimited")


def live(declared: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A node with the fields that Kubernetes and kwok set."""
    metadata = {**declared["metadata"], "resourceVersion": "7"}
    metadata["labels"] = {**metadata["labels"], "beta.kubernetes.io/os": "linux"}
    return {
        "metadata": metadata,
        "spec": {**declared["spec"], **spec},
        "status": {**declared["status"], "phase": "Running"},
    }


def test_nodes_that_match_the_pools_are_not_changed() -> None:
    declared = static_nodes([SYSTEM, SPARE])
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    existing = [live(node) for node in declared]
    existing[0]["spec"]["taints"] = [not_ready]
    changes = node_changes(existing, declared, {})
    assert not changes
    assert str(changes) == "unchanged"


def test_nodes_of_a_smaller_pool_are_deleted_when_they_have_no_pods() -> None:
    existing = [live(node) for node in static_nodes([SYSTEM])]
    declared = static_nodes([SYSTEM.model_copy(update={"nodes": Nodes(max=1)})])
    assert node_changes(existing, declared, {}).delete == ["gke-system-1"]
    busy = node_changes(existing, declared, {"gke-system-0": ["a/b"], "gke-system-1": ["a/c", "a/d"]})
    assert (busy.delete, list(busy.keep)) == ([], ["gke-system-1"])
    assert str(busy) == "gke-system-1 cordoned until its pods have ended, then apply again: a/c, a/d"


def test_nodes_of_a_larger_pool_are_created() -> None:
    existing = [live(node) for node in static_nodes([SYSTEM])]
    declared = static_nodes([SYSTEM.model_copy(update={"nodes": Nodes(max=3)})])
    (created,) = node_changes(existing, declared, {}).create
    assert created["metadata"]["name"] == "gke-system-2"


def test_a_changed_pool_changes_its_nodes_in_place() -> None:
    (before,) = static_nodes([SPARE.model_copy(update={"labels": {"team": "a"}})])
    (after,) = static_nodes([SPARE.model_copy(update={"machine_type": "g2-standard-8"})])
    (updated,) = node_changes([live(before, unschedulable=True)], [after], {"gke-spare-0": ["a/b"]}).update
    assert "team" not in updated["metadata"]["labels"]
    assert updated["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"
    assert updated["status"]["allocatable"]["cpu"] == "8"
    assert updated["status"]["phase"] == "Running"
    assert "unschedulable" not in updated["spec"]
    assert "resourceVersion" not in updated["metadata"]
