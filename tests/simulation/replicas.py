"""Two replicas with one Lease: each may be killed, frozen or cut off, and the other must take over.

A write that arrives from a replica without the Lease breaks the simulation.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar, copy_context
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, TypeVarTuple

from muster.controller.process.loop import Controller
from muster.controller.process.process import Controllers
from muster.kube.client import NotLeading
from muster.kube.connection import REQUEST_TIMEOUT_S
from muster.kube.errors import NoAnswer
from muster.kube.history import History
from muster.kube.kinds import LEASES, Kind
from muster.kube.lease import LEASE_S, RENEW_DEADLINE_S, Election
from muster.kube.writes import Write
from muster.objects.meta import Object
from tests.simulation.api import Api, Body
from tests.simulation.clock import VirtualLoop
from tests.simulation.invariants import Broken
from tests.simulation.kube import BY, EmulatedKube, Faults
from tests.simulation.network import Network
from tests.simulation.simulation import RESTARTS_S_MAX, RESTARTS_S_MIN, Simulation

Ts = TypeVarTuple("Ts")
LEASE = "muster-system/muster-controller"
NAMES = ("one", "two")


class Process:
    """A replica's process: frozen, it does nothing, and its events wait."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.cut = (
            ""  # "off": no requests and no watch events arrive; "answers": requests arrive, answers do not
        )
        self.killed = asyncio.Event()
        self.stop: Callable[[], None] = lambda: None
        self.leads: Callable[[], bool] = lambda: False
        self.another_leads: Callable[[], bool] = lambda: False
        self.connections: list[Connection] = []
        self.parked: list[tuple[asyncio.Handle, Context, Callable[[], object]]] = []

    def reconnect(self) -> None:
        self.cut = ""

    def thaw(self) -> None:
        self.frozen = False
        parked, self.parked = self.parked, []
        for handle, context, call in parked:
            if not handle.cancelled():
                asyncio.get_running_loop().call_soon(call, context=context)


PROCESS: ContextVar[Process] = ContextVar("process")


class FreezingLoop(VirtualLoop):
    """Parks callbacks in the context of a frozen Process until it thaws."""

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        own: list[asyncio.Handle] = []  # the handle, once created
        call = partial(callback, *args)
        own.append(super().call_soon(self._run_unless_frozen, own, context, call, context=context))
        return own[0]

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        own: list[asyncio.Handle] = []
        call = partial(callback, *args)
        timer = super().call_at(when, self._run_unless_frozen, own, context, call, context=context)
        own.append(timer)
        return timer

    def _run_unless_frozen(
        self, own: list[asyncio.Handle], context: Context, call: Callable[[], object]
    ) -> None:
        process = context.get(PROCESS)
        if process is not None and process.frozen:
            process.parked.append((own[0], context, call))
        else:
            call()


class Connection(EmulatedKube):
    """The connection of one replica to the API server."""

    def __init__(
        self,
        api: Api,
        random: Random,
        faults: Faults,
        process: Process,
        broken: Callable[[Broken], None],
        network: Network,
    ) -> None:
        super().__init__(api, random, faults, network=network)
        process.connections.append(self)
        self.killed = process.killed
        self._process, self._is_broken = process, broken

    async def _hear(self, kind: Kind[Any], version: str) -> None:
        if self._process.cut:
            await self._hang()
        await super()._hear(kind, version)

    async def _send(self, write: Write) -> Object | None:
        if self._process.cut == "off":
            await self._hang()
        created = await super()._send(write)
        if self._process.cut:
            await self._hang()
        return created

    async def _way(self) -> None:
        if self._process.cut:
            await self._hang()
        await super()._way()

    async def _hang(self) -> None:
        await asyncio.sleep(REQUEST_TIMEOUT_S)
        raise NoAnswer("cut off")

    def write(self, write: Write) -> Body | None:
        if write.kind is not LEASES and not self._may_write():
            self._is_broken(Broken(f"{self._process.name} writes, but {holder_of(self._api)} leads: {write}"))
        return super().write(write)

    def _may_write(self) -> bool:
        """Returns whether it holds the Lease. If others changed the Lease, its holder may not know
        yet, and no other may take it."""
        if holder_of(self._api) == self._process.name:
            return True
        renewals = self._api.journal[LEASES]
        changed_ms = renewals[-1].time_ms if renewals and renewals[-1].by != BY else self._api.restored_ms
        is_recent = changed_ms is not None and self._api.now_ms() < changed_ms + RENEW_DEADLINE_S * 1000
        return is_recent and not self._process.another_leads()


