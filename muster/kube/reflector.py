"""Keeps a store in sync with the API server: lists once, then watches."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from random import Random
from typing import Generic, TypeVar

import msgspec

from muster.kube.client import Kube
from muster.kube.errors import NoAnswer, RequestError, StatusError
from muster.kube.history import History
from muster.kube.kinds import Kind
from muster.kube.store import Store
from muster.kube.watching import WATCH_S, Event
from muster.objects.meta import Object

T = TypeVar("T", bound=Object)
log = logging.getLogger(__name__)

SILENT_S_MAX = WATCH_S + 10.0  # a watch without events and bookmarks for this time is dead
STEADY_S = 10.0  # after a watch of this length the next one follows immediately
RETRY_S_MIN = 0.2
RETRY_S_MAX = 15.0
RETRY_AFTER_S_MAX = 60.0
WATCHES_REFUSED_MAX = 3  # by a failing server, before listing again: it may have lost the version
EARLY_S = 1.0  # before WATCH_S, the API server ends a watch if it is restarted, or reads it too slowly
NOT_FOUND, TOO_MANY_REQUESTS, SERVER_ERROR = 404, 429, 500
TIMEOUT = 504  # also of a version that is too large, for the watch cache or for etcd


class Reflector(Generic[T]):
    """Keeps `store` in sync. `changed` is called after every change of the store; `clock_s` is monotonic. An
    `optional` kind has no objects while the API server does not serve it."""

    def __init__(
        self,
        kube: Kube,
        kind: Kind[T],
        store: Store[T],
        changed: Callable[[], None],
        labels: Mapping[str, str | None] | None = None,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        random: Random | None = None,
        optional: bool = False,
        history: History | None = None,
    ) -> None:
        self._kube, self._kind, self._store, self._changed = kube, kind, store, changed
        self._labels, self._clock_s, self._random = labels, clock_s, random or Random()
        self._optional, self._history = optional, history or History()
        self._version = ""  # of the store; empty if it must be listed
        self._watched_from = ""  # the version from which the last watch began
        self._failures = 0  # in a row
        self._watch_began_s: float | None = None  # when the watch began
        self._last_event_s: float | None = None
        self._has_events = False  # whether the watch has received an event or a bookmark
        self.synced = asyncio.Event()

    def age_s(self) -> float | None:
        """Returns the time since the last list, event or bookmark; None before `run`."""
        return None if self._last_event_s is None else self._clock_s() - self._last_event_s

    async def run(self) -> None:
        """Lists and watches until it is cancelled."""
        self._version, self._failures, self._last_event_s = "", 0, self._clock_s()
        while True:
            self._watch_began_s, self._has_events = None, False
            error: Exception | None = None
            try:
                if not self._version:
                    await self._list()
                self._watched_from = self._version
                await self._follow()
            except (RequestError, TimeoutError, msgspec.DecodeError) as failed:
                error = failed
                if self._optional and _code(error) == NOT_FOUND:
                    self._clear()
            await self._pause(error)

    async def _list(self) -> None:
        before = self._history.highest(self._kind)
        version, objects = await self._kube.list(self._kind, self._labels, deduplicate=self._store.stored)
        self._history.compare(self._kind, version, before)
        self._store.replace(objects, version)
        self._version, self._last_event_s = version, self._clock_s()
        self.synced.set()
        self._changed()

    def _clear(self) -> None:
        """Empties the store: the kind's CustomResourceDefinition does not exist."""
        self._store.clear()
        self._last_event_s = self._clock_s()
        self.synced.set()
        self._changed()

    async def _follow(self) -> None:
        """Watches until the server ends the watch. Raises: TimeoutError too, if it is silent for too long."""
        async with aclosing(self._kube.watch(self._kind, self._version, self._labels)) as events:
            while True:
                async with asyncio.timeout(SILENT_S_MAX):
                    arrived = await anext(events, None)
                if arrived is None:
                    return
                self._take(arrived)

    def _take(self, events: Iterable[Event[T]]) -> None:
        self._last_event_s = self._clock_s()
        self._has_events = self._watch_began_s is not None
        if self._watch_began_s is None:
            self._watch_began_s = self._last_event_s
        changed = False
        for event in events:
            if event.obj is not None and event.type == "DELETED":
                self._store.remove(event.obj)
                changed = True
            elif event.obj is not None:
                changed = self._store.put(event.obj) or changed
            self._version = event.version or self._version
        self._history.note(self._kind, self._version)
        if changed:
            self._changed()

    async def _pause(self, error: Exception | None) -> None:
        """Pauses before the next request, with exponential backoff. Does not pause after a steady watch, or
        if the server ended the watch after it had sent events, as it does to slow readers."""
        steady = self._watch_began_s is not None and self._clock_s() - self._watch_began_s >= STEADY_S
        ended = error is None and self._version != self._watched_from
        if steady or ended:
            self._failures = 0
        else:
            self._failures += 1
        if self._is_suspicious(error):
            self._history.doubt()
        if error is not None and not self._can_resume(error):
            self._version = ""
        wait_s = self._wait_s(error)
        if error is not None:
            what = "watching" if self._version else "listing"
            log.warning("%s: %s; %s again in %.1f s", self._kind, _describe(error), what, wait_s)
        await asyncio.sleep(wait_s)

    def _is_suspicious(self, error: Exception | None) -> bool:
        """Returns whether the watch ended as if the API server had been restarted, or was silent as one from
        a version that it does not have."""
        if error is not None:
            return isinstance(error, (NoAnswer, TimeoutError)) or _code(error) == TIMEOUT
        began_s = self._watch_began_s
        ended_early = began_s is None or self._clock_s() - began_s < WATCH_S - EARLY_S
        return ended_early or not self._has_events

    def _can_resume(self, error: Exception) -> bool:
        """Returns whether the next watch can resume where this one failed, without a list."""
        if isinstance(error, msgspec.DecodeError):
            return False
        code = _code(error)
        if code in (None, TOO_MANY_REQUESTS):  # a list would cost more than the refused watch
            return True
        return code >= SERVER_ERROR and self._failures < WATCHES_REFUSED_MAX

    def _wait_s(self, error: Exception | None) -> float:
        asked_s = min(error.retry_after_s, RETRY_AFTER_S_MAX) if isinstance(error, StatusError) else 0.0
        if self._failures == 0 and not asked_s:
            return 0.0
        back_off_s = min(RETRY_S_MIN * 2.0 ** min(self._failures, 16), RETRY_S_MAX)
        # jitter, as many clients may wait at the same time
        return max(back_off_s * self._random.uniform(0.5, 1), asked_s * self._random.uniform(1, 1.5))


def _code(error: Exception) -> int | None:
    """Returns the server's status code; None if it did not answer."""
    return error.code if isinstance(error, StatusError) else None


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no event or bookmark for {SILENT_S_MAX:.0f} s"
    return f"{type(error).__name__} {error}".strip()
