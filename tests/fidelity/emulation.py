"""Plays a case with Muster's controller in virtual time, and records its decisions."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

from muster.configuration.configuration import parse
from muster.kube import kinds
from muster.objects.meta import millis
from tests.fidelity.cases import Case
from tests.fidelity.history import History, Holding, Job
from tests.simulation.api import Body, Change, key_of
from tests.simulation.cluster import Cloud, Kubelets
from tests.simulation.invariants import condition, holds_quota
from tests.simulation.kuberay import state_of
from tests.simulation.manifests import ray_job
from tests.simulation.simulation import Simulation

ENGINE = "Muster"
BEGINS_S = 30  # until the controller has read the platform
CLEANS_EVERY_S = 20.0
DAYS_MAX = 30
TOGETHER_S = 0.5


class SlowCloud(Cloud):
    """Provides the nodes of a request `delay_s` after it was accepted."""

    delay_s = 0.0

    def _provision(self, request: Body) -> None:
        accepted_ms = millis(condition(request, "Accepted")["lastTransitionTime"])
        if self._api.now_ms() >= accepted_ms + 1000 * self.delay_s:
            super()._provision(request)


@dataclass
class _Open:
    """A holding that has not ended."""

    reserved_s: float
    started_s: float | None = None
    preempted: bool = False


@dataclass
class Recorder:
    """Follows Workloads and RayJobs."""

    begins_ms: int
    holdings: list[Holding] = field(default_factory=list)
    _open: dict[str, _Open] = field(default_factory=dict)  # by job

    def note(self, change: Change) -> None:
        at_s = (change.time_ms - self.begins_ms) / 1000
        if change.kind is kinds.WORKLOADS:
            self._note_workload(change, at_s)
        elif change.kind is kinds.RAY_JOBS:
            self._note_job(change.body, at_s)

    def _note_workload(self, change: Change, at_s: float) -> None:
        job, workload = change.body["metadata"]["ownerReferences"][0]["name"], change.body
        holds = holds_quota(workload) and change.type != "DELETED"
        if holds and job not in self._open:
            self._open[job] = _Open(at_s)
        if job not in self._open:
            return
        self._open[job].preempted |= condition(workload, "Preempted").get("status") == "True"
        if not holds:
            held = self._open.pop(job)
            ended = Holding(job, held.reserved_s, held.started_s, at_s, held.preempted)
            self.holdings.append(ended)

    def _note_job(self, body: Body, at_s: float) -> None:
        held = self._open.get(body["metadata"]["name"])
        if held is not None and held.started_s is None and state_of(body) == "Running":
            held.started_s = at_s


def play(case: Case, seed: int = 1) -> History:
    """Plays it until no job is left."""
    nodes = 2 * case.gpus  # nodes are removed later than quota is released
    simulation = Simulation(seed, case.stack, nodes=nodes, configuration=parse(case.controller))
    cloud = simulation.cloud = SlowCloud(simulation.api, simulation.random_of("cloud"), nodes)
    cloud.delay_s = case.delay_s
    simulation.kubelets = Kubelets(simulation.api, simulation.random_of("kubelets"), cloud)
    recorder = Recorder(simulation.api.now_ms() + BEGINS_S * 1000)
    # The invariants are checked by other tests, and take most of the time of a long run.
    simulation.api.watchers[:] = [recorder.note]

    async def story(sim: Simulation) -> None:
        cleaning = asyncio.create_task(_clean(sim))
        last_s = 0.0
        await asyncio.sleep(BEGINS_S)
        for job in case.jobs:
            await asyncio.sleep(job.submit_s - last_s)
            last_s = job.submit_s
            sim.submit(_ray_job(job))
        await sim.until(lambda: not sim.api.all(kinds.RAY_JOBS), "all are done", DAYS_MAX * 24 * 60)
        cleaning.cancel()

    simulation.run(story)
    holdings = tuple(sorted(recorder.holdings, key=lambda h: h.reserved_s))
    return History(ENGINE, case.jobs, holdings, TOGETHER_S)


def play_all(cases: Sequence[Case]) -> list[History]:
    """Plays them on all cores, in their order."""
    context = get_context("fork")  # the cases are inherited instead of sent
    with ProcessPoolExecutor(os.cpu_count(), context, initializer=_shared.extend, initargs=(cases,)) as pool:
        return list(pool.map(_play_shared, range(len(cases))))


_shared: list[Case] = []


def _play_shared(number: int) -> History:
    return play(_shared[number])


def _ray_job(job: Job) -> Body:
    return ray_job(
        job.name,
        workers=job.workers,
        priority=job.priority_class,
        namespace=job.queue,
        seconds=job.run_s,
        submissionMode="HTTPMode",
    )


async def _clean(sim: Simulation) -> None:
    """Deletes finished jobs without pods, as tenants do, because a pass examines every existing job."""
    while True:
        await asyncio.sleep(CLEANS_EVERY_S)
        for job in sim.api.all(kinds.RAY_JOBS):
            key = key_of(job)
            if state_of(job) == "Complete" and sim.has(key, "Finished") and not sim.pods_of(key):
                sim.api.delete(kinds.RAY_JOBS, key, "tenant")
        for event in sim.api.all(kinds.EVENTS):
            sim.api.delete(kinds.EVENTS, key_of(event), "tenant")
