"""Gangs that Ray's autoscaler scales, with the real Kueue and the real KAI Scheduler: the cells of
docs/elastic.md that describe them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

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


def example(name: str) -> Manifest:
    """Returns an example; its job runs until it is deleted."""
    manifest: Manifest = yaml.safe_load((EXAMPLES / f"{name}.rayjob.yaml").read_text())
    metadata = manifest["metadata"]
    metadata["name"] = metadata.pop("generateName").rstrip("-")
    metadata.setdefault("annotations", {})["sandbox.muster.dev/run-seconds"] = "3600"
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


def test_kueue_resizes_a_job_by_slices_and_preempts_it_whole() -> None:
    with running("kueue") as cluster:
        job = submit(cluster, example("cpu-elastic"))
        cluster.until("growth", lambda: phases(cluster, job) == ["Running"] * 20)
        (slice_of_growth,) = workloads(cluster, job)
        assert REPLACES in slice_of_growth["metadata"]["annotations"]

        # Growth beyond the quota: none of the additional workers starts, though two would fit.
        (name,) = (c["metadata"]["name"] for c in cluster.client.list(kinds.RayCluster, namespace=NAMESPACE))
        for change in (
            {"metadata": {"annotations": {WORKERS: "cpu=40"}}},
            {"spec": {"workerGroupSpecs": [ray_group(cluster, name) | {"maxReplicas": 40}]}},
        ):
            patch = ("patch", "raycluster", name, f"--namespace={NAMESPACE}", "--type=merge")
            cluster.kubectl.run(*patch, f"--patch={json.dumps(change)}")
        beyond = [*["Running"] * 20, *[GATED] * 20]
        cluster.until("gated workers", lambda: phases(cluster, job) == beyond)
        waiting = [w for w in workloads(cluster, job) if not kinds.is_true(w, "QuotaReserved")]
        assert len(waiting) == 1

        before = pods(cluster, job, HEAD)
        submit(cluster, example("cpu-batch"))
        cluster.until("the end of its head", lambda: not before.keys() & pods(cluster, job, HEAD).keys())
        # The RayJob's new cluster starts with its replicas.
        cluster.until("its return", lambda: "Running" in phases(cluster, job))
        (admitted,) = (w for w in workloads(cluster, job) if kinds.is_true(w, "Admitted"))
        sizes = {a["name"]: a["count"] for a in admitted["status"]["admission"]["podSetAssignments"]}
        assert sizes["cpu"] == 1


def ray_group(cluster: Cluster, name: str) -> Manifest:
    ray_cluster = cluster.client.get(kinds.RayCluster, name, namespace=NAMESPACE)
    (group,) = ray_cluster["spec"]["workerGroupSpecs"]
    return dict(group)


def test_kai_grows_a_job_beyond_the_minimum_of_its_gang() -> None:
    with running("kai") as cluster:
        job = submit(cluster, example("cpu-elastic"))
        cluster.until("growth", lambda: phases(cluster, job) == ["Running"] * 20)
        (group,) = cluster.client.list(kinds.PodGroup, namespace=NAMESPACE)
        assert group["spec"]["minMember"] == 2  # the head, and a worker
