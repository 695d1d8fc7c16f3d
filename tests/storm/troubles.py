"""The faults of a storm: each is a context that begins, lasts a while and ends."""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from random import Random

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError

from sandbox.cluster import kinds
from tests.storm.load import Fault
from tests.storm.replay import Outage
from tests.storm.replicas import Replica
from tests.storm.services import Services

DELETED = (kinds.PodTemplate, kinds.ProvisioningRequest, kinds.RayCluster, kinds.Pod, kinds.Workload)
NAMESPACES = ("team-a", "team-b")
TROUBLE_S = (0.5, 6.0)
Trouble = Callable[[], AbstractContextManager[None]]


class Troubles:
    """All faults; `any` chooses one at random."""

    def __init__(self, services: Services, client: Client, replicas: list[Replica], random: Random) -> None:
        self._services, self._client, self._replicas, self._random = services, client, replicas, random
        self.outages: list[Outage] = []
        self._all: dict[str, Trouble] = {
            "kill a controller": self._kill,
            "pause a controller": self._pause,
            "disconnect a controller": self._cut_off,
            "restart the API server": lambda: self._take_down("kube-apiserver"),
            "restart etcd": lambda: self._take_down("etcd"),
            "delete objects": self._delete,
        }

    def any(self) -> Fault:
        name = self._random.choice(sorted(self._all))
        return Fault(name, self._random.uniform(*TROUBLE_S), self._all[name]())

    @contextlib.contextmanager
    def _kill(self) -> Iterator[None]:
        self._random.choice(self._replicas).kill()
        yield

    @contextlib.contextmanager
    def _pause(self) -> Iterator[None]:
        replica = self._random.choice(self._replicas)
        replica.pause(True)
        try:
            yield
        finally:
            replica.pause(False)

    @contextlib.contextmanager
    def _cut_off(self) -> Iterator[None]:
        proxy = self._random.choice(self._replicas).proxy
        proxy.black_hole(True)
        try:
            yield
        finally:
            proxy.black_hole(False)

    @contextlib.contextmanager
    def _take_down(self, component: str) -> Iterator[None]:
        """Kills a component, which is restarted afterwards."""
        begins_s = time.time()
        self._services.kill(component)
        try:
            yield
        finally:
            self._services.keep()
            self.outages.append(Outage(begins_s, time.time()))

    @contextlib.contextmanager
    def _delete(self) -> Iterator[None]:
        """Deletes a few objects of a kind that admission creates or uses."""
        kind, namespace = self._random.choice(DELETED), self._random.choice(NAMESPACES)
        with contextlib.suppress(ApiError, httpx2.HTTPError):  # the API server may still be starting
            names = [o["metadata"]["name"] for o in self._client.list(kind, namespace=namespace)]
            for name in self._random.sample(names, min(3, len(names))):
                with contextlib.suppress(ApiError):
                    self._client.delete(kind, name, namespace=namespace)
        yield
