"""Named scenarios, end to end in virtual time; invariants are checked after every write."""

import asyncio
from itertools import groupby

import pytest

from muster.kube import kinds
from muster.objects.names import NODE_SIZES, PRIORITY_LABEL
from tests.simulation.api import Body
from tests.simulation.invariants import condition, is_suspended
from tests.simulation.manifests import local_stack, ray_cluster, ray_job, ray_service, template
from tests.simulation.ray_services import is_ready
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_production_job_preempts_a_dev_job_which_resumes(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(dev) == "Suspended", "dev is suspended")
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs")
        assert {pod["status"]["phase"] for pod in sim.pods_of(dev)} <= {"Failed"}, "none runs"
        assert sim.has(dev, "Preempted")
        preempted = condition(sim.workload(dev), "Preempted")
        assert "of priority 1000 due to InClusterQueue" in preempted["message"]
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        await sim.until(lambda: not sim.requests() and not sim.reserved(), "all capacity is released")
        ended = sim.history(kinds.RAY_JOBS, lambda j: (j["metadata"]["name"], state(j)))
        assert ended.index(("prod", "Complete")) < ended.index(("dev", "Complete"))

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_sigkill_between_admission_and_resume(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        sim.api.watchers.append(lambda _: sim.kill() if sim.has(dev, "Admitted") and suspended(dev) else None)

        def suspended(key: str) -> bool:
            return bool(sim.job(key)["spec"]["suspend"])

        await sim.until(lambda: sim.has(dev, "Admitted"), "dev is admitted")
        sim.api.watchers.pop()
        assert suspended(dev)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize("after", range(1, 13))
def test_sigkill_after_any_write(after: int) -> None:
    """Each process dies at its `after`th write, so it never gets far."""

    async def story(sim: Simulation) -> None:
        sim.kill_after = after
        dev = sim.submit(ray_job("dev", seconds=40))
        await sim.until(lambda: sim.state(dev) in ("Running", "Complete"), "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes", 15)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes", 15)

    Simulation(after, local_stack()).run(story)


@pytest.mark.parametrize("stock_outs", [1, 3])
def test_a_stock_out_is_retried_with_growing_back_off(stock_outs: int) -> None:
    async def story(sim: Simulation) -> None:
        sim.cloud.stock_outs = stock_outs
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes", 10)
        created = [c for c in sim.api.journal[kinds.PROVISIONING_REQUESTS] if c.type == "ADDED"]
        attempts = [c.body["metadata"]["name"].rpartition("-")[2] for c in created]
        assert attempts == [str(n + 1) for n in range(stock_outs + 1)]
        failed = [c.time_ms for c in sim.api.journal[kinds.PROVISIONING_REQUESTS] if is_failed(c.body)]
        pauses = [c.time_ms - min(f for f in failed if f < c.time_ms) for c in created[1:]]
        assert [p >= 10_000 * 2**n for n, p in enumerate(pauses)] == [True] * stock_outs
        reserved = sim.history(kinds.WORKLOADS, lambda w: condition(w, "QuotaReserved").get("status"))
        assert reserved == [None, *["True", "False"] * stock_outs, "True"]
        started = next(c.time_ms for c in sim.api.journal[kinds.RAY_JOBS] if not c.body["spec"]["suspend"])
        assert started > max(failed)

    Simulation(stock_outs, local_stack(retry={"base_s": 10})).run(story)


def test_a_lasting_stock_out_ends_with_a_message_and_a_user_can_retry() -> None:
    async def story(sim: Simulation) -> None:
        sim.cloud.stock_outs = 3
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.waits(dev).startswith("Suspended"), "dev is out of the queue", 10)
        assert "out of stock: nvidia-l4" in sim.waits(dev)
        assert "recreate the job" in sim.waits(dev)
        await sim.until(lambda: not sim.requests() and not sim.reserved(), "all capacity is released")
        workload = sim.workload(dev)
        assert workload is not None
        sim.patch(kinds.WORKLOADS, f"team-a/{workload['metadata']['name']}", {"spec": {"active": True}})
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, local_stack(retry={"limit": 2})).run(story)


def test_capacity_for_half_a_gang_never_starts_half_a_gang() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: bool(sim.requests()), "capacity is asked for")
        await sim.stays(lambda: sim.job(dev)["spec"]["suspend"] and not sim.pods_of(dev), "it waits", 30)
        sim.cloud.nodes_max = 4
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, local_stack(), nodes=2).run(story)


