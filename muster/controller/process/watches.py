"""The watches that keep the stores up to date."""

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from muster.cluster.watched_kinds import ONLY_LABELLED, OPTIONAL, WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.kube.client import Kube
from muster.kube.history import History
from muster.kube.kinds import WORKLOADS, AnyKind, Kind
from muster.kube.reflector import Reflector
from muster.kube.store import Stores


class Watches:
    """A reflector for each watched kind. Nodes and their pods are watched only once a Topology exists, as
    they are many. `changed` is called after every change of a store."""

    def __init__(
        self,
        kube: Kube,
        stores: Stores,
        changed: Callable[[], None],
        *,
        clock_s: Callable[[], float],
        random: Random,
        history: History,
    ) -> None:
        def reflector(kind: Kind[Any], labels: Mapping[str, str | None] | None = None) -> Reflector[Any]:
            store, is_optional = stores.of(kind), kind in OPTIONAL
            return Reflector(
                kube,
                kind,
                store,
                changed,
                labels,
                clock_s=clock_s,
                random=random,
                optional=is_optional,
                history=history,
            )

        self._stores = stores
        self._reflectors = {kind: reflector(kind, ONLY_LABELLED.get(kind)) for kind in WATCHED}
        self._node_reflectors = {kind: reflector(kind) for kind in WATCHED_WITH_TOPOLOGIES}
        self._topologies_exist = asyncio.Event()
        self._tasks: dict[AnyKind, asyncio.Task[None]] = {}

    @property
    def synced(self) -> bool:
        """True once the stores hold all objects of the API server, except nodes."""
        return all(reflector.synced.is_set() for reflector in self._reflectors.values())

    async def wait_until_synced(self) -> None:
        """Waits until each watch has listed its objects once."""
        await asyncio.gather(*(reflector.synced.wait() for reflector in self._reflectors.values()))

    def ages_s(self) -> dict[str, float]:
        """Returns the age of each watch's last event, bookmark or list."""
        names = {**WATCHED, **WATCHED_WITH_TOPOLOGIES}
        reflectors = {**self._reflectors, **self._node_reflectors}
        ages = {names[kind]: reflector.age_s() for kind, reflector in reflectors.items()}
        return {name: age_s for name, age_s in ages.items() if age_s is not None}

    def object_counts(self) -> str:
        """Returns the number of objects of each kind, for the log."""
        counts = ((kind, len(self._stores.of(kind).items)) for kind in WATCHED)
        return ", ".join(f"{count} {kind}" for kind, count in counts if count)

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Starts all watches except the watches of nodes, which `run_nodes` runs."""
        self._tasks = {kind: tasks.create_task(r.run()) for kind, r in self._reflectors.items()}

    def cancel(self) -> None:
        """Cancels the tasks of the watches."""
        for task in self._tasks.values():
            task.cancel()

    async def run_nodes(self) -> None:
        """Watches nodes and their pods once a Topology exists."""
        await self._topologies_exist.wait()
        await asyncio.gather(*(reflector.run() for reflector in self._node_reflectors.values()))

    def nodes_synced(self) -> bool:
        """Returns whether the nodes are synced; lets `run_nodes` begin."""
        self._topologies_exist.set()
        return all(reflector.synced.is_set() for reflector in self._node_reflectors.values())

    async def relist_workloads(self, tasks: asyncio.TaskGroup) -> None:
        """Lists Workloads again: the watch may not have delivered the last reservations of the former leader,
        and their quota would be reserved twice."""
        self._tasks[WORKLOADS].cancel()
        reflector = self._reflectors[WORKLOADS]
        reflector.synced.clear()
        self._tasks[WORKLOADS] = tasks.create_task(reflector.run())
        await reflector.synced.wait()
