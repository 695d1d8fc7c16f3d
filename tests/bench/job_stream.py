"""Submits many RayJobs to a running sandbox, finishes each once it is started, and records when each was
submitted, admitted and finished.

In place of KubeRay, which must be stopped, a started RayJob is reported as succeeded immediately.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import TypeVar

from muster.kube.client import Kube, WriteError
from muster.kube.kinds import RAY_JOBS, WORKLOADS, Kind
from muster.kube.reflector import Reflector
from muster.kube.store import Store
from muster.kube.writes import Create, MergePatch
from muster.objects.kueue import Workload
from muster.objects.meta import Object
from muster.objects.ray import RayJob
from muster.objects.workload_status import is_admitted, is_finished
from tests.bench.ray_jobs import NAMESPACE, ray_job

log = logging.getLogger(__name__)
T = TypeVar("T", bound=Object)

SUBMITTERS = 20
"""Submissions at the same time, each of which waits for its answer."""
QUIET_S_MAX = 60.0
"""Without any admission or finish in this time, the RayJobs that are left are lost."""
LOOK_S = 0.1
CLOSE_S = 0.25
SUCCEEDED = {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}}


@dataclass(frozen=True)
class Stream:
    """RayJobs that are submitted one after another: `per_second`, or as fast as they are accepted, if 0."""

    name: str
    jobs: int
    per_second: float = 0.0

    @property
    def names(self) -> list[str]:
        return [f"{self.name}-{number}" for number in range(self.jobs)]


@dataclass
class History:
    """Times of a stream's RayJobs by name, in seconds of the monotonic clock. `began_s` is that of the first
    submission."""

    stream: Stream
    began_s: float
    submitted_s: dict[str, float] = field(default_factory=dict)
    accepted_s: dict[str, float] = field(default_factory=dict)
    admitted_s: dict[str, float] = field(default_factory=dict)
    finished_s: dict[str, float] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """RayJobs that the API server accepted, and of which the Workload was never finished."""
        return len(self.accepted_s.keys() - self.finished_s.keys())

    @property
    def accepted_per_second(self) -> float:
        return len(self.accepted_s) / (max(self.accepted_s.values()) - self.began_s)

    @property
    def took_s(self) -> float:
        """Until the last finish."""
        return max(self.finished_s.values(), default=self.began_s) - self.began_s

    def wait_s(self, percent: int) -> float:
        """Returns a percentile of the time from submission to admission; infinite without two admissions."""
        waits = [at_s - self.submitted_s[name] for name, at_s in self.admitted_s.items()]
        if len(waits) < 2:
            return float("inf")
        return quantiles(waits, n=100, method="inclusive")[percent - 1]


def play(kubeconfig: Path, stream: Stream) -> History:
    """Submits a stream. Returns its history once all are finished, or nothing has happened for QUIET_S_MAX.
    Raises: WriteError if a submission is refused."""
    return asyncio.run(_play(str(kubeconfig), stream))


async def _play(kubeconfig: str, stream: Stream) -> History:
    # Two pools of connections: what is finished does not wait for what is submitted.
    async with connected(kubeconfig) as submits, connected(kubeconfig) as finishes:
        playing = _Play(stream, finishes)
        followers = [asyncio.create_task(reflector.run()) for reflector in playing.reflectors]
        try:
            await asyncio.gather(*(reflector.synced.wait() for reflector in playing.reflectors))
            await _submit(stream, submits, playing.history)
            await playing.end()
        finally:
            for follower in followers:
                follower.cancel()
            await asyncio.gather(*followers, return_exceptions=True)
    return playing.history


@asynccontextmanager
async def connected(kubeconfig: str) -> AsyncIterator[Kube]:
    """Yields a client with its own connections."""
    kube = Kube(kubeconfig)
    try:
        yield kube
    finally:
        await kube.close()
        await asyncio.sleep(CLOSE_S)  # aiohttp does not wait until connections with TLS are closed


async def _submit(stream: Stream, kube: Kube, history: History) -> None:
    """Creates the RayJobs; one whose turn comes while all submitters wait is late."""
    turns = iter(enumerate(stream.names))
    history.began_s = time.monotonic()

    async def submitter() -> None:
        for number, name in turns:
            if stream.per_second:
                await asyncio.sleep(history.began_s + number / stream.per_second - time.monotonic())
            history.submitted_s[name] = time.monotonic()
            await kube.perform(Create(RAY_JOBS, ray_job(name)))
            history.accepted_s[name] = time.monotonic()

    await asyncio.gather(*(submitter() for _ in range(SUBMITTERS)))


class _Play:
    """Records the events of a stream, and finishes each RayJob when it starts."""

    def __init__(self, stream: Stream, kube: Kube) -> None:
        self.history = History(stream, time.monotonic())
        self._kube = kube
        self._names = set(stream.names)
        self._jobs = Store[RayJob]()
        self._finishing: dict[str, asyncio.Task[None]] = {}
        self._last_s = 0.0
        self.reflectors = (
            self._reflector(RAY_JOBS, self._jobs, self._see_job),
            self._reflector(WORKLOADS, Store[Workload](), self._see_workload),
        )

    def _reflector(self, kind: Kind[T], store: Store[T], see: Callable[[T], None]) -> Reflector[T]:
        def changed() -> None:
            keys = store.take_changed()
            for key in list(store.items) if keys is None else keys:
                if (obj := store.items.get(key)) is not None and obj.metadata.namespace == NAMESPACE:
                    see(obj)

        return Reflector(self._kube, kind, store, changed)

    async def end(self) -> None:
        """Returns once all are finished, or nothing has happened for QUIET_S_MAX."""
        self._last_s = time.monotonic()
        while self.history.lost and time.monotonic() < self._last_s + QUIET_S_MAX:
            await asyncio.sleep(LOOK_S)

    def _see_job(self, job: RayJob) -> None:
        name = job.metadata.name
        if name in self._names and name not in self._finishing and _runs(job):
            self._finishing[name] = asyncio.create_task(self._finish(job.key))

    async def _finish(self, key: str) -> None:
        while (job := self._jobs.items.get(key)) is not None and _runs(job):
            version = job.metadata.resource_version
            try:
                await self._kube.perform(MergePatch(RAY_JOBS, key, SUCCEEDED, version, status=True))
                return
            except WriteError as error:
                log.info("%s; again in %.1f s", error, LOOK_S)
                await asyncio.sleep(LOOK_S)

    def _see_workload(self, workload: Workload) -> None:
        owner = workload.metadata.controller
        if owner is None or owner.name not in self._names:
            return
        for finished_, times_s in (
            (is_admitted(workload.status), self.history.admitted_s),
            (is_finished(workload.status), self.history.finished_s),
        ):
            if finished_ and owner.name not in times_s:
                times_s[owner.name] = self._last_s = time.monotonic()


def _runs(job: RayJob) -> bool:
    return not job.spec.suspend and not job.status.job_deployment_status
