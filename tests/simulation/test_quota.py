"""Quota stays with its Workload, whatever tenants and administrators do, and lingering pods."""

import asyncio
from typing import Any

import pytest

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.names import WORKLOAD_UID_LABEL
from muster.objects.ray import CLUSTER_LABEL, GROUP_LABEL
from tests.simulation.api import Body, Change, Refused, key_of
from tests.simulation.invariants import Broken, condition
from tests.simulation.kube import Faults
from tests.simulation.manifests import (
    cluster_queue,
    group,
    local_queue,
    local_stack,
    quotas,
    ray_job,
    stack,
    template,
)
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_of_another_team_does_not_keep_a_victims_quota_held(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=600))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        workload = sim.workload(dev)
        assert workload is not None
        labels = {WORKLOAD_UID_LABEL: workload["metadata"]["uid"]}
        pod = {"metadata": {"name": "squatter", "namespace": "team-b", "labels": labels}}
        sim.api.create(kinds.PODS, {**pod, "spec": {}, "status": {"phase": "Running"}}, "team-b")
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.state(prod) == "Running", "prod has dev's quota", 2)

    Simulation(seed, local_stack(check=False)).run(story)


@pytest.mark.parametrize(
    "labels", [{}, {CLUSTER_LABEL: None, GROUP_LABEL: None}], ids=["labelled", "unlabelled"]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_pods_that_lost_their_owners_count_until_they_are_deleted(seed: int, labels: dict[str, None]) -> None:
    """KubeRay creates each again; after the job's deletion no garbage collector deletes the old ones."""

    def uids(sim: Simulation) -> set[str]:
        return {pod["metadata"]["uid"] for pod in sim.api.all(kinds.PODS)}

    def lose(sim: Simulation) -> set[str]:
        for pod in sim.api.all(kinds.PODS):
            sim.patch(kinds.PODS, key_of(pod), {"metadata": {"ownerReferences": None, "labels": labels}})
        return uids(sim)

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=10_000))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        sim.invariants.distrust(sim.api.get(kinds.RAY_JOBS, dev))  # both run until the old ones have ended
        lost = lose(sim)
        await sim.until(lambda: not lost & uids(sim), "the old ones are deleted", 1)
        await sim.until(lambda: live_gpus(sim) == 4, "others run in their place")
        lose(sim)
        sim.api.delete(kinds.RAY_JOBS, dev, "user")
        await sim.until(lambda: used_gpus(sim) == "0", "its quota is released", 3)
        assert live_gpus(sim) == 0, "not before its pods are deleted"

    Simulation(seed, local_stack(check=False)).run(story)


CPU = quotas("cpu", cpu=64, memory="256Gi", gpu=0)
RECLAIMS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def gpus(nominal: object, name: str = "team-a", **spec: Any) -> Body:
    """Returns a ClusterQueue in cohort ml."""
    return cluster_queue(name, CPU, quotas("l4", cpu=64, memory="256Gi", gpu=nominal), **spec)


def live_gpus(sim: Simulation) -> int:
    pods = (p for p in sim.api.all(kinds.PODS) if p["status"]["phase"] not in ("Succeeded", "Failed"))
    return sum("nvidia.com/gpu" in str(p["spec"]) for p in pods)


def used_gpus(sim: Simulation, queue: str = "team-a") -> str:
    """Returns the usage in the ClusterQueue's status."""
    status = sim.api.get(kinds.CLUSTER_QUEUES, queue).get("status", {})
    totals = {
        (f["name"], r["name"]): str(r["total"])
        for f in status.get("flavorsReservation", [])
        for r in f["resources"]
    }
    return totals.get(("l4", "nvidia.com/gpu"), "0")


def watch_gpus(sim: Simulation, most: int) -> None:
    """Fails the simulation once more GPUs are in use."""

    def check(change: Change) -> None:
        if change.kind is kinds.PODS and live_gpus(sim) > most:
            raise Broken(f"{live_gpus(sim)} GPUs are in use, on a quota of {most}")

    sim.api.watchers.append(check)


