"""Lists the pods of the workload that a reader has selected, as the page does not watch pods."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from muster.kube.errors import RequestError
from muster.live.gang_pods import NO_PODS, PodListing, list_pods
from muster.live.observed import Lister
from muster.objects.kueue import Workload

REUSED_S = 2.0
"""Readers that select the same workload within this time share a list."""
LISTINGS_MAX = 20


class PodReader:
    """Lists pods, one list at a time: readers of the page do not determine the API server's load."""

    def __init__(
        self,
        kube: Lister,
        workload: Callable[[str], Workload | None],
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`workload` returns the Workload with a key."""
        self._kube, self._workload, self._clock_s = kube, workload, clock_s
        self._listings: OrderedDict[str, tuple[float, PodListing]] = OrderedDict()
        self._listing = asyncio.Lock()

    async def of(self, key: str) -> PodListing:
        """Returns the pods of the Workload with this key. Errors of the API server are a reason not to have
        listed them: the other details do not depend on them."""
        async with self._listing:
            workload = self._workload(key)
            if workload is None:
                return NO_PODS
            read_s, listing = self._listings.get(key, (0.0, NO_PODS))
            if key not in self._listings or self._clock_s() - read_s >= REUSED_S:
                listing = await self._read(workload)
                self._listings[key] = self._clock_s(), listing
                self._listings.move_to_end(key)
                while len(self._listings) > LISTINGS_MAX:
                    self._listings.popitem(last=False)
            return listing

    async def _read(self, workload: Workload) -> PodListing:
        try:
            return await list_pods(self._kube, workload)
        except RequestError as error:
            return PodListing(refusal=str(error))
