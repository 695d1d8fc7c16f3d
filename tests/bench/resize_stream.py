"""Changes the sizes of many autoscaled RayClusters in a running sandbox, as their autoscalers would, and
records when each change was asked for and granted.

KubeRay must be stopped: there are no pods, so quota of removed workers is free immediately.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import quantiles
from typing import Any

from muster.kube.client import Kube, WriteError
from muster.kube.kinds import RAY_CLUSTERS, WORKLOADS
from muster.kube.reflector import Reflector
from muster.kube.store import Store
from muster.kube.writes import Create, JsonPatch
from muster.objects import workload_status
from muster.objects.kueue import Workload
from muster.objects.names import ELASTIC_ANNOTATION
from muster.objects.ray import RayCluster
from tests.bench.job_stream import SUBMITTERS, connected
from tests.bench.ray_jobs import GROUP, NAMESPACE, ray_cluster

SIZES = 8  # from one worker to as many as this
STEP = 3  # so that each change is one, up or down
READY_S_MAX = 900.0
LOOK_S = 0.1


@dataclass(frozen=True)
class Resizes:
    """`rounds` changes of each of `clusters` RayClusters, one every `every_s` seconds."""

    clusters: int
    rounds: int
    every_s: float = 10.0

    @property
    def names(self) -> list[str]:
        return [f"elastic-{number}" for number in range(self.clusters)]

    @property
    def changes(self) -> int:
        return self.clusters * self.rounds

    @property
    def first_sizes(self) -> dict[str, int]:
        """The workers of each cluster at its creation."""
        return {name: self.workers(number, -1) for number, name in enumerate(self.names)}

    def workers(self, number: int, turn: int) -> int:
        """Returns the workers of a cluster after its change of this turn, 0 being the first."""
        return 1 + (number * 5 + (turn + 1) * STEP) % SIZES


@dataclass
class Sizing:
    """Times of changes, in seconds of the monotonic clock. `overtaken`: changes that were not granted before
    the next one of the same cluster, or until the end."""

    resizes: Resizes
    granted_after_s: list[float] = field(default_factory=list)
    late_s: list[float] = field(default_factory=list)
    overtaken: int = 0
    took_s: float = 0.0

    def wait_s(self, percent: int) -> float:
        """Returns a percentile of the time from the request to its grant; infinite if it was overtaken."""
        waits = sorted([*self.granted_after_s, *[inf] * self.overtaken])
        return waits[min(len(waits) - 1, len(waits) * percent // 100)] if waits else inf

    @property
    def late_p99_s(self) -> float:
        """The delay of this process behind its schedule."""
        return quantiles(self.late_s, n=100, method="inclusive")[98]


class Sizer:
    """Creates the RayClusters, and changes their sizes."""

    def __init__(self, kubeconfig: Path, resizes: Resizes) -> None:
        self._kubeconfig, self._resizes = str(kubeconfig), resizes
        self._clusters, self._workloads = Store[RayCluster](), Store[Workload]()
        self._granted: dict[str, int] = {}  # workers by cluster
        self._asked: dict[str, tuple[int, float]] = {}  # workers, and when they were asked for
        self._sizing = Sizing(resizes)

    def start(self) -> None:
        """Creates the RayClusters, and waits until all have started."""
        asyncio.run(self._connected(self._create))

    def play(self) -> Sizing:
        """Plays all changes of the started RayClusters."""
        asyncio.run(self._connected(self._change))
        return self._sizing

    async def _connected(self, part: Callable[[Kube], Awaitable[None]]) -> None:
        async with connected(self._kubeconfig) as kube, connected(self._kubeconfig) as watching:
            reflectors: tuple[Reflector[Any], ...] = (
                Reflector(watching, RAY_CLUSTERS, self._clusters, lambda: None),
                Reflector(watching, WORKLOADS, self._workloads, self._see_workloads),
            )
            followers = [asyncio.create_task(reflector.run()) for reflector in reflectors]
            try:
                await asyncio.gather(*(reflector.synced.wait() for reflector in reflectors))
                await part(kube)
            finally:
                for follower in followers:
                    follower.cancel()
                await asyncio.gather(*followers, return_exceptions=True)

    async def _create(self, kube: Kube) -> None:
        sizes = self._resizes.first_sizes
        turns = iter(sizes.items())

        async def creator() -> None:
            for name, workers in turns:
                await kube.perform(Create(RAY_CLUSTERS, ray_cluster(name, workers, SIZES)))

        await asyncio.gather(*(creator() for _ in range(SUBMITTERS)))
        deadline_s = time.monotonic() + READY_S_MAX
        while waiting := [name for name, workers in sizes.items() if not self._is_ready(name, workers)]:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{len(waiting)} RayClusters did not start within {READY_S_MAX:.0f} s")
            await asyncio.sleep(LOOK_S)

    def _is_ready(self, name: str, workers: int) -> bool:
        """Returns whether it has started with these workers, and may grow to its own maximum."""
        cluster = self._clusters.items.get(f"{NAMESPACE}/{name}")
        if cluster is None or cluster.spec.suspend or self._granted.get(name) != workers:
            return False
        return cluster.spec.worker_group_specs[0].max_replicas == SIZES

    async def _change(self, kube: Kube) -> None:
        resizes, began_s = self._resizes, time.monotonic()
        turns = iter(range(resizes.changes))

        async def changer() -> None:
            for number in turns:
                turn, cluster = divmod(number, resizes.clusters)
                at_s = began_s + number * resizes.every_s / resizes.clusters
                await asyncio.sleep(at_s - time.monotonic())
                self._sizing.late_s.append(time.monotonic() - at_s)
                await self._ask(kube, resizes.names[cluster], resizes.workers(cluster, turn))

        await asyncio.gather(*(changer() for _ in range(SUBMITTERS)))
        last_s = time.monotonic()
        while self._asked and time.monotonic() < last_s + resizes.every_s:
            await asyncio.sleep(LOOK_S)
        self._sizing.overtaken += len(self._asked)
        self._sizing.took_s = time.monotonic() - began_s

    async def _ask(self, kube: Kube, name: str, workers: int) -> None:
        """Writes `replicas`, again if the engine has changed the object in the meantime."""
        self._sizing.overtaken += name in self._asked
        self._asked[name] = workers, time.monotonic()
        operation = {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": workers}
        while True:
            cluster = self._clusters.items[f"{NAMESPACE}/{name}"]
            version = cluster.metadata.resource_version
            try:
                await kube.perform(JsonPatch(RAY_CLUSTERS, cluster.key, (operation,), version))
                return
            except WriteError as error:
                if not error.stale:
                    raise
                await asyncio.sleep(LOOK_S / 10)

    def _see_workloads(self) -> None:
        keys = self._workloads.take_changed()
        for key in list(self._workloads.items) if keys is None else keys:
            workload = self._workloads.items.get(key)
            if workload is not None and workload.metadata.namespace == NAMESPACE:
                self._see(workload)

    def _see(self, workload: Workload) -> None:
        owner, status = workload.metadata.controller, workload.status
        if owner is None or not workload_status.is_admitted(status) or workload_status.is_finished(status):
            return
        workers = granted_workers(workload)
        self._granted[owner.name] = workers
        asked, at_s = self._asked.get(owner.name, (-1, 0.0))
        if workers == asked:
            del self._asked[owner.name]
            self._sizing.granted_after_s.append(time.monotonic() - at_s)


def granted_workers(workload: Workload) -> int:
    """Returns the workers that hold quota: of Muster's Workload by its admission, of Kueue's slice by its
    spec, of which Kueue lowers the counts without a new admission."""
    is_slice = ELASTIC_ANNOTATION in workload.metadata.annotations
    admission = workload.status.admission
    assigned = () if is_slice or admission is None else admission.pod_set_assignments
    counts = {pod_set.name: pod_set.count for pod_set in workload.spec.pod_sets}
    return (counts | {a.name: a.count or 0 for a in assigned})[GROUP]