ROUGH = Faults(killed=0.03, lost_answer=0.02, watch_lag_s=1.0)
NO_PREEMPTION: dict[str, Any] = {}
DAY_S = 86_400


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("preemption", [NO_PREEMPTION, RECLAIMS])
def test_pods_of_a_finished_job_count_until_their_quota_is_needed(
    seed: int, preemption: dict[str, Any]
) -> None:
    """KubeRay keeps them for ttlSecondsAfterFinished; the Workload is Finished immediately."""

    async def story(sim: Simulation) -> None:
        watch_gpus(sim, 4)
        first = sim.submit(
            ray_job("first", priority="prod-priority", seconds=5, ttlSecondsAfterFinished=DAY_S)
        )
        await sim.until(lambda: sim.has(first, "Finished"), "it is finished")
        await sim.until(lambda: used_gpus(sim) == "4", "its pods count")
        await sim.stays(lambda: (live_gpus(sim), used_gpus(sim)) == (4, "4"), "they stay, and count", 2)
        second = sim.submit(ray_job("second", seconds=5))
        await sim.until(lambda: sim.state(second) == "Complete", "the second has its turn")
        assert not condition(sim.workload(first), "Evicted")
        await sim.until(lambda: used_gpus(sim) == "0", "all quota is released")

    queue = gpus({"nominalQuota": "4", "borrowingLimit": "0"}, preemption=preemption)
    Simulation(seed, stack(queue), faults=ROUGH).run(story)


def test_finished_gangs_are_preempted_before_running_ones() -> None:
    async def story(sim: Simulation) -> None:
        watch_gpus(sim, 8)
        ends = sim.submit(ray_job("ends", priority="prod-priority", seconds=5, ttlSecondsAfterFinished=DAY_S))
        runs = sim.submit(ray_job("runs", seconds=600))
        await sim.until(lambda: sim.has(ends, "Finished") and sim.state(runs) == "Running", "one of two ends")
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=5))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        assert not condition(sim.workload(runs), "Preempted")

    Simulation(1, stack(gpus(8, preemption=RECLAIMS))).run(story)


def test_pods_of_a_finished_job_stay_for_their_ttl_if_no_job_needs_them() -> None:
    async def story(sim: Simulation) -> None:
        first = sim.submit(ray_job("first", seconds=5, ttlSecondsAfterFinished=120))
        await sim.until(lambda: sim.has(first, "Finished"), "it is finished")
        second = sim.submit(ray_job("second", seconds=5))
        await sim.until(lambda: sim.state(second) == "Complete", "there is quota for both")
        await sim.until(lambda: live_gpus(sim) == 4, "the second's pods are deleted immediately")
        await sim.until(lambda: live_gpus(sim) == 0 and used_gpus(sim) == "0", "then they go", 4)

    Simulation(1, stack(gpus(8))).run(story)


