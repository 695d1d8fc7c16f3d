"""Leader election with a Lease: one replica writes, the others wait.

The rules are client-go's (tools/leaderelection): the holder renews the Lease; another replica acquires it
once it has not changed for its duration *by that replica's own clock*, so clocks need not agree. Terms are
twice as long as client-go's defaults, because an API server with thousands of requests in flight takes more
than five seconds for each, and the holder would lose its Lease.
Every change carries the resource version that it was decided on: of two concurrent changes, one is refused.
The holder renews the version that its last renewal returned, without reading it. This takes one request,
which can take seconds on an overloaded API server.

The network may still delay a write until its sender's term has ended. Every write except creations and
deletions therefore carries a resource version too: it is refused if the next leader has changed the object.
"""

import asyncio
import logging
from collections.abc import Callable
from random import Random
from typing import Any

from muster.kube.client import Kube, NotLeading, WriteError
from muster.kube.errors import RequestError
from muster.kube.history import History
from muster.kube.kinds import LEASES
from muster.kube.writes import Create, MergePatch
from muster.objects.coordination import Lease, LeaseSpec
from muster.objects.meta import rfc3339_micro

log = logging.getLogger(__name__)

LEASE_S = 30  # after a renewal, no other replica takes it for this time
RENEW_DEADLINE_S = 20.0  # after a renewal, writes may begin for this time
RETRY_S = 2.0
TRY_S_MAX = RENEW_DEADLINE_S / 2  # leaves time for another try
RELEASED_S = 1  # the duration of a released Lease; the API requires one