class Replicas(Simulation):
    """Replicas: `processes` by name; a process that ends is restarted in its pod while `restarts`."""

    loop_type = FreezingLoop

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.processes: dict[str, Process] = {}
        self.restarts = True
        self.clock_errors_ms: dict[str, int] = defaultdict(int)  # of the wall clocks, by process

    def play(self, story: Callable[["Replicas"], Awaitable[None]]) -> None:
        self.run(lambda _: story(self))

    @property
    def leader(self) -> str:
        """Returns the leader's name, or an empty string."""
        return holder_of(self.api)

    def heard(self, kind: Kind[Any], until_ms: int) -> int:
        """Returns the last revision heard by the leader: only it assigns quota."""
        process = self.processes.get(self.leader)
        return process.connections[-1].heard(kind, until_ms) if process and process.connections else 0

    def calm_down(self) -> None:
        super().calm_down()
        for process in self.processes.values():
            process.cut = ""
            process.thaw()
            for connection in process.connections:
                connection.faults = self.faults

    async def _keep_controller(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in NAMES:
                tasks.create_task(self._keep_replica(name))

    async def _keep_replica(self, name: str) -> None:
        while True:
            process = self.processes[name] = Process(name)
            context = copy_context()
            context.run(PROCESS.set, process)
            alive = self._loop.create_task(self._replica(process), context=context)
            killed = asyncio.ensure_future(process.killed.wait())
            try:
                await asyncio.wait((alive, killed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                process.thaw()
                alive.cancel()
                killed.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await alive
            while not self.restarts:
                await asyncio.sleep(RESTARTS_S_MAX)
            await asyncio.sleep(self.random.uniform(RESTARTS_S_MIN, RESTARTS_S_MAX))

    async def _replica(self, process: Process) -> None:
        """Runs a replica assembled as in muster.controller.process."""
        connect = partial(
            Connection, self.api, self.random_of(process.name), self.faults, process, self._break
        )
        own, history = connect(self.network), History()
        now_ms = lambda: self.wall_clock_ms() + self.clock_errors_ms[process.name]  # noqa: E731
        election = Election(
            own,
            LEASE,
            process.name,
            clock_s=self._loop.time,
            now_ms=now_ms,
            random=self.random,
            history=history,
        )
        kube = connect(self.network)
        kube.write_seconds = election.write_seconds
        create = partial(
            Controller,
            kube,
            now_ms,
            election,
            [self.observer],
            configuration=self._configuration,
            clock_s=self._loop.time,
            random=self.random_of(f"retries of {process.name}"),
            history=history,
        )
        controllers = self.controllers[process.name] = Controllers(create, history)
        process.stop, process.leads = controllers.stop, lambda: election.is_leader
        process.another_leads = lambda: any(p.leads() for p in self.processes.values() if p is not process)
        try:
            await controllers.run()
        except* NotLeading:
            pass


def check_terms(api: Api) -> None:
    """Checks that a Lease changes its holder only a full term after the last renewal."""
    for before, change in pairwise(api.journal[LEASES]):
        was, now = (c.body["spec"].get("holderIdentity") for c in (before, change))
        if was and now and was != now and change.time_ms - before.time_ms < LEASE_S * 1000:
            raise Broken(f"{now} took the Lease from {was} after {change.time_ms - before.time_ms} ms")


def holder_of(api: Api) -> str:
    lease = api.find(LEASES, LEASE)
    return "" if lease is None else str(lease["spec"].get("holderIdentity") or "")