def test_a_submitter_that_outlives_its_job_releases_quota_that_is_needed() -> None:
    """A user's submitter may run on, and its Job would recreate each deleted pod."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", ttlSecondsAfterFinished=3600))
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        (submitter,) = [p for p in sim.pods_of(dev) if "submitter" in p["metadata"]["name"]]
        sim.api.merge_patch(kinds.PODS, key_of(submitter), {"status": {"phase": "Running"}}, "kubelet", True)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.has(prod, "Admitted"), "prod has the quota", 3)
        await sim.stays(lambda: not runs(sim, dev), "none of its pods comes again", 1)

    def runs(sim: Simulation, key: str) -> bool:
        return any(pod["status"]["phase"] == "Running" for pod in sim.pods_of(key))

    Simulation(1, local_stack(check=False)).run(story)


def preempted(sim: Simulation, key: str) -> bool:
    return bool(condition(sim.workload(key), "Preempted"))


def priorities(sim: Simulation, *keys: str) -> set[int]:
    return {int((sim.workload(key) or {"spec": {"priority": -1}})["spec"]["priority"]) for key in keys}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("value", [10, 1500])
def test_a_changed_class_changes_all_its_jobs_at_once(seed: int, value: int) -> None:
    """The change applies to waiting and running jobs, so jobs of one class never preempt each other."""

    async def story(sim: Simulation) -> None:
        running = sim.submit(ray_job("running", seconds=1000))
        await sim.until(lambda: sim.state(running) == "Running", "one runs")
        waiting = [sim.submit(ray_job(f"waiting{n}")) for n in range(3)]
        await sim.until(lambda: all(map(sim.waits, waiting)), "the others wait")
        sim.api.merge_patch(kinds.PRIORITIES, "dev-priority", {"value": value}, "administrator", False)
        later = sim.submit(ray_job("later"))
        everybody = (running, *waiting, later)
        await sim.until(lambda: priorities(sim, *everybody) == {value}, "all are notified")
        assert condition(sim.workload(running), "Admitted").get("status") == "True"
        await sim.stays(lambda: not preempted(sim, running), "it runs on", 1)
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        if value < 1000:
            await sim.until(lambda: preempted(sim, running), "a higher class goes first")
        else:
            await sim.stays(lambda: not preempted(sim, running), "a lower class waits", 1)
        assert sim.waits(prod) or value < 1000

    Simulation(seed, stack(gpus(4, preemption=RECLAIMS)), faults=ROUGH).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_without_a_label_get_the_class_named_default(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        running = sim.submit(ray_job("running", priority="", seconds=1000))
        await sim.until(lambda: sim.state(running) == "Running", "one runs")
        waiting = sim.submit(ray_job("waiting", priority=""))
        await sim.until(lambda: bool(sim.waits(waiting)), "one waits")
        assert priorities(sim, running, waiting) == {0}
        default = {"metadata": {"name": "default"}, "value": 500}
        sim.api.create(kinds.PRIORITIES, default, "administrator")
        later = sim.submit(ray_job("later", priority=""))
        await sim.until(lambda: priorities(sim, running, waiting, later) == {500}, "all have it")
        dev = sim.submit(ray_job("dev"))
        await sim.stays(lambda: not preempted(sim, running), "no preemption", 1)
        assert priorities(sim, dev) == {100}
        assert (sim.workload(later) or {})["spec"]["priorityClassRef"]["name"] == "default"

    Simulation(seed, stack(gpus(4, preemption=RECLAIMS)), faults=ROUGH).run(story)


def no_workloads_of_team_a(kind: Kind[Any], body: Body) -> str:
    if kind is kinds.WORKLOADS and body["metadata"]["namespace"] == "team-a":
        return "spec.podSets: Too many: 9: must have at most 8 items"
    return ""


def quota_took_ms(sim: Simulation, key: str) -> int:
    """Returns the time from the job's creation to its quota reservation."""
    first = next(c for c in sim.api.journal[kinds.RAY_JOBS] if key_of(c.body) == key)
    workload = sim.workload(key)
    assert workload is not None
    reserved = next(
        c
        for c in sim.api.journal[kinds.WORKLOADS]
        if key_of(c.body) == key_of(workload) and condition(c.body, "QuotaReserved").get("status") == "True"
    )
    return reserved.time_ms - first.time_ms


def events(sim: Simulation, key: str, reason: str) -> list[Body]:
    events = (e for e in sim.api.all(kinds.EVENTS) if e["reason"] == reason)
    return [e for e in events if f"{e['involvedObject']['namespace']}/{e['involvedObject']['name']}" == key]


REJECTED = 150


def test_jobs_whose_workload_is_rejected_delay_no_other_job() -> None:
    """New ones arrive continuously, so that a creation is refused in every pass."""

    async def story(sim: Simulation) -> None:
        sim.api.refusal = no_workloads_of_team_a
        rejected: list[str] = []

        async def submit_them() -> None:
            for number in range(REJECTED):
                rejected.append(sim.submit(ray_job(f"bad{number}", workers=0)))
                await asyncio.sleep(0.02)

        submitting = asyncio.create_task(submit_them())
        await asyncio.sleep(0.5)
        good = sim.submit(ray_job("good", namespace="team-b", seconds=1))
        await sim.until(lambda: sim.state(good) == "Complete", "it ends")
        assert quota_took_ms(sim, good) < 500
        await submitting
        await sim.until(lambda: len(rejected_jobs(sim)) == REJECTED, "all are notified")
        assert set(rejected_jobs(sim)) == set(rejected)

    def rejected_jobs(sim: Simulation) -> list[str]:
        """Returns the jobs with an event about the rejection, each once."""
        events = [e for e in sim.api.all(kinds.EVENTS) if e["reason"] == "FailedCreate"]
        assert all("must have at most 8 items" in e["message"] for e in events)
        return [f"team-a/{e['involvedObject']['name']}" for e in events]

    Simulation(1, stack(gpus(4), gpus(4, "team-b"))).run(story)


