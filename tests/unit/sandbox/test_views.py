"""Pure views: nodes, the controller's command, kwokctl's configuration, status rows, counts of tests."""

import sys
from pathlib import Path
from typing import Any

import pytest

from development.layers import Counts, read_counts
from sandbox.cluster.control_plane import kwokctl_configuration
from sandbox.cluster.controller_process import command_of
from sandbox.cluster.nodes import node, standing_nodes
from sandbox.status import queue_row, workload_state
from sandbox.toolchain.steps import StepError
from settings.model.pools.pool import Nodes, Pool

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


def test_standing_nodes_are_those_of_pools_that_are_not_queued() -> None:
    names = [made["metadata"]["name"] for made in standing_nodes([SYSTEM, L4, SPARE])]
    assert names == ["gke-system-0", "gke-system-1", "gke-spare-0"]


def test_a_standing_node_has_its_pools_shape() -> None:
    (made,) = standing_nodes([SPARE])
    assert made["metadata"]["labels"]["cloud.google.com/gke-accelerator"] == "nvidia-l4"
    assert made["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert made["status"]["allocatable"]["nvidia.com/gpu"] == "1"


def test_labels_given_win_over_the_defaults() -> None:
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
        )
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
        command_of(_deployment(**container))


def test_the_control_plane_listens_on_loopback_and_enforces_rbac() -> None:
    names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
    made = kwokctl_configuration({name: Path("/bin") / name for name in names}, {"etcdPort": 1})
    options = made["options"]
    assert options["bindAddress"] == "127.0.0.1"
    assert options["kubeAuthorization"] is True
    assert options["etcdPort"] == 1
    assert options["kwokControllerBinary"] == "/bin/kwok"


def _conditions(**status: str) -> dict[str, Any]:
    conditions = [{"type": name, "status": value, "message": f"m-{name}"} for name, value in status.items()]
    return {"status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("workload", "state"),
    [
        pytest.param({}, ("Pending", ""), id="new"),
        pytest.param(_conditions(QuotaReserved="False"), ("Pending", "m-QuotaReserved"), id="waits"),
        pytest.param(_conditions(QuotaReserved="True"), ("QuotaReserved", "m-QuotaReserved"), id="reserved"),
        pytest.param(
            _conditions(QuotaReserved="True", Admitted="True"), ("Admitted", "m-Admitted"), id="admitted"
        ),
        pytest.param(
            _conditions(QuotaReserved="True", Admitted="True", Evicted="True"),
            ("Evicted", "m-Evicted"),
            id="evicted",
        ),
        pytest.param(
            _conditions(Evicted="False", Admitted="True"), ("Admitted", "m-Admitted"), id="back-again"
        ),
        pytest.param(
            _conditions(Admitted="True", Finished="True"), ("Finished", "m-Finished"), id="finished"
        ),
    ],
)
def test_workload_state(workload: dict[str, Any], state: tuple[str, str]) -> None:
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


def test_counts_are_read_from_the_report_and_errors_are_failures(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_text(
        '<testsuites><testsuite name="pytest" tests="10" failures="1" errors="2" skipped="3"/></testsuites>'
    )
    assert read_counts(report) == Counts(passed=4, failed=3, skipped=3)
    assert str(Counts(1, 2, 3) + Counts(1, 0, 0)) == "2 passed, 2 failed, 3 skipped"
