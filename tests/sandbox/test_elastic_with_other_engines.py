"""Gangs that Ray's autoscaler scales, with the real Kueue and the real KAI Scheduler: the cells of
docs/elastic.md that describe them."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import yaml

from sandbox.cluster import kinds
from sandbox.scenario import EXAMPLES
from sandbox.stand_ins.ray_autoscaler import WORKERS
from sandbox.up import down, up
from tests.sandbox.conftest import NAMESPACE, Cluster, Manifest, connected
from tests.stacks.ray_requests import ALICE
from tools.toolchain.paths import RunState

HEAD, GATED = "head", "SchedulingGated"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


@contextmanager
def running(engine: str) -> Iterator[Cluster]:
    state = RunState(f"e2e-elastic-{engine}")
    try:
        up(state, engine, scenarios=(), fresh=True)
        with connected(state) as cluster:
            yield cluster
    finally:
        down(state)


def example(name: str, *, seconds: int) -> Manifest:
    """Returns an example with a unique name, whose job runs for this time."""
    manifest: Manifest = yaml.safe_load((EXAMPLES / f"{name}.rayjob.yaml").read_text())
    metadata = manifest["metadata"]
    metadata["name"] = f"{metadata.pop('generateName')}{secrets.token_hex(2)}"
    metadata.setdefault("annotations", {})["sandbox.muster.dev/run-seconds"] = str(seconds)
    return manifest


def submit(cluster: Cluster, manifest: Manifest) -> str:
    cluster.kubectl.run("create", "-f", "-", *ALICE, stdin=json.dumps(manifest))
    return str(manifest["metadata"]["name"])


def pods(cluster: Cluster, job: str, role: str) -> dict[str, str]:
    """Returns the job's pods of this role and their phases, gated ones as SchedulingGated, by UID."""
    phases = {}
    for pod in cluster.pods(job):
        if pod["metadata"]["labels"].get("ray.io/node-type") == role:
            gated = pod["spec"].get("schedulingGates")
            phases[pod["metadata"]["uid"]] = GATED if gated else pod["status"]["phase"]
    return phases


def phases(cluster: Cluster, job: str, role: str = "worker") -> list[str]:
    return sorted(pods(cluster, job, role).values())


def workloads(cluster: Cluster, job: str) -> list[Manifest]:
    """Returns the Workloads of the job that are not finished."""
    return [
        workload
        for workload in cluster.client.list(kinds.Workload, namespace=NAMESPACE)
        if workload["metadata"]["ownerReferences"][0]["name"] == job
        and not kinds.is_true(workload, "Finished")
    ]


@pytest.mark.thorough
def test_kueue_resizes_a_job_by_slices_and_preempts_it_whole() -> None:
    with running("kueue") as cluster:
        job = submit(cluster, example("cpu-elastic", seconds=3600))
        cluster.until("growth", lambda: phases(cluster, job) == ["Running"] * 20)
        (slice_of_growth,) = workloads(cluster, job)
        assert REPLACES in slice_of_growth["metadata"]["annotations"]

        before = pods(cluster, job, HEAD)
        first = submit(cluster, example("cpu-batch", seconds=2))
        cluster.until("the end of its head", lambda: not before.keys() & pods(cluster, job, HEAD).keys())
        # The RayJob's new cluster starts with its replicas.
        cluster.until("its return", lambda: "Running" in phases(cluster, job))
        (admitted,) = (w for w in workloads(cluster, job) if kinds.is_true(w, "Admitted"))
        sizes = {a["name"]: a["count"] for a in admitted["status"]["admission"]["podSetAssignments"]}
        assert sizes["cpu"] == 1
        cluster.until_succeeded(first)
        cluster.until("growth again", lambda: phases(cluster, job) == ["Running"] * 20)

        # Growth beyond the quota: none of the additional workers starts, though five would fit.
        ask_for(cluster, job, 40)
        beyond = [*["Running"] * 20, *[GATED] * 20]
        cluster.until("gated workers", lambda: phases(cluster, job) == beyond)
        waiting = [w for w in workloads(cluster, job) if not kinds.is_true(w, "QuotaReserved")]
        assert len(waiting) == 1

        # A preemption in that time finishes the Workload, but ends no pod.
        before = pods(cluster, job, HEAD)
        cluster.until_succeeded(submit(cluster, example("cpu-batch", seconds=2)))
        assert not any(kinds.is_true(w, "QuotaReserved") for w in workloads(cluster, job))
        assert (phases(cluster, job), pods(cluster, job, HEAD)) == (beyond, before)


def ask_for(cluster: Cluster, job: str, workers: int) -> None:
    """Gives the job work for this many workers, and allows as many."""
    (name,) = (
        c["metadata"]["name"]
        for c in cluster.client.list(kinds.RayCluster, namespace=NAMESPACE)
        if c["metadata"]["name"].startswith(job)
    )
    (group,) = cluster.client.get(kinds.RayCluster, name, namespace=NAMESPACE)["spec"]["workerGroupSpecs"]
    change = {
        "metadata": {"annotations": {WORKERS: f"cpu={workers}"}},
        "spec": {"workerGroupSpecs": [{**group, "maxReplicas": workers}]},
    }
    patch = ("patch", "raycluster", name, f"--namespace={NAMESPACE}", "--type=merge")
    cluster.kubectl.run(*patch, f"--patch={json.dumps(change)}")


@pytest.mark.thorough
def test_kai_grows_a_job_beyond_the_minimum_of_its_gang() -> None:
    with running("kai") as cluster:
        job = submit(cluster, example("cpu-elastic", seconds=3600))
        cluster.until("growth", lambda: phases(cluster, job) == ["Running"] * 20)
        (group,) = cluster.client.list(kinds.PodGroup, namespace=NAMESPACE)
        assert group["spec"]["minMember"] == 2  # the head, and a worker
