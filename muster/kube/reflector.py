"""Keeping a store true to the API server: list, then watch, for ever."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import httpx2
from lightkube import ApiError

from muster.kube.client import Kube
from muster.kube.kinds import Kind
from muster.kube.store import Store
from muster.objects.meta import Object

T = TypeVar("T", bound=Object)
log = logging.getLogger(__name__)

RETRY_S_MIN = 0.2
RETRY_S_MAX = 15.0
GONE = 410


class Reflector(Generic[T]):
    """`changed` is called after every change that reached the store."""

    def __init__(
        self,
        kube: Kube,
        kind: Kind[T],
        store: Store[T],
        changed: Callable[[], None],
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        self._kube, self._kind, self._store, self._changed = kube, kind, store, changed
        self._labels = labels
        self.synced = asyncio.Event()

    async def run(self) -> None:
        retry_s = RETRY_S_MIN
        while True:
            try:
                version, objects = await self._kube.list(self._kind, self._labels)
                self._store.replace(objects, version)
                self.synced.set()
                self._changed()
                retry_s = RETRY_S_MIN
                await self._follow(version)
            except (httpx2.HTTPError, ApiError) as error:
                log.warning("watching %s: %s; again in %.1f s", self._kind, _say(error), retry_s)
                await asyncio.sleep(retry_s)
                retry_s = min(retry_s * 2, RETRY_S_MAX)

    async def _follow(self, version: str) -> None:
        """Returns when the server says that the version is too old, for a new list."""
        try:
            async for event, obj in self._kube.watch(self._kind, version, self._labels):
                if event == "DELETED":
                    self._store.remove(obj)
                    self._changed()
                elif self._store.put(obj):
                    self._changed()
        except ApiError as error:
            if error.status.code != GONE:
                raise


def _say(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()
