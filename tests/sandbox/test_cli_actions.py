"""The verbs of `muster` that act, and the doctor, against a real API server."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import yaml

from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import StepError


def muster(cluster: Cluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb with the administrator's rights."""
    argv = [sys.executable, "-m", "muster", *arguments, "--kubeconfig", str(cluster.state.kubeconfig)]
    return subprocess.run(argv, capture_output=True, text=True, cwd=CHECKOUT, timeout=120)


def written(folder: Path, job: Manifest) -> str:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    return str(path)


def test_submit_follows_a_job_to_its_end(cluster: Cluster, tmp_path: Path) -> None:
    job = rayjob("followed")
    done = muster(cluster, "submit", written(tmp_path, job), "--wait", "finished", "--timeout", "60")
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert first == f"RayJob {NAMESPACE}/{job['metadata']['name']} created"
    assert last.startswith("succeeded: ")


def test_submit_says_why_a_job_will_not_be_admitted(cluster: Cluster, tmp_path: Path) -> None:
    done = muster(cluster, "submit", written(tmp_path, rayjob("huge", gpus=100)), "--timeout", "60")
    assert done.returncode == 5, done.stderr
    assert "ExceedsMaxQuota: needs 100 nvidia.com/gpu of flavor l4" in done.stdout


def test_a_stopped_job_is_resumed(cluster: Cluster) -> None:
    job = rayjob("stopped")
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "20"
    name = cluster.submit(job)
    cluster.until("it is admitted", lambda: kinds.is_true(cluster.workload(name), "Admitted"))
    done = muster(cluster, "stop", "workload", f"rayjob/{name}", "-n", NAMESPACE)
    assert done.returncode == 0, done.stderr
    cluster.until("its quota is free", lambda: cluster.until_waits(name)["reason"] == "Suspended")
    assert kinds.condition(cluster.workload(name), "Evicted")["reason"] == "JobStopped"
    done = muster(cluster, "resume", "workload", f"rayjob/{name}", "-n", NAMESPACE)
    assert (done.returncode, done.stdout) == (0, f"RayJob {NAMESPACE}/{name} is resumed\n")
    cluster.until("it is admitted again", lambda: kinds.is_true(cluster.workload(name), "Admitted"))


def test_a_stopped_queue_is_found_and_resumed(cluster: Cluster) -> None:
    assert muster(cluster, "stop", "queue", "team-b", "--keep-running").returncode == 0
    try:
        done = muster(cluster, "doctor", "--json")
        assert done.returncode == 1, done.stderr
        subjects_and_remedies = {
            (finding["subject"], finding["remedy"]) for finding in json.loads(done.stdout)
        }
        assert ("ClusterQueue team-b", "muster resume queue team-b") in subjects_and_remedies
    finally:
        assert muster(cluster, "resume", "queue", "team-b").returncode == 0


def test_the_doctor_finds_nothing_in_a_fresh_cluster(cluster: Cluster) -> None:
    answers: list[str] = []

    def nothing_is_found() -> bool:
        done = muster(cluster, "doctor")
        answers.append(done.stdout + done.stderr)
        return done.returncode == 0

    with suppress(StepError):  # The assertion says more: what the doctor finds.
        cluster.until("nothing is found", nothing_is_found)
    assert answers[-1] == "no findings\n"


def test_logs_of_a_job_without_pods_say_so(cluster: Cluster) -> None:
    name = cluster.submit(rayjob("queued", gpus=100))
    cluster.until_waits(name)
    done = muster(cluster, "logs", f"rayjob/{name}", "-n", NAMESPACE)
    assert done.returncode == 2
    assert done.stderr == "muster logs: the job has no pods: it waits for quota or has ended\n"
