"""Commands that show a cluster, run against one: their tables and their JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.live.verdict import VerdictKind
from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, rayjob
from tools.toolchain.paths import CHECKOUT

GPU = "nvidia.com/gpu"
WAITS = 4


def muster(cluster: Cluster, *arguments: str, code: int = 0) -> str:
    """Runs a command; returns what it prints."""
    command = [sys.executable, "-m", "muster", *arguments, "--kubeconfig", str(cluster.state.kubeconfig)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


def answered(cluster: Cluster, *arguments: str, code: int = 0) -> Any:
    return json.loads(muster(cluster, *arguments, "-o", "json", code=code))


def rows(output: str, name: str) -> list[list[str]]:
    """Returns the cells of the lines that have a cell with this text."""
    return [cells for line in output.splitlines() if name in (cells := line.split())]


@pytest.fixture
def jobs(cluster: Cluster) -> tuple[str, str]:
    """Names of a job with quota for all GPUs of team-a, and of a job that waits for them."""
    first = rayjob("first", gpus=4)
    first["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "600"
    running = cluster.submit(first)
    cluster.until("quota", lambda: kinds.is_true(cluster.workload(running), "QuotaReserved"))
    waiting = cluster.submit(rayjob("second", gpus=4))
    cluster.until_waits(waiting)
    return running, waiting


def test_queues_show_the_tree(cluster: Cluster, jobs: tuple[str, str]) -> None:
    (row,) = rows(muster(cluster, "queues"), "team-a")
    assert row[1:4] == ["team-a", "Active", "1"]
    assert row[6:10] == ["l4", GPU, "4", "4"]
    document = answered(cluster, "queues", "--queue", "team-a")
    (cohort,) = document["queues"]
    (queue,) = cohort["children"]
    assert (cohort["kind"], queue["name"], queue["workloads"]["pending"]) == ("Cohort", "team-a", 1)
    assert queue["demand"][GPU] == "4"


def test_queue_shows_what_runs_and_what_waits(cluster: Cluster, jobs: tuple[str, str]) -> None:
    running, waiting = (f"rayjob/{name}" for name in jobs)
    output = muster(cluster, "queue", "user-queue", "-n", NAMESPACE)
    assert rows(output, running)[0][0] == running
    assert rows(output, waiting)[0][:4] == ["1", waiting, NAMESPACE, "Pending"]
    document = answered(cluster, "queue", "team-a", "--status", "Pending", "--eta", "--seeds=2")
    assert (document["running"], [row["job"] for row in document["waiting"]]) == ([], [waiting])
    assert document["waiting"][0]["eta"]["futures"] == 2


def test_why_names_what_binds_a_job(cluster: Cluster, jobs: tuple[str, str]) -> None:
    running, waiting = (f"rayjob/{name}" for name in jobs)
    output = muster(cluster, "why", waiting, "-n", NAMESPACE, code=WAITS)
    assert "It waits in ClusterQueue team-a. Reason: needs 4 nvidia.com/gpu" in output
    assert rows(output, "QuotaReserved")[-1][2] == "False"
    document = answered(cluster, "why", waiting, "-n", NAMESPACE, code=WAITS)
    assert (document["answer"], document["reason"]) == (VerdictKind.WAITS.value, "QUOTA")
    assert document["lacks"][0]["missing"] == "4"
    assert answered(cluster, "why", running, "-n", NAMESPACE)["answer"] is None


def test_top_shows_flavors_and_teams(cluster: Cluster, jobs: tuple[str, str]) -> None:
    output = muster(cluster, "top")
    assert rows(output, NAMESPACE)[0][:5] == [NAMESPACE, "1", "1", "4", GPU]
    document = answered(cluster, "top", "-n", NAMESPACE)
    (team,) = document["teams"]
    assert (team["running"], team["waiting"], team["demand"][GPU]) == (1, 1, "4")
    (gpus,) = (
        flavor for flavor in document["flavors"] if flavor["resource"] == GPU and flavor["nominal"] != "0"
    )
    assert (gpus["used"], gpus["workloads"]) == ("4", 1)


def test_an_account_without_rights_is_told_which_it_lacks(cluster: Cluster, tmp_path: Path) -> None:
    config = yaml.safe_load(Path(cluster.state.kubeconfig).read_text())
    token = cluster.kubectl.run("create", "token", "default", "-n", "kube-public").strip()
    config["users"] = [{**user, "user": {"token": token}} for user in config["users"]]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "muster", "queues", "--kubeconfig", str(tmp_path / "kubeconfig")]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    plurals = ("clusterqueues", "localqueues", "resourceflavors", "workloads")
    assert [p for p in plurals if f"you may not list {p}.kueue.x-k8s.io" not in done.stderr] == []
