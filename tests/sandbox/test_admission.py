"""Gangs on the real API server, KubeRay and scheduler: reclaim in a cohort, RayClusters, many together."""

import json

import yaml

from muster.objects.names import ETA_ANNOTATION
from sandbox.cluster import kinds
from sandbox.cluster.controller_process import NAME
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob
from tools.toolchain.paths import CHECKOUT


def test_a_queue_reclaims_its_quota(cluster: Cluster) -> None:
    """team-b uses eight GPUs, four of them borrowed from team-a; then team-a's gang arrives."""
    borrower = rayjob("borrower", gpus=8, namespace="team-b")
    borrower["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "20"
    name = cluster.submit(borrower)
    cluster.until("the borrower runs", lambda: _status(cluster, name, "team-b") == "RUNNING")
    owner = cluster.submit(rayjob("owner", gpus=4))
    cluster.until_succeeded(owner)
    evicted = kinds.condition(cluster.workload(name, "team-b"), "Preempted")
    assert evicted["reason"] == "InCohortReclamation"


def test_a_raycluster_is_a_gang_too(cluster: Cluster) -> None:
    manifest = yaml.safe_load((CHECKOUT / "examples" / "dev-notebook.raycluster.yaml").read_text())
    name = manifest["metadata"].setdefault("name", "notebook")
    cluster.client.create(kinds.RayCluster(manifest))

    def ready() -> bool:
        current = cluster.client.get(kinds.RayCluster, name, namespace=NAMESPACE)
        return bool((current.get("status") or {}).get("state") == "ready")

    cluster.until("the cluster is ready", ready)
    assert kinds.is_true(cluster.workload(name), "Admitted")
    cluster.client.delete(kinds.RayCluster, name, namespace=NAMESPACE)
    cluster.until("its quota is free", lambda: cluster.workload(name) == {})


def test_the_gang_runs_where_its_request_was_provisioned(cluster: Cluster) -> None:
    job = cluster.submit(rayjob("placed", gpus=2))
    cluster.until("both workers run", lambda: len(_workers(cluster, job)) == 2)
    (request,) = cluster.requests(job)
    resize = request["status"]["provisioningClassDetails"]["ResizeRequestName"]
    nodes = {n["metadata"]["name"]: n["metadata"]["labels"] for n in cluster.gpu_nodes()}
    for pod in _workers(cluster, job):
        assert nodes[pod["spec"]["nodeName"]]["autoscaling.gke.io/provisioning-request"] == resize
    cluster.until_succeeded(job)
    cluster.until("the request is deleted", lambda: cluster.requests(job) == [])
    cluster.until("its nodes are deleted", lambda: cluster.gpu_nodes() == [])


def test_queues_report_no_usage_after_their_jobs(cluster: Cluster) -> None:
    cluster.until_succeeded(cluster.submit(rayjob("counted")))

    def empty() -> bool:
        status = cluster.client.get(kinds.ClusterQueue, "team-a")["status"]
        used = [r["total"] for flavor in status["flavorsUsage"] for r in flavor["resources"]]
        return status["admittedWorkloads"] == 0 and set(used) == {"0"}

    cluster.until("nothing used", empty, seconds_max=10.0)


def _workers(cluster: Cluster, job: str) -> list[Manifest]:
    labelled = (p for p in cluster.pods(job) if p["metadata"]["labels"].get("ray.io/group") == "gpu")
    return [p for p in labelled if p["status"].get("phase") == "Running"]


def _status(cluster: Cluster, job: str, namespace: str) -> str:
    return str(cluster.job(job, namespace).get("status", {}).get("jobStatus", ""))


def test_a_job_that_waits_says_when_it_is_expected_to_start(cluster: Cluster) -> None:
    """A restarted controller estimates immediately, and then once a minute."""
    running = rayjob("running", gpus=4)
    running["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "600"
    first = cluster.submit(running)
    cluster.until("quota", lambda: kinds.is_true(cluster.workload(first), "QuotaReserved"))
    waiting = cluster.submit(rayjob("waiting", gpus=4))
    cluster.until_waits(waiting)
    cluster.processes.stop(NAME)
    cluster.restart_controller()

    def annotated() -> bool:
        return ETA_ANNOTATION in cluster.job(waiting)["metadata"]["annotations"]

    cluster.until("an estimate on the job", annotated)
    annotation = json.loads(cluster.job(waiting)["metadata"]["annotations"][ETA_ANNOTATION])
    assert annotation["at"] <= annotation["p10"] <= (annotation["p50"] or annotation["p10"])
    assert annotation["futures"] == 20


def test_the_journal_is_in_the_folder_of_its_volume(cluster: Cluster) -> None:
    job = cluster.submit(rayjob("recorded"))
    cluster.until_succeeded(job)

    def recorded() -> bool:
        folder = cluster.state.volumes / "journal" / "sandbox"
        return any(f'"{job}"' in file.read_text() for file in folder.glob("*.jsonl"))

    cluster.until("a record of the job", recorded)