class Election:
    """One candidate for the Lease `key` (namespace/name). `clock_s` is monotonic; `now_ms` is only displayed.

    Candidates must have unique identities: a candidate immediately acquires a Lease with its own identity, as
    the previous container in the same pod held it.
    """

    def __init__(
        self,
        kube: Kube,
        key: str,
        identity: str,
        *,
        clock_s: Callable[[], float],
        now_ms: Callable[[], int],
        random: Random,
        history: History | None = None,
    ) -> None:
        self._kube, self._key, self.identity = kube, key, identity
        self._clock_s, self._now_ms, self._random = clock_s, now_ms, random
        self._history = history or History()
        self._observed = LeaseSpec()
        self._others_until_s = 0.0  # when the term of another holder ends, as last observed
        self._renewed_s: float | None = None  # when the last renewal was sent; None if not leading
        self._renewed: Lease | None = None  # as the last renewal left it; None if it must be read
        self._creations = set[str | None]()  # acquireTimes of the Leases that it tried to create
        self.last_try_s = clock_s()
        self._sent_s = self.last_try_s  # when the last change was sent
        self.is_first = False  # whether it created the Lease, and never saw one before: there was no leader

    @property
    def is_leader(self) -> bool:
        """True if this candidate may write now."""
        return self.write_seconds() > 0

    def write_seconds(self) -> float:
        """Returns the time in which a write that begins now must be answered; 0 if none may begin."""
        if self._renewed_s is None:
            return 0.0
        age_s = self._clock_s() - self._renewed_s
        return LEASE_S - age_s if age_s < RENEW_DEADLINE_S else 0.0

    async def acquire(self) -> None:
        """Waits until this candidate leads."""
        log.info("%s waits for Lease %s", self.identity, self._key)
        while not await self._try():
            await asyncio.sleep(min(self._pause_s(), self._expires_in_s() or RETRY_S))
        log.info("%s leads: it holds Lease %s", self.identity, self._key)

    async def renew(self) -> None:
        """Renews it until cancelled. Raises: NotLeading if renewals fail for too long, or it has another
        holder."""
        while True:
            # Counted from the start of the last try: if each takes seconds, the next one follows immediately.
            await asyncio.sleep(max(0.0, self.last_try_s + self._pause_s() - self._clock_s()))
            if not await self._try() and not self.is_leader:
                raise NotLeading(f"{self.identity} has lost Lease {self._key}")

    async def release(self) -> None:
        """Releases the Lease, so that the next leader need not wait; no write may follow."""
        if not self.is_leader:
            return
        self._renewed_s = None
        released = {"holderIdentity": None, "leaseDurationSeconds": RELEASED_S, **self._time("renewTime")}
        try:
            async with asyncio.timeout(TRY_S_MAX):
                lease = await self._read()
                if lease is not None and lease.spec.holder_identity == self.identity:
                    await self._write(lease, released)
            log.info("%s has released Lease %s", self.identity, self._key)
        except (RequestError, WriteError, TimeoutError) as error:
            log.warning("Lease %s is not released, it expires: %s", self._key, _describe(error))

    async def _try(self) -> bool:
        """Takes or renews the Lease; returns whether it certainly did."""
        self.last_try_s = self._clock_s()
        try:
            async with asyncio.timeout(TRY_S_MAX):
                taken = await self._take()
        except (RequestError, WriteError, TimeoutError) as error:
            log.warning("Lease %s: %s", self._key, _describe(error))
            return False
        # Counted from the sending of the change: other replicas count from its arrival, which is later.
        self._renewed_s = self._sent_s if taken else None
        return taken

    async def _take(self) -> bool:
        """Takes or renews the Lease; returns whether it did. Raises: RequestError, WriteError."""
        renewed, self._renewed = self._renewed, None
        if renewed is not None:
            try:
                await self._write(renewed, self._held())
                return True
            except WriteError as error:
                if not error.stale:
                    raise
        lease = await self._read()
        sees_first = self._observed == LeaseSpec()
        if lease is not None and lease.spec != self._observed:
            self._observe(lease.spec)
        if self._expires_in_s() > 0:
            return False
        is_holder = self._observed.holder_identity == self.identity
        if lease is None:
            await self._create()
            self.is_first = sees_first
        elif is_holder:
            # a creation may have been carried out without an answer
            self.is_first |= sees_first and self._observed.acquire_time in self._creations
            await self._write(lease, self._held())
        else:
            self.is_first = False
            transitions = (lease.spec.lease_transitions or 0) + 1
            taken = {**self._held(), **self._time("acquireTime"), "leaseTransitions": transitions}
            await self._write(lease, taken)
        return True

    async def _read(self) -> Lease | None:
        lease = await self._kube.read(LEASES, self._key)
        if lease is not None:
            self._compare(lease)
        elif self._history.highest(LEASES):
            self._history.doubt()  # deleted, or not in the copy that etcd was restored from
        return lease

    def _compare(self, lease: Lease) -> None:
        """Compares its version with the last one: the election makes one request at a time."""
        self._history.compare(LEASES, lease.metadata.resource_version, self._history.highest(LEASES))

    async def _create(self) -> None:
        namespace, _, name = self._key.rpartition("/")
        acquired = self._time("acquireTime")
        self._creations.update(acquired.values())
        spec = {**self._held(), **acquired, "leaseTransitions": 0}
        body = {"metadata": {"namespace": namespace, "name": name}, "spec": spec}
        self._sent_s = self._clock_s()
        await self._kube.perform(Create(LEASES, body))

    async def _write(self, lease: Lease, spec: dict[str, Any]) -> None:
        version = lease.metadata.resource_version
        self._sent_s = self._clock_s()
        written = await self._kube.perform(MergePatch(LEASES, self._key, {"spec": spec}, version))
        self._renewed = written if isinstance(written, Lease) else None
        if self._renewed is not None:
            self._compare(self._renewed)

    def _held(self) -> dict[str, Any]:
        term = {"holderIdentity": self.identity, "leaseDurationSeconds": LEASE_S}
        return {**term, **self._time("renewTime")}

    def _time(self, field: str) -> dict[str, str]:
        return {field: rfc3339_micro(self._now_ms())}

    def _observe(self, spec: LeaseSpec) -> None:
        """Notes a changed Lease. Only a release ends the term of another holder. If the Lease is deleted,
        edited by hand or restored from an older copy, its holder leads until its next renewal."""
        self._observed = spec
        duration_s, holder = spec.lease_duration_seconds or LEASE_S, spec.holder_identity
        if holder and holder != self.identity:
            self._others_until_s = self._clock_s() + max(duration_s, LEASE_S)
        elif not holder and duration_s == RELEASED_S:
            self._others_until_s = 0.0

    def _expires_in_s(self) -> float:
        """Returns the time until another holder's term ends."""
        return max(0.0, self._others_until_s - self._clock_s())

    def _pause_s(self) -> float:
        """Returns the pause before the next try, with jitter; never longer than RETRY_S."""
        return RETRY_S * self._random.uniform(0.75, 1)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()
