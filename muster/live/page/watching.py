"""The objects that the page shows, kept in sync by watches."""

import asyncio
from collections.abc import Callable
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.cluster.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.kube.client import Kube
from muster.kube.history import History
from muster.kube.kinds import POD_TEMPLATES, PODS, TOPOLOGIES, WORKLOADS, AnyKind, Kind
from muster.kube.reflector import Reflector
from muster.kube.store import Stores
from muster.live.observed import NEEDED
from muster.live.page.pod_reader import PodReader

NOT_SHOWN = (PODS, POD_TEMPLATES)
SHOWN = tuple(kind for kind in WATCHED if kind not in NOT_SHOWN)
OTHERS_S_MAX = 5.0


class Watching:
    """Watches what a page needs. `changed` is called after each change of an object; kinds that it can do
    without are waited for `others_s_max`, as its user may not list them."""

    def __init__(self, kube: Kube, changed: Callable[[], None], others_s_max: float = OTHERS_S_MAX) -> None:
        self._kube, self._changed, self._others_s_max = kube, changed, others_s_max
        self._history = History()
        self._before: ClusterState | None = None  # the objects when the history went back
        self.pods = PodReader(kube, lambda key: self.stores.of(WORKLOADS).items.get(key))
        self._begin()

    def _begin(self) -> None:
        self.stores = Stores()
        self._reflectors = {kind: self._reflector(kind) for kind in SHOWN}
        self._nodes = {kind: self._reflector(kind) for kind in WATCHED_WITH_TOPOLOGIES}
        self._topologies_exist = asyncio.Event()

    def _reflector(self, kind: Kind[Any]) -> Reflector[Any]:
        return Reflector(
            self._kube, kind, self.stores.of(kind), self._changed, optional=True, history=self._history
        )

    async def run(self) -> None:
        """Watches until it is cancelled. Lists everything again when the API server's history goes back."""
        while True:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(self._watch())
                await self._history.follow(self._kube)
                watching.cancel()
            self._before = self.cluster()
            self._history.restart()
            self._begin()

    async def _watch(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors.values():
                tasks.create_task(reflector.run())
            await self._topologies_exist.wait()
            for reflector in self._nodes.values():
                tasks.create_task(reflector.run())

    async def synced(self) -> None:
        """Waits until queues and Workloads are synced, then for a limited time for the other kinds."""
        needed = [self._reflectors[kind].synced.wait() for kind in NEEDED]
        others = [
            reflector.synced.wait() for kind, reflector in self._reflectors.items() if kind not in NEEDED
        ]
        await asyncio.gather(*needed)
        await asyncio.wait(map(asyncio.ensure_future, others), timeout=self._others_s_max)

    def age_s(self) -> float:
        """Returns how long ago the watch of a needed kind that is silent longest last received something."""
        ages = (self._reflectors[kind].age_s() for kind in NEEDED)
        return max((age for age in ages if age is not None), default=0.0)

    def cluster(self) -> ClusterState:
        """Returns the current objects, in mappings that do not change; without Topologies until the nodes are
        synced. While everything is listed again, returns the former objects."""
        if self._before is not None and not all(self._reflectors[kind].synced.is_set() for kind in NEEDED):
            return self._before
        self._before = None
        observed: dict[AnyKind, dict[str, Any]] = {kind: dict(self.stores.of(kind).items) for kind in SHOWN}
        if observed[TOPOLOGIES]:
            self._topologies_exist.set()
            if all(reflector.synced.is_set() for reflector in self._nodes.values()):
                observed |= {kind: dict(self.stores.of(kind).items) for kind in WATCHED_WITH_TOPOLOGIES}
            else:
                observed[TOPOLOGIES] = {}
        return ClusterState(observed)