WAITS = {
    "larger than the queue can ever have": (
        {"workers": 5},
        "ExceedsMaxQuota: needs 5 nvidia.com/gpu of flavor l4 but ClusterQueue team-a can have at most "
        "4: request less, or raise its quota",
    ),
    "unknown queue": (
        {"queue": "nowhere"},
        "Misconfigured: namespace team-a has no LocalQueue 'nowhere': choose one of user-queue",
    ),
    "unknown priority": (
        {"priority": "urgent"},
        "Misconfigured: WorkloadPriorityClass 'urgent' does not exist: choose one of dev-priority, "
        "prod-priority",
    ),
    "no requests": (
        {"worker": template("worker")},
        "Misconfigured: container 'worker' of pod set 'gpu' requests no resources: set resources.requests, "
        "so that admission can determine whether it fits",
    ),
    "a quantity below zero": (
        {"worker": template("worker", cpu=-2)},
        "Misconfigured: pod set 'gpu': '-2' is not a quantity of cpu: expected a number with an optional "
        "suffix, such as 500m, 4, 1.5Gi or 2e3",
    ),
    "can't be suspended": (
        {"shutdownAfterJobFinishes": False},
        "Misconfigured: KubeRay suspends a RayJob only with spec.shutdownAfterJobFinishes: true: set it and "
        "recreate the RayJob",
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_impossible_jobs_wait_with_a_message_and_block_no_other_job(name: str) -> None:
    fields, sentence = WAITS[name]

    async def story(sim: Simulation) -> None:
        bad = sim.submit(ray_job("bad", **fields))  # type: ignore[arg-type]  # a table's values
        await sim.until(lambda: sim.waits(bad) == sentence, sentence, why_not=lambda: sim.waits(bad))
        good = sim.submit(ray_job("good"))
        await sim.until(lambda: sim.state(good) == "Complete", "another job completes")
        assert sim.waits(bad) == sentence
        assert sim.pods_of(bad) == []
        warnings = [e for e in sim.api.all(kinds.EVENTS) if e["type"] == "Warning"]
        assert {e["reason"] for e in warnings} == {sentence.partition(":")[0]}
        assert len(warnings) == len({e["involvedObject"]["kind"] for e in warnings})

    Simulation(1, local_stack()).run(story)


def test_a_pod_that_is_larger_than_the_nodes_never_gets_quota() -> None:
    async def story(sim: Simulation) -> None:
        sized = {"metadata": {"annotations": {NODE_SIZES: '[{"cpu": "500m", "nvidia.com/gpu": "1"}]'}}}
        sim.patch(kinds.FLAVORS, "l4", sized)
        big = sim.submit(ray_job("big"))
        why = "l4 has 500m cpu for pods on its largest node, but a pod requests 2"
        await sim.until(lambda: why in sim.waits(big), why, why_not=lambda: sim.waits(big))
        assert sim.waits(big).startswith("NoMatchingFlavor: pod set gpu requests nvidia.com/gpu")
        await sim.stays(lambda: not sim.has(big, "QuotaReserved"), "it has no quota", 2)
        sim.patch(kinds.FLAVORS, "l4", {"metadata": {"annotations": {NODE_SIZES: None}}})
        await sim.until(lambda: sim.state(big) == "Complete", "it completes")

    Simulation(1, local_stack()).run(story)


@pytest.mark.parametrize("foreground", [False, True], ids=["background", "foreground"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_running_job_is_deleted_and_the_next_one_waits_for_its_pods(seed: int, foreground: bool) -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=1000))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        second = sim.submit(ray_job("second"))
        await sim.until(lambda: sim.waits(second).startswith("WaitingForQuota"), "the second waits")
        sim.api.delete(kinds.RAY_JOBS, first, "user", foreground=foreground)
        await sim.until(lambda: sim.state(second) == "Complete", "the second completes")
        assert sim.api.find(kinds.RAY_JOBS, first) is None

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_workload_of_a_running_job_is_deleted(seed: int) -> None:
    """The job stops, loses its place, and is queued again with a new Workload."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        before = sim.workload(dev)
        assert before is not None
        sim.api.delete(kinds.WORKLOADS, f"team-a/{before['metadata']['name']}", "user")
        await sim.until(lambda: sim.job(dev)["spec"]["suspend"], "dev is stopped")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        after = sim.workload(dev)
        assert after is not None
        assert after["metadata"]["uid"] != before["metadata"]["uid"]

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_user_suspends_a_running_job_by_hand(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev"))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        sim.patch(kinds.RAY_JOBS, dev, {"spec": {"suspend": True}})
        await sim.until(lambda: sim.state(dev) == "Suspended", "dev is suspended")
        await sim.until(lambda: sim.state(dev) == "Complete", "still admitted, dev starts again")

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_user_starts_a_waiting_job_by_hand(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=200))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        second = sim.submit(ray_job("second"))
        await sim.until(lambda: bool(sim.waits(second)), "the second waits")
        sim.patch(kinds.RAY_JOBS, second, {"spec": {"suspend": False}})
        await sim.until(lambda: sim.job(second)["spec"]["suspend"], "it is suspended again", 0.1)
        await sim.until(lambda: sim.state(second) == "Complete", "it has its turn", 10)

    Simulation(seed, local_stack()).run(story)


def test_a_ray_cluster_is_preempted_and_resumes() -> None:
    async def story(sim: Simulation) -> None:
        notebook = sim.submit(ray_cluster("notebook", workers=4))
        await sim.until(lambda: cluster_state(sim, notebook) == "ready", "the cluster is up")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        assert sim.api.get(kinds.RAY_CLUSTERS, notebook)["spec"]["suspend"] in (True, False)
        await sim.until(lambda: cluster_state(sim, notebook) == "ready", "the cluster is up again")
        suspended = sim.history(kinds.RAY_CLUSTERS, lambda c: (c["metadata"]["name"], c["spec"]["suspend"]))
        round_robin = [value for value, _ in groupby(s for name, s in suspended if name == "notebook")]
        assert round_robin == [True, False, True, False]

    Simulation(1, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_training_is_preempted_by_inference_and_resumes(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        training = sim.submit(ray_cluster("training", workers=4))
        await sim.until(lambda: cluster_state(sim, training) == "ready", "training runs")
        inference = sim.submit(ray_service("inference"))
        await sim.until(lambda: serves(sim, inference), "inference serves", 10)
        assert cluster_state(sim, training) == "suspended"
        await sim.until(lambda: sim.has(inference, "PodsReady", kinds.RAY_SERVICES), "its Workload is ready")
        sim.api.delete(kinds.RAY_SERVICES, inference, "user")
        await sim.until(lambda: cluster_state(sim, training) == "ready", "training runs again", 10)

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_service_is_preempted_and_resumes_as_its_user_wrote_it(seed: int) -> None:
    """The condition Ready may stay True during a suspension, so it must not be used."""

    async def story(sim: Simulation) -> None:
        written = ray_service("inference", workers=4, priority="dev-priority")
        inference = sim.submit(written)
        waiting = sim.api.get(kinds.RAY_SERVICES, inference)["spec"]
        await sim.until(lambda: serves(sim, inference), "inference serves", 10)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod runs", 10)
        service = sim.api.get(kinds.RAY_SERVICES, inference)
        assert without_nothing(service["spec"]) == without_nothing(waiting)
        assert not sim.has(inference, "Admitted", kinds.RAY_SERVICES)
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes", 10)
        await sim.until(lambda: sim.has(inference, "PodsReady", kinds.RAY_SERVICES), "it serves again", 10)

    Simulation(seed, local_stack()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_service_that_is_preempted_before_kuberay_has_started_it(seed: int) -> None:
    """Stopped too soon it would look stopped and release its quota, and then be started by an operator that
    still works on an old version."""

    async def story(sim: Simulation) -> None:
        sim.services.thinks_s_max = 20
        inference = sim.submit(ray_service("inference", workers=4, priority="dev-priority"))
        async with asyncio.timeout(300):
            while not starts(sim.services.busy_with):
                await asyncio.sleep(0.1)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes", 10)
        await sim.until(lambda: serves(sim, inference), "inference serves", 10)

    Simulation(seed, local_stack(check=False)).run(story)


def test_a_stopped_job_looks_as_its_user_wrote_it() -> None:
    async def story(sim: Simulation) -> None:
        written = ray_job("dev", seconds=60)
        dev = sim.submit(written)
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        worker = sim.job(dev)["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]
        assert worker["spec"]["nodeSelector"]["cloud.google.com/gke-nodepool"] == "l4"
        assert sim.job(dev)["spec"]["submitterPodTemplate"]["spec"]["nodeSelector"]
        sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(dev) == "Suspended", "dev is suspended")
        assert without_nothing(sim.job(dev)["spec"]) == without_nothing(written["spec"])

    Simulation(1, local_stack()).run(story)


def test_priority_and_queue_of_a_waiting_job_follow_its_labels() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=300, priority="prod-priority"))
        await sim.until(lambda: sim.state(first) == "Running", "the first runs")
        waiting = [sim.submit(ray_job(f"waiting{n}", seconds=1)) for n in range(2)]
        await sim.until(lambda: all(map(sim.waits, waiting)), "both wait")
        labels = {PRIORITY_LABEL: "prod-priority"}
        sim.patch(kinds.RAY_JOBS, waiting[1], {"metadata": {"labels": labels}})
        await sim.until(lambda: sim.state(waiting[1]) == "Complete", "the second is ahead", 10)
        assert sim.state(waiting[0]) == "Suspended"

    Simulation(1, local_stack()).run(story)


def state(job: Body) -> str:
    return str(job.get("status", {}).get("jobDeploymentStatus", ""))


def cluster_state(sim: Simulation, key: str) -> str:
    return str(sim.api.get(kinds.RAY_CLUSTERS, key).get("status", {}).get("state", ""))


def serves(sim: Simulation, key: str) -> bool:
    return is_ready(sim.api.get(kinds.RAY_SERVICES, key))


def starts(service: Body | None) -> bool:
    """Returns whether its cluster has a name, and should run."""
    named = service is not None and "pendingServiceStatus" in service.get("status", {})
    return named and not is_suspended(service or {})


def is_failed(request: Body) -> bool:
    return condition(request, "Failed").get("status") == "True"


def without_nothing(value: object) -> object:
    """Returns it without empty dicts and lists, which mean the same as missing values."""
    if isinstance(value, dict):
        retained = {k: without_nothing(v) for k, v in value.items()}
        return {k: v for k, v in retained.items() if v not in ({}, [])}
    return [without_nothing(v) for v in value] if isinstance(value, list) else value
