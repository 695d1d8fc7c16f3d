"""Jobs that cannot be admitted have a reason, and never start in part."""

from collections.abc import Callable

import pytest
from lightkube import ApiError
from lightkube.types import PatchType

from sandbox.cluster import kinds
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, rayjob


def too_large() -> Manifest:
    return rayjob("too-large", gpus=8)


def unknown_queue() -> Manifest:
    return rayjob("unknown-queue", queue="nowhere")


def no_requests() -> Manifest:
    job = rayjob("no-requests")
    (head,) = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    del head["resources"]
    return job


def unknown_priority() -> Manifest:
    job = rayjob("unknown-priority")
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    return job


@pytest.mark.parametrize(
    ("make", "reason", "sentence"),
    [
        pytest.param(
            too_large, "ExceedsMaxQuota", "8 nvidia.com/gpu", id="larger than its queue can ever have"
        ),
        pytest.param(unknown_queue, "Misconfigured", "has no LocalQueue 'nowhere'", id="unknown queue"),
        pytest.param(unknown_priority, "Misconfigured", "'urgent' does not exist", id="unknown priority"),
    ],
)
def test_impossible_jobs_wait_with_the_reason(
    cluster: Cluster, make: Callable[[], Manifest], reason: str, sentence: str
) -> None:
    job = cluster.submit(make())
    waits = cluster.until_waits(job)
    assert waits["reason"] == reason
    assert sentence in waits["message"]
    assert cluster.job(job)["spec"]["suspend"]
    assert cluster.pods(job) == []


def test_containers_without_requests_get_the_limit_ranges_default(cluster: Cluster) -> None:
    """Stack local's team-a has a LimitRange with defaultRequest."""
    cluster.until_succeeded(cluster.submit(no_requests()))


def without_shutdown(job: Manifest) -> None:
    job["spec"]["shutdownAfterJobFinishes"] = False


def on_a_shared_cluster(job: Manifest) -> None:
    job["spec"]["clusterSelector"] = {"ray.io/cluster": "shared"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(without_shutdown, "shutdownAfterJobFinishes: true", id="stays after it finishes"),
        pytest.param(on_a_shared_cluster, "remove spec.clusterSelector", id="cluster selector"),
    ],
)
def test_jobs_that_cannot_be_suspended_are_refused_at_creation(
    cluster: Cluster, change: Callable[[Manifest], None], sentence: str
) -> None:
    job = rayjob("unsuspendable")
    change(job)
    with pytest.raises(ApiError, match=sentence):
        cluster.submit(job)


def test_a_job_that_kuberay_refuses_while_it_runs_loses_its_quota(cluster: Cluster) -> None:
    """No other job waits for the quota, and no policy refuses the edit."""
    job = rayjob("not-yaml")
    job["metadata"]["annotations"]["sandbox.muster.dev/run-seconds"] = "3600"
    name = cluster.submit(job)
    cluster.until(f"pods of {name}", lambda: deployment_status(cluster, name) == "Running")
    body = {"spec": {"runtimeEnvYAML": "{{{"}}
    cluster.client.patch(kinds.RayJob, name, body, namespace=NAMESPACE, patch_type=PatchType.MERGE)
    cluster.until("KubeRay's refusal", lambda: deployment_status(cluster, name) == "ValidationFailed")
    assert "was rejected by KubeRay" in cluster.until_waits(name)["message"]
    evicted = kinds.condition(cluster.workload(name), "Evicted")
    assert (evicted["status"], evicted["reason"]) == ("True", "ValidationFailed")
    assert cluster.pods(name) == []


def deployment_status(cluster: Cluster, job: str) -> str:
    return str(cluster.job(job).get("status", {}).get("jobDeploymentStatus"))


def test_a_service_account_may_be_created_after_its_job(cluster: Cluster) -> None:
    """Until the account exists, the gang holds no quota, and its condition names the missing account."""
    manifest, account = rayjob("early"), "comes-later"
    head = manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    head["serviceAccountName"] = account
    job = cluster.submit(manifest)
    waits = cluster.until_waits(job)
    assert waits["reason"] == "Misconfigured"
    assert f'serviceaccount "{account}" not found' in waits["message"]
    cluster.kubectl.run("create", "serviceaccount", account, f"--namespace={NAMESPACE}")
    cluster.until_succeeded(job)


def test_a_job_runs_once_its_missing_queue_exists(cluster: Cluster) -> None:
    job = cluster.submit(rayjob("late-queue", queue="late"))
    assert "has no LocalQueue 'late'" in cluster.until_waits(job)["message"]
    late = {
        "metadata": {"name": "late", "namespace": "team-a"},
        "spec": {"clusterQueue": "team-a"},
    }
    cluster.client.create(kinds.LocalQueue(late))
    try:
        cluster.until_succeeded(job)
    finally:
        cluster.client.delete(kinds.LocalQueue, "late", namespace="team-a")
