"""The journal of the real controller: its records of jobs, and forecasts from it."""

from pathlib import Path

import pytest

from muster.controller.journal.journal import Journal
from muster.forecast.traces.read import read
from muster.journal.files import JournalFiles
from muster.kube import kinds
from muster.objects.meta import millis
from tests.simulation.elastic_gangs import elastic, granted, platform, workers
from tests.simulation.invariants import condition
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_jobs_are_recorded_and_read_as_a_trace(seed: int, tmp_path: Path) -> None:
    files, failures = JournalFiles(tmp_path, "one"), []

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=60))
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        prod = sim.submit(ray_job("prod", priority="prod-priority", outcome="FAILED"))
        await sim.until(lambda: sim.state(prod) == "Failed", "prod fails")
        gone = sim.submit(ray_job("gone", workers=5))
        await sim.until(lambda: bool(sim.waits(gone)), "it waits")
        sim.api.delete(kinds.RAY_JOBS, gone, "user")
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")
        await sim.stays(lambda: True, "the last pass has ended", 1)
        for key in (dev, prod):
            workload = sim.workload(key)
            started_ms, finished_ms = (
                millis(condition(workload, kind)["lastTransitionTime"]) for kind in ("PodsReady", "Finished")
            )
            runs_ms[key] = finished_ms - started_ms

    runs_ms: dict[str, int] = {}
    sim = Simulation(seed, local_stack())
    sim.observer = Journal(
        lambda line: files.append(line, sim.wall_clock_ms()), lambda: failures.append("a pass")
    )
    sim.run(story)
    trace = read(tmp_path).trace
    assert not failures
    assert not trace.bad
    assert not trace.skipped  # none was recorded twice
    assert {job.name: job.run_ms for job in trace.jobs} == {**runs_ms, "team-a/gone": None}
    assert {job.name: job.priority_class for job in trace.jobs}["team-a/prod"] == "prod-priority"
    assert {job.queue for job in trace.jobs} == {"team-a"}
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    assert text.count('"reason":"Preempted"') == 1
    assert '"outcome":"Failed"' in text


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_sizes_of_an_autoscaled_job_are_its_demand_in_a_trace(seed: int, tmp_path: Path) -> None:
    files = JournalFiles(tmp_path, "one")

    async def story(sim: Simulation) -> None:
        dev = sim.submit(elastic("dev", least=1, asks=1, seconds=240))
        await sim.until(lambda: workers(sim, dev) == 1, "it has its minimum", 1)
        sim.autoscaler.demand["dev/gpu"] = 4
        await sim.until(lambda: workers(sim, dev) == 4, "it has grown", 2)
        sim.autoscaler.demand["dev/gpu"] = 2
        await sim.until(lambda: granted(sim, dev) == 2, "it has shrunk", 2)
        await sim.until(lambda: sim.state(dev) == "Complete", "it completes", 10)
        await sim.stays(lambda: True, "the last pass has ended", 1)

    sim = Simulation(seed, platform())
    sim.observer = Journal(lambda line: files.append(line, sim.wall_clock_ms()), lambda: None)
    sim.run(story)
    (job,) = read(tmp_path).trace.jobs
    assert job.elastic is not None
    (group,) = job.elastic.groups
    assert (group.name, group.minimum, group.maximum) == ("gpu", 1, 8)
    asked = [demand.asked for demand in group.demand]
    assert (asked[0], max(asked)) == (1, 4)
    assert asked[-1] in (1, 2), "two, or its minimum once its work has ended"
