"""Timers: pods that are not ready, gangs that run too long, admissions one by one."""

from collections.abc import Iterator

from muster.kube import kinds
from muster.objects.meta import millis
from muster.objects.names import MAX_EXEC_TIME_LABEL
from tests.simulation.api import Body
from tests.simulation.invariants import condition, holds_quota
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation
from tests.simulation.waiting_clusters import nodes_that_never_join, turned, waiting

LATE_MS_MAX = 3000  # passes, writes and whole seconds; periodic polling would be far later


def lasting(seconds: int, name: str = "dev", **fields: object) -> Body:
    """Returns a job with a maximum run time, which would run for an hour."""
    body = ray_job(name, **{"seconds": 3600, **fields})  # type: ignore[arg-type]
    body["metadata"]["labels"][MAX_EXEC_TIME_LABEL] = str(seconds)
    return body


def test_gangs_whose_pods_are_late_release_their_quota_and_back_off() -> None:
    async def story(sim: Simulation) -> None:
        async with nodes_that_never_join(sim):
            dev = sim.submit(ray_job("dev"))
            await sim.until(lambda: bool(turned(sim, "Evicted", "PodsReadyTimeout")), "it is sent away", 10)
        (evicted_ms,) = turned(sim, "Evicted", "PodsReadyTimeout")
        (admitted_ms,) = turned(sim, "Admitted", "Admitted")
        assert 0 <= evicted_ms - admitted_ms - 300_000 <= LATE_MS_MAX
        evicted = condition(sim.workload(dev), "Evicted")
        assert evicted["message"].startswith("Exceeded the PodsReady timeout team-a/rayjob-dev-")
        await sim.until(lambda: not sim.reserved(), "its quota is free")
        await sim.until(lambda: sim.state(dev) == "Complete", "it completes", 10)
        (_, again_ms) = turned(sim, "QuotaReserved", "QuotaReserved")
        assert again_ms - evicted_ms >= 60_000
        assert turned(sim, "Requeued", "BackoffFinished")

    Simulation(1, local_stack(), configuration=waiting()).run(story)


def test_a_gang_that_is_never_ready_is_finally_deactivated() -> None:
    async def story(sim: Simulation) -> None:
        async with nodes_that_never_join(sim):
            dev = sim.submit(ray_job("dev"))
            await sim.until(lambda: sim.waits(dev).startswith("Suspended"), "it is out of the queue", 60)
        assert len(turned(sim, "Evicted", "PodsReadyTimeout")) == 2
        assert turned(sim, "Evicted", "DeactivatedDueToRequeuingLimitExceeded")
        assert "exceeding the maximum number of re-queuing retries" in sim.waits(dev)
        await sim.until(lambda: not sim.requests() and not sim.reserved(), "all quota is released")
        workload = sim.workload(dev)
        assert workload is not None
        assert "requeueState" not in workload["status"]
        sim.patch(kinds.WORKLOADS, f"team-a/{workload['metadata']['name']}", {"spec": {"active": True}})
        await sim.until(lambda: sim.state(dev) == "Complete", "it completes")

    Simulation(2, local_stack(), configuration=waiting(retries_max=2)).run(story)


def test_a_gang_that_runs_too_long_is_stopped() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(lasting(120))
        await sim.until(lambda: sim.has(dev, "QuotaReserved"), "dev is first")
        after = sim.submit(ray_job("after"))
        await sim.until(lambda: sim.state(after) == "Complete", "the next one completes", 10)
        (admitted_ms, _) = turned(sim, "Admitted", "Admitted")
        (over_ms,) = turned(sim, "DeactivationTarget", "MaximumExecutionTimeExceeded")
        assert 0 <= over_ms - admitted_ms - 120_000 <= LATE_MS_MAX
        assert "exceeding the maximum execution time" in sim.waits(dev)
        events = {(e["reason"], e["message"]) for e in sim.api.all(kinds.EVENTS)}
        assert ("MaximumExecutionTimeExceeded", "The maximum execution time (120s) exceeded") in events

    Simulation(3, local_stack()).run(story)


def test_time_is_counted_over_all_admissions() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(lasting(120))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority", seconds=60))
        await sim.until(lambda: sim.state(prod) == "Complete", "prod completes")
        await sim.until(lambda: sim.waits(dev).startswith("Suspended"), "dev is out of the queue", 10)
        (over_ms,) = turned(sim, "DeactivationTarget", "MaximumExecutionTimeExceeded")
        ran_ms = sum(until - since for since, until in admitted_spans(sim, "rayjob-dev-", over_ms))
        assert 0 <= ran_ms - 120_000 <= LATE_MS_MAX
        await sim.until(lambda: not sim.reserved(), "all quota is released")
        workload = sim.workload(dev)
        assert workload is not None
        assert "accumulatedPastExecutionTimeSeconds" not in workload["status"]
        sim.patch(kinds.WORKLOADS, f"team-a/{workload['metadata']['name']}", {"spec": {"active": True}})
        await sim.until(lambda: sim.state(dev) == "Running", "dev has all its time again")

    Simulation(4, local_stack()).run(story)


def admitted_spans(sim: Simulation, prefix: str, end_ms: int) -> Iterator[tuple[int, int]]:
    """Returns (start, end) of each admission of the Workloads with that name."""
    since_ms: int | None = None
    for change in sim.api.journal[kinds.WORKLOADS]:
        if not change.body["metadata"]["name"].startswith(prefix):
            continue
        admitted = condition(change.body, "Admitted")
        at_ms = millis(admitted.get("lastTransitionTime"))
        if since_ms is None and admitted.get("status") == "True" and at_ms < end_ms:
            since_ms = at_ms
        elif since_ms is not None and (admitted.get("status") != "True" or at_ms >= end_ms):
            yield since_ms, min(at_ms, end_ms)
            since_ms = None


def test_admissions_one_by_one() -> None:
    async def story(sim: Simulation) -> None:
        def starting() -> list[str]:
            held = [w for w in sim.api.all(kinds.WORKLOADS) if holds_quota(w)]
            return [w["metadata"]["name"] for w in held if condition(w, "PodsReady").get("status") != "True"]

        most = 0

        def count(_: object) -> None:
            nonlocal most
            most = max(most, len(starting()))

        sim.api.watchers.append(count)
        first = sim.submit(ray_job("first", seconds=300))
        second = sim.submit(ray_job("second", namespace="team-b", seconds=300))
        await sim.until(
            lambda: "WaitingForPodsReady" in sim.waits(first) + sim.waits(second), "one waits for the other"
        )
        await sim.until(
            lambda: sim.state(first) == sim.state(second) == "Running", "both run side by side", 10
        )
        assert most == 1

    Simulation(5, local_stack(), configuration=waiting(block_admission=True)).run(story)
