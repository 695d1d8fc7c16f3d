"""Production faults in a running sandbox: no gang is lost, and none starts in part."""

from typing import Any

from lightkube.types import PatchType

from sandbox.cluster import kinds
from tests.sandbox.conftest import Cluster, rayjob

CONTROLLER = "muster-controller"


def test_a_controller_killed_between_admission_and_resume_resumes_the_job_later(cluster: Cluster) -> None:
    """Without the permission to patch RayJobs it cannot resume the job before it is killed."""
    rules = _rules(cluster)
    _set_rules(cluster, [r for r in rules if "ray.io" not in r["apiGroups"]] + [_only_read(rules)])
    try:
        job = cluster.submit(rayjob("killed"))
        cluster.until("admission", lambda: kinds.is_true(cluster.workload(job), "Admitted"))
        cluster.processes.kill("controller")
        assert cluster.job(job)["spec"]["suspend"], "resumed without the permission"
    finally:
        _set_rules(cluster, rules)
    cluster.restart_controller()
    cluster.until_succeeded(job)
    cluster.until("the end", lambda: kinds.is_true(cluster.workload(job), "Finished"))


def test_a_stock_out_keeps_the_gang_suspended_and_releases_its_quota(cluster: Cluster) -> None:
    cluster.zone(**{"l4.nodes": "0", "l4.stockout": "fail"})
    job = cluster.submit(rayjob("stockout", gpus=4))

    def released() -> bool:
        return bool(
            kinds.condition(cluster.workload(job), "Evicted").get("reason") == "AdmissionCheck"
            and kinds.condition(cluster.workload(job), "QuotaReserved").get("status") == "False"
        )

    cluster.until("quota released after the failed request", released)
    assert cluster.workload(job)["status"].get("admission") is None
    assert cluster.job(job)["spec"]["suspend"]
    assert cluster.pods(job) == []
    # counted in the Workload: the failed request itself is soon deleted
    cluster.until("a second try", lambda: _tries(cluster.workload(job)) >= 2)
    assert cluster.pods(job) == []
    cluster.zone()
    cluster.until_succeeded(job)


def test_capacity_for_half_a_gang_starts_no_pods(cluster: Cluster) -> None:
    cluster.zone(**{"l4.nodes": "2"})
    job = cluster.submit(rayjob("half", gpus=4))

    def accepted() -> bool:
        return any(kinds.is_true(r, "Accepted") for r in cluster.requests(job))

    cluster.until("acceptance of the request", accepted)
    # A gang that fits runs meanwhile, so enough time passes for the other to start wrongly.
    small = cluster.submit(rayjob("small"))
    cluster.until_succeeded(small)
    assert cluster.job(job)["spec"]["suspend"]
    assert cluster.pods(job) == []
    assert cluster.gpu_nodes() == []
    cluster.zone()
    cluster.until("four nodes at the same time", lambda: len(cluster.gpu_nodes()) == 4)
    cluster.until_succeeded(job)


def _tries(workload: Any) -> int:
    return max((c.get("retryCount", 0) for c in workload["status"].get("admissionChecks", ())), default=0)


def _rules(cluster: Cluster) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = cluster.client.get(kinds.ClusterRole, CONTROLLER)["rules"]
    return rules


def _only_read(rules: list[dict[str, Any]]) -> dict[str, Any]:
    resources = sorted({name for r in rules if "ray.io" in r["apiGroups"] for name in r["resources"]})
    return {"apiGroups": ["ray.io"], "resources": resources, "verbs": ["get", "list", "watch"]}


def _set_rules(cluster: Cluster, rules: list[dict[str, Any]]) -> None:
    cluster.client.patch(kinds.ClusterRole, CONTROLLER, {"rules": rules}, patch_type=PatchType.MERGE)
