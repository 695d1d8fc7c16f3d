"""The controller's client for the emulated API server: answers take time, watches lag, and some break."""

import asyncio
import contextlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeVar

import msgspec

from muster.kube.client import DRY_RUN_S_MAX, Kube, unchanged, without_election
from muster.kube.errors import NoAnswer, RequestError, Status, StatusError
from muster.kube.kinds import Kind
from muster.kube.watching import WATCH_S, Event
from muster.kube.writes import Create, Delete, MergePatch, Overwrite, Write
from muster.objects.meta import Object
from tests.simulation import dry_runs
from tests.simulation.api import Api, Body, Change, Refused, view
from tests.simulation.network import AFTER_COMMIT, Network

T = TypeVar("T", bound=Object)
BY = "controller"
UNPROCESSABLE = 422  # only for writes
WAY_S_MAX = 0.02  # one way
BOOKMARK_S = 2.0  # before the end of a watch


@dataclass(frozen=True)
class Faults:
    """Fault probabilities per write, watch event or watch; seconds that a watch may lag."""

    lost_answer: float = 0.0
    broken_watch: float = 0.0
    watch_lag_s: float = 0.02
    killed: float = 0.0  # of a write, after its commit and before its response arrives
    silent_watch: float = 0.0  # of a watch, at its start: it sends nothing and does not end


CALM = Faults()


