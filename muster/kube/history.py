"""Detects that the API server's history went back: etcd was restored from an older snapshot.

A watch that resumes from a resource version of the lost history gets no error. It is silent until the new
history reaches that version, and then sends only later events (k8s.io/apiserver v0.36, pkg/storage/cacher:
getAllEventsSinceLocked). Objects that the snapshot lacks would stay in the stores.

Two responses prove this, each for one kind, as kinds may be in different etcds (--etcd-servers-overrides):

- A list without a resource version whose version is lower than any response received before its request. Such
  a list is consistent: it comes from etcd, or from a watch cache that is at least as new (KEP-2340).
- An object whose version is lower than in the last response, if a single client reads and writes it, one
  request at a time.

Other signs prove nothing: watch caches of several API servers lag behind each other, so a watch may be silent
for a while, and its version may be too large for another server. A watch that breaks, ends early or is silent
only raises a suspicion, which a list of one object of each kind confirms or refutes. Until it is resolved,
nothing is written.
"""

import asyncio
import logging
from typing import Any

from muster.kube.client import FORBIDDEN, NOT_FOUND, Kube
from muster.kube.errors import RequestError, StatusError
from muster.kube.kinds import LEASES, Kind

log = logging.getLogger(__name__)

ANSWER_S_MAX = 5.0
RETRY_S = 1.0


class History:
    """The highest resource version received of each kind. `follow` resolves doubts in the main loop; the
    other methods but `is_intact` and `restart` may be called by any thread."""

    def __init__(self) -> None:
        self._highest: dict[Kind[Any], int] = {}
        self._doubts = self._resolved = 0
        self._intact = asyncio.Event()  # or went back
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.went_back = False

    def highest(self, kind: Kind[Any]) -> int:
        """Returns the highest version received of a kind, 0 if there is none."""
        return self._highest.get(kind, 0)

    def note(self, kind: Kind[Any], version: str) -> None:
        """Notes the version of an event, a bookmark or a list."""
        self._highest[kind] = max(self.highest(kind), int(version or 0))

    def note_answer(self, kind: Kind[Any], version: str) -> None:
        """Notes the version in the answer to a write or to a read of one object, if the kind is listed. Its
        event may never arrive, while the object stays in the store as the newest."""
        if kind in self._highest:
            self.note(kind, version)

    def compare(self, kind: Kind[Any], version: str, before: int) -> None:
        """Compares the version of an answer, as described above, with the highest one before its request."""
        if version and int(version) < before:
            self._go_back(kind, int(version), before)
        else:
            self.note(kind, version)

    def doubt(self) -> None:
        """Notes that the API server may have been restarted with another etcd."""
        self._doubts += 1
        self._wake()

    @property
    def is_doubtful(self) -> bool:
        """True while a suspicion is unresolved; nothing is written meanwhile."""
        return self._resolved < self._doubts

    async def is_intact(self) -> bool:
        """Returns whether the history has not gone back, once no doubt is left."""
        while self.is_doubtful and not self.went_back:
            self._intact.clear()
            await self._intact.wait()
        return not self.went_back

    async def follow(self, kube: Kube) -> None:
        """Resolves doubts. Returns when the history has gone back."""
        self._loop = asyncio.get_running_loop()
        while not self.went_back:
            self._changed.clear()
            if not self.is_doubtful:
                await self._changed.wait()
            elif not await self._resolve(kube):
                await asyncio.sleep(RETRY_S)
        self._intact.set()

    def restart(self) -> None:
        """Forgets the lost history. Reflectors that have read from it must be replaced."""
        self._highest.clear()
        self._resolved, self.went_back = self._doubts, False

    async def _resolve(self, kube: Kube) -> bool:
        """Resolves the doubts so far; returns whether the API server has answered."""
        doubts, listed = self._doubts, [kind for kind in list(self._highest) if kind is not LEASES]
        # one kind at first, as an API server that is still down or overloaded should not get all requests
        for kinds in (listed[:1], listed[1:]):
            if not all(await asyncio.gather(*(self._confirm(kube, kind) for kind in kinds))):
                return False
        self._resolved = doubts
        self._intact.set()
        return True

    async def _confirm(self, kube: Kube, kind: Kind[Any]) -> bool:
        """Compares the version of a list of one object; returns whether there is an answer."""
        before = self.highest(kind)
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                version = await kube.current_version(kind)
        except (RequestError, TimeoutError) as error:
            # its CustomResourceDefinition was deleted, or a permission: its reflector notices
            return isinstance(error, StatusError) and error.code in (NOT_FOUND, FORBIDDEN)
        self.compare(kind, version, before)
        return True

    def _go_back(self, kind: Kind[Any], version: int, before: int) -> None:
        if not self.went_back:
            log.warning(
                "the API server's history went back, as after a restore of etcd: %s at version %d after %d; "
                "listing everything again",
                kind,
                version,
                before,
            )
        self.went_back = True
        self._wake()

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._changed.set)