def test_an_empty_queue_label_is_reported_on_the_job() -> None:
    async def story(sim: Simulation) -> None:
        body = ray_job("dev")
        body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = ""
        dev = sim.submit(body)
        await sim.until(lambda: bool(events(sim, dev, "Misconfigured")), "it has an event")
        await sim.stays(lambda: len(events(sim, dev, "Misconfigured")) == 1, "and not all the time", 20)
        (reported_events,) = events(sim, dev, "Misconfigured")
        assert "choose one of user-queue" in reported_events["message"]
        await sim.until(lambda: len(events(sim, dev, "Misconfigured")) == 2, "but again while it lasts", 20)

    Simulation(1, stack(gpus(4))).run(story)


def test_a_too_long_quantity_is_reported_on_the_job() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", worker=template("worker", cpu="1" * 50_000)))
        await sim.until(lambda: bool(events(sim, dev, "Misconfigured")), "it has an event")
        assert "is not a quantity of cpu" in sim.waits(dev)
        assert len(sim.waits(dev)) < 400

    Simulation(1, stack(gpus(4))).run(story)


TWICE = [  # one resource in two groups
    {"coveredResources": ["cpu", "memory", "nvidia.com/gpu"], "flavors": [CPU]},
    {"coveredResources": ["nvidia.com/gpu"], "flavors": [quotas("l4", gpu=4)]},
]
UNREADABLE = {
    "a negative quota": [group(CPU, quotas("l4", cpu=64, memory="256Gi", gpu=-4))],
    "a quantity that can't be parsed": [group(CPU, quotas("l4", cpu=64, memory="256Gi", gpu="four"))],
    "one resource in two groups": TWICE,
}


def shared() -> dict[Kind[Any], list[Body]]:
    """Returns a platform whose 8 GPUs belong to the cohort; each team may use all."""
    cohort = {"resourceGroups": [group(quotas("l4", cpu=64, memory="256Gi", gpu=8))]}
    objects = stack(gpus(0), gpus(0, "team-b"), gpus(0, "team-c"))
    return {**objects, kinds.COHORTS: [{"metadata": {"name": "ml"}, "spec": cohort}]}


def is_active(sim: Simulation) -> bool:
    return condition(sim.api.get(kinds.CLUSTER_QUEUES, "team-a"), "Active").get("status") == "True"


async def one_gang_of_team_a(sim: Simulation) -> str:
    """Starts it on half of the GPUs; from then on, more than all in use break the simulation."""
    watch_gpus(sim, 8)
    dev = sim.submit(ray_job("dev", seconds=400))
    await sim.until(lambda: sim.state(dev) == "Running", "team-a has 4 of 8 GPUs")
    return dev


