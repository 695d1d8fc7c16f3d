"""The pace of periodic sweeps over the cluster."""

import asyncio
from random import Random

from tests.simulation.api import Api

REQUEUE_S = 3.0  # between sweeps of an unchanged cluster, for work that waits only for time


class Sweeps:
    """Waits a random time before each sweep and, while nothing changes, until something does."""

    def __init__(self, api: Api, random: Random, pause_s_max: float) -> None:
        self._api, self._random, self._pause_s_max = api, random, pause_s_max
        self._swept = -1  # the revision at which the last sweep began

    async def next(self, *, busy: bool = False) -> None:
        """Waits for the next sweep; `busy`: the last sweep left work for it."""
        await asyncio.sleep(self._random.uniform(0, self._pause_s_max))
        if self._api.revision == self._swept and not busy:
            await self._api.change(REQUEUE_S)
        self._swept = self._api.revision