class EmulatedKube(Kube):
    """The connection of one process; after its death, requests in flight may still arrive."""

    def __init__(
        self,
        api: Api,
        random: Random,
        faults: Faults,
        kill_after: int | None = None,
        network: Network | None = None,
    ) -> None:
        self._api, self._random, self.faults = api, random, faults
        self._network = network or Network(api.now_ms)
        self.write_seconds = without_election
        self.killed = asyncio.Event()
        self.writes = self.lists = self.dry_runs = 0
        self._kill_after = kill_after
        self._silenced = asyncio.Event()  # replaced by `silence`
        self._news: dict[Kind[Any], asyncio.Event] = defaultdict(asyncio.Event)
        self._heard: dict[Kind[Any], list[tuple[int, int]]] = defaultdict(list)  # (time_ms, revision)
        api.watchers.append(lambda change: self._news[change.kind].set())
        api.on_restore.append(self._notice_restore)

    async def list(
        self,
        kind: Kind[T],
        labels: Mapping[str, str | None] | None = None,
        namespace: str = "",
        deduplicate: Callable[[T], T] = unchanged,
    ) -> tuple[str, list[T]]:
        self.lists += 1
        restores = self._api.restores
        await self._read_way()
        self._check_served(kind)
        version = str(self._api.revision)
        inside = (b for b in self._api.all(kind) if namespace in ("", b["metadata"].get("namespace")))
        selected = [view(kind, b) for b in inside if _selected(b, labels)]
        await self._way()
        self._check_connected(restores)
        await self._hear(kind, version)
        return version, list(map(deduplicate, selected))  # type: ignore[arg-type]  # of the kind's view

    async def current_version(self, kind: Kind[Any]) -> str:
        restores = self._api.restores
        await self._read_way()
        self._check_served(kind)
        version = str(self._api.revision)
        await self._way()
        self._check_connected(restores)
        return version

    def heard(self, kind: Kind[Any], until_ms: int) -> int:
        """Returns the last revision of this kind that the process had received at that time; the revision of
        its first list if that came later, as the process decides nothing before."""
        heard_version = self._heard[kind]
        at = bisect_right(heard_version, until_ms, key=lambda entry: entry[0])
        return heard_version[max(0, at - 1)][1] if heard_version else 0

    def silence(self) -> None:
        """Silences the open watches without ending them, as if their connections were lost; new ones work."""
        self._silenced.set()
        self._silenced = asyncio.Event()

    async def watch(
        self, kind: Kind[T], resource_version: str, labels: Mapping[str, str | None] | None = None
    ) -> AsyncGenerator[Sequence[Event[T]], None]:
        await self._way()
        opened_ms, restores, opened_at = self._api.now_ms(), self._api.restores, int(resource_version)
        silenced, ends_s = self._silenced, asyncio.get_running_loop().time() + WATCH_S
        if self._random.random() < self.faults.silent_watch:
            silenced = asyncio.Event()
            silenced.set()
        self._check_served(kind)
        journal = self._api.journal[kind]
        at = bisect_right(journal, opened_at, key=lambda c: c.revision)
        version = resource_version
        await self._hear(kind, version)
        yield [Event("BOOKMARK", version)]
        while True:
            reported = await self._more_than(at, journal, kind, ends_s - BOOKMARK_S)
            self._check_connected(restores)
            if silenced.is_set() or self._network.is_silent(kind, opened_ms):
                await asyncio.Event().wait()
            if kind in self._api.unserved:
                return
            if not reported and self._api.revision < opened_at:  # a version of the future: silence
                await asyncio.sleep(max(0.0, ends_s - asyncio.get_running_loop().time()))
                return
            if not reported:
                version = version if at == 0 else str(journal[at - 1].revision)
                await self._hear(kind, version)
                yield [Event("BOOKMARK", version)]
                await asyncio.sleep(max(0.0, ends_s - asyncio.get_running_loop().time()))
                self._check_connected(restores)
                return
            change, at = journal[at], at + 1
            if change.revision <= opened_at or not _selected(change.body, labels):
                continue
            if self._random.random() < self.faults.broken_watch:
                raise _error(410, "too old resource version")
            version = str(change.revision)
            await self._hear(kind, version)
            yield [Event(change.type, version, change.view)]  # type: ignore[arg-type]  # of the kind's view

    def _notice_restore(self) -> None:
        """Wakes the watches: the API server has been restarted."""
        for news in self._news.values():
            news.set()

    def _check_connected(self, restores: int) -> None:
        """Checks that the API server was not restarted with an older copy of etcd since the request."""
        if self._api.restores != restores:
            raise NoAnswer("connection reset by peer")

    async def _hear(self, kind: Kind[Any], version: str) -> None:
        """Records that the process has received this kind up to `version`."""
        self._heard[kind].append((self._api.now_ms(), int(version)))

    async def _more_than(
        self, count: int, journal: Sequence[Change], kind: Kind[Any], until_s: float
    ) -> bool:
        """Waits for more changes of the kind, or the end of its journal; returns whether there are any by
        then."""
        try:
            async with asyncio.timeout_at(until_s):
                while len(journal) == count and journal is self._api.journal[kind]:
                    self._news[kind].clear()
                    await self._news[kind].wait()
                    await asyncio.sleep(self._random.uniform(0, self._network.lag(self.faults.watch_lag_s)))
        except TimeoutError:
            return False
        return True

    async def read(self, kind: Kind[T], key: str) -> T | None:
        await self._read_way()
        restores, body = self._api.restores, self._api.find(kind, key)
        await self._way()
        self._check_connected(restores)
        return None if body is None else view(kind, body)  # type: ignore[return-value]  # of the kind's view

    async def refusal(self, create: Create) -> str | None:
        """Returns the answer as a Kube does: None if none comes in time."""
        self.dry_runs += 1
        with contextlib.suppress(RequestError, TimeoutError):
            async with asyncio.timeout(DRY_RUN_S_MAX):
                await self._way()
                refused = dry_runs.refusal(self._api, create)
                await self._way()
                return refused
        return None

    async def _send(self, write: Write) -> Object | None:
        self.writes += 1
        number = self.writes
        answer: asyncio.Future[Body | None] = asyncio.get_running_loop().create_future()
        on_its_way_s = self._random.uniform(0, WAY_S_MAX)
        # requests in flight arrive, even if the process ends
        arrive = partial(self._arrive, write, answer, self._api.restores)
        asyncio.get_running_loop().call_later(on_its_way_s, arrive, context=Context())
        try:
            body = await answer
        except Refused as refused:
            await self._way()
            raise _error(refused.code, str(refused)) from refused
        if number == self._kill_after or self._random.random() < self.faults.killed:
            self.killed.set()
            await asyncio.Event().wait()
        if self._random.random() < self.faults.lost_answer:
            raise NoAnswer("the answer was lost")
        await self._way()
        return None if body is None else view(write.kind, body)

    def _arrive(self, write: Write, answer: asyncio.Future[Body | None], restores: int) -> None:
        try:
            self._check_connected(restores)
            refusal = self._network.refusal(self._random, write)
            if refusal is not None and refusal.code != AFTER_COMMIT:
                raise refusal
            body = self.write(write)
            if refusal is not None:
                raise refusal
        except (Refused, NoAnswer) as error:
            if not answer.cancelled():
                answer.set_exception(error)
        else:
            if not answer.cancelled():
                answer.set_result(body)

    def write(self, write: Write) -> Body | None:
        """Carries out a write immediately. Raises: Refused."""
        match write:
            case Create():
                return self._api.create(write.kind, _sent(write.body), BY)
            case Delete():
                self._api.delete(write.kind, write.key, BY, grace_s=write.grace_s, uid=write.uid)
                return None
            case Overwrite():
                metadata = {**write.body.get("metadata", {}), "uid": write.uid}
                body = _sent({**write.body, "metadata": metadata})
                return self._api.merge_patch(write.kind, write.key, body, BY, False)
            case MergePatch():
                metadata = {**write.body.get("metadata", {}), "resourceVersion": write.resource_version}
                body = _sent({**write.body, "metadata": metadata})
                if write.whole:
                    return self._api.replace_status(write.kind, write.key, body, BY)
                return self._api.merge_patch(write.kind, write.key, body, BY, write.status)
            case _:
                test = {"op": "test", "path": "/metadata/resourceVersion", "value": write.resource_version}
                return self._api.json_patch(write.kind, write.key, _sent([test, *write.operations]), BY)

    def _check_served(self, kind: Kind[Any]) -> None:
        if kind in self._api.unserved:
            raise _error(404, "the server could not find the requested resource")

    async def _read_way(self) -> None:
        """Sends a dry run, which changes nothing."""
        await self._way()
        refused = self._network.refusal(self._random)
        if refused is not None and refused.code != UNPROCESSABLE:
            raise _error(refused.code, str(refused))

    async def _way(self) -> None:
        await asyncio.sleep(self._random.uniform(0, WAY_S_MAX))


def _sent(body: Any) -> Any:
    """Returns the body as it arrives: tuples become lists."""
    return msgspec.json.decode(msgspec.json.encode(body))


def _selected(body: Body, labels: Mapping[str, Any] | None) -> bool:
    """Returns whether the object has the labels, with the value or (None) any value."""
    own_labels = body["metadata"].get("labels", {})
    return all(
        label in own_labels and value in (None, own_labels[label]) for label, value in (labels or {}).items()
    )


def _error(code: int, message: str) -> StatusError:
    return StatusError(Status(code=code, message=message))