async def others_get_the_rest(sim: Simulation, dev: str) -> None:
    """Checks the usage after the change of team-a's queue and a restart of the controller."""
    sim.kill()
    others = [sim.submit(ray_job(f"b{n}", namespace="team-b", seconds=60)) for n in range(3)]
    await sim.until(
        lambda: any(sim.state(key) == "Running" for key in others), "team-b has the remaining quota"
    )
    await sim.stays(lambda: live_gpus(sim) <= 8 and sim.state(dev) == "Running", "no more than there is", 0.5)
    await sim.until(lambda: sim.state(dev) == "Complete", "team-a's gang ends in peace", 10)
    await sim.until(lambda: all(sim.state(key) == "Complete" for key in others), "the others have all", 10)


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_invalid_queue_still_counts_in_its_cohort(name: str, seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = await one_gang_of_team_a(sim)
        spec = {"spec": {"resourceGroups": UNREADABLE[name]}}
        sim.api.merge_patch(kinds.CLUSTER_QUEUES, "team-a", spec, "administrator", False)
        await sim.until(lambda: not is_active(sim), "the queue is inactive")
        late = sim.submit(ray_job("late", seconds=1))
        await sim.until(lambda: "can't admit workloads" in sim.waits(late), "nothing enters it")
        await others_get_the_rest(sim, dev)
        assert "can't admit workloads" in sim.waits(late)
        good = {"spec": gpus(0)["spec"]}
        sim.api.merge_patch(kinds.CLUSTER_QUEUES, "team-a", good, "administrator", False)
        await sim.until(lambda: sim.state(late) == "Complete", "once corrected, it does again")

    Simulation(seed, shared(), faults=ROUGH).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deleted_queue_stays_until_its_gangs_have_ended(seed: int) -> None:
    """The queue's flavors stay too. Then it may be recreated under the same name."""

    async def story(sim: Simulation) -> None:
        dev = await one_gang_of_team_a(sim)
        sim.api.delete(kinds.CLUSTER_QUEUES, "team-a", "administrator")
        sim.api.delete(kinds.FLAVORS, "l4", "administrator")
        with pytest.raises(Refused, match="already exists"):
            sim.api.create(kinds.CLUSTER_QUEUES, gpus(8), "administrator")
        await sim.until(lambda: not is_active(sim), "the queue is inactive")
        late = sim.submit(ray_job("late", seconds=1))
        await sim.until(lambda: "being deleted" in sim.waits(late), "nothing enters it")
        await others_get_the_rest(sim, dev)
        await sim.until(lambda: sim.api.find(kinds.CLUSTER_QUEUES, "team-a") is None, "then it goes")
        assert sim.api.find(kinds.FLAVORS, "l4") is not None, "others name it"
        sim.api.create(kinds.CLUSTER_QUEUES, gpus(0), "administrator")
        await sim.until(lambda: sim.state(late) == "Complete", "and comes again")

    Simulation(seed, shared(), faults=ROUGH).run(story)


@pytest.mark.parametrize("comes_again", [False, True])
def test_a_queue_whose_finalizer_was_removed_by_force(comes_again: bool) -> None:
    """The queue is deleted, but its running gang still counts for its flavors."""

    async def story(sim: Simulation) -> None:
        dev = await one_gang_of_team_a(sim)
        sim.api.remove(kinds.CLUSTER_QUEUES, "team-a", "administrator")
        if comes_again:
            await asyncio.sleep(1)
            sim.api.create(kinds.CLUSTER_QUEUES, gpus(0), "administrator")
        await others_get_the_rest(sim, dev)

    Simulation(1, shared()).run(story)


def test_an_invalid_cohort_keeps_its_place_in_the_tree() -> None:
    """Usage of the cohort's queues and its valid quotas count at the root."""
    division = {"metadata": {"name": "division"}, "spec": {"parentName": "ml"}}
    objects = shared()
    objects[kinds.COHORTS].append(division)
    objects[kinds.CLUSTER_QUEUES][0] = gpus(0, cohort="division")

    async def story(sim: Simulation) -> None:
        dev = await one_gang_of_team_a(sim)
        wrong = {"spec": {"resourceGroups": [group(quotas("l4", cpu="many", memory="1Gi", gpu=0))]}}
        sim.api.merge_patch(kinds.COHORTS, "division", wrong, "administrator", False)
        await others_get_the_rest(sim, dev)

    Simulation(1, objects).run(story)


def test_a_deleted_or_changed_local_queue_moves_no_running_gang() -> None:
    async def story(sim: Simulation) -> None:
        dev = await one_gang_of_team_a(sim)
        sim.api.delete(kinds.LOCAL_QUEUES, "team-a/user-queue", "administrator")
        await sim.stays(lambda: sim.state(dev) == "Running" and used_gpus(sim) == "4", "it counts", 0.5)
        sim.api.create(kinds.LOCAL_QUEUES, local_queue("team-a", "team-c"), "administrator")
        await others_get_the_rest(sim, dev)

    Simulation(1, shared()).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_that_kuberay_created_twice_are_deleted(seed: int) -> None:
    """The first set continues, and the job ends normally."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        sim.invariants.distrust(sim.job(dev))  # its pods briefly exceed its quota
        await asyncio.sleep(5)
        before = sorted(key_of(pod) for pod in sim.api.all(kinds.PODS))
        (cluster,) = sim.api.all(kinds.RAY_CLUSTERS)
        sim.kuberay.make_pods_twice(cluster)
        assert len(sim.api.all(kinds.PODS)) == len(before) + 5
        await sim.until(lambda: sorted(key_of(pod) for pod in sim.api.all(kinds.PODS)) == before, "gone", 0.5)
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(seed, local_stack()).run(story)
