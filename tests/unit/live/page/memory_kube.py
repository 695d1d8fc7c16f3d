"""An API server in memory: lists, and watches that deliver every change."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from muster.kube.client import Kube, unchanged
from muster.kube.errors import NoAnswer, Status, StatusError
from muster.kube.kinds import Kind
from muster.kube.watching import WATCH_S, Event
from muster.objects.meta import Object
from tests.unit.controller.builders import Body, read, stored

FIRST_VERSION = 1_000


class MemoryKube(Kube):
    """Objects by kind and key. `refused` kinds may not be listed. Changes must be made in the event loop."""

    def __init__(self, bodies: Mapping[Kind[Any], Sequence[Body]], refused: Sequence[Kind[Any]] = ()) -> None:
        self._versions = itertools.count(FIRST_VERSION)
        self._refused = refused
        self._objects: dict[Any, dict[str, Object]] = defaultdict(dict)
        self._watches: dict[Any, list[asyncio.Queue[Event[Any]]]] = defaultdict(list)
        for kind, listed in bodies.items():
            for body in listed:
                self.put(kind, body)

    def put(self, kind: Kind[Any], body: Body) -> None:
        """Creates or replaces an object."""
        version = str(next(self._versions))
        full_body = body if "uid" in body["metadata"] else stored(body)
        obj = read(kind, {**full_body, "metadata": {**full_body["metadata"], "resourceVersion": version}})
        self._objects[kind][obj.key] = obj
        self._deliver(kind, Event("MODIFIED", version, obj))

    def delete(self, kind: Kind[Any], key: str) -> None:
        self._deliver(kind, Event("DELETED", str(next(self._versions)), self._objects[kind].pop(key)))

    def objects(self, kind: Kind[Any]) -> Sequence[Object]:
        return list(self._objects[kind].values())

    def _deliver(self, kind: Kind[Any], event: Event[Any]) -> None:
        for queue in self._watches[kind]:
            queue.put_nowait(event)

    async def current_version(self, kind: Kind[Any]) -> str:
        return str(next(self._versions))

    def go_back(self) -> None:
        """Restores a copy from before the first object."""
        self._objects.clear()
        self._versions = itertools.count(1)
        for queues in self._watches.values():
            for queue in queues:
                queue.put_nowait(Event("RESET", ""))

    async def list(
        self,
        kind: Any,
        labels: Mapping[str, str | None] | None = None,
        namespace: str = "",
        deduplicate: Callable[[Any], Any] = unchanged,
    ) -> tuple[str, list[Any]]:
        if kind in self._refused:
            raise StatusError(Status(code=403, message=f"you may not list {kind.plural}"))
        return str(next(self._versions)), [deduplicate(obj) for obj in self._objects[kind].values()]

    async def watch(
        self, kind: Any, resource_version: str, labels: Mapping[str, str | None] | None = None
    ) -> AsyncGenerator[Sequence[Event[Any]], None]:
        queue: asyncio.Queue[Event[Any]] = asyncio.Queue()
        self._watches[kind].append(queue)
        try:
            yield [Event("BOOKMARK", resource_version)]
            async with asyncio.timeout(WATCH_S):
                while (event := await queue.get()).type != "RESET":
                    yield [event]
                raise NoAnswer("connection reset by peer")
        except TimeoutError:
            return
        finally:
            self._watches[kind].remove(queue)

    async def close(self) -> None:
        """Has nothing to close."""
