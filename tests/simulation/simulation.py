"""A cluster under virtual time: the real controller with emulated surroundings, from one seed.

All randomness comes from the seed, so a run can be replayed: `MUSTER_SEED=<seed> pytest …`.
The controller may be killed after any of its writes; a new one starts a little later.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from functools import partial
from random import Random
from typing import Any

from muster.configuration.configuration import DEFAULT, Configuration
from muster.controller.metrics.observer import Observer
from muster.controller.process.loop import Controller
from muster.controller.process.process import Controllers
from muster.kube import kinds
from muster.kube.history import History
from muster.kube.kinds import Kind
from tests.simulation import job_controller, jobset_controller, lws_controller
from tests.simulation.api import Api, Body, Change, key_of
from tests.simulation.autoscaler import Autoscaler
from tests.simulation.bounds import Bounds
from tests.simulation.clock import VirtualLoop
from tests.simulation.cluster import Cloud, GarbageCollector, Kubelets
from tests.simulation.creators import Creators
from tests.simulation.invariants import (
    Broken,
    Invariants,
    condition,
    holds_quota,
    is_suspended,
    owner_uid,
)
from tests.simulation.kube import CALM, EmulatedKube, Faults
from tests.simulation.kuberay import KubeRay, state_of
from tests.simulation.network import Network
from tests.simulation.ray_services import VERSIONS, RayServices, pruned

RESTARTS_S_MIN, RESTARTS_S_MAX = 0.1, 5.0  # longer than a request, so that none outlives its process
LOOKS_S, LOOKS_S_MAX = 0.05, 5.0
TRACE_LENGTH = 40
OTHERS_WRITES = 1000

Scenario = Callable[["Simulation"], Awaitable[None]]


class Simulation:
    """One cluster: `stack` are the platform's objects by kind, `nodes` is the cloud's number of GPU nodes.
    `kuberay` is a version; by default the seed chooses one."""

    loop_type = VirtualLoop

    def __init__(
        self,
        seed: int,
        stack: Mapping[Kind[Any], list[Body]],
        *,
        nodes: int = 10,
        faults: Faults = CALM,
        configuration: Configuration = DEFAULT,
        kuberay: str = "",
    ) -> None:
        self.seed, self.random, self.faults = seed, Random(seed), faults
        self.stack = stack
        self._configuration = configuration
        self._loop = self.loop_type()
        self.api = Api(self._loop.now_ms)
        self.invariants = Invariants(self.api, self.heard, configuration.retention)
        self.bounds = Bounds(self.api, lambda: round(self._loop.time() * 1000))
        self.api.watchers.append(self._check)
        self.network = Network(self.api.now_ms)
        self.clock_error_ms = 0  # of the controllers' wall clocks
        self.touched: dict[
            tuple[Kind[Any], str], float
        ] = {}  # objects that a tenant updates in a loop -> until when
        self.endless: set[str] = set()  # UIDs of jobs that do not end by themselves, because of a fault
        self.observer = Observer()
        self.controllers: dict[str, Controllers] = {}  # running ones, by name of their process
        self.cloud = Cloud(self.api, self.random_of("cloud"), nodes)
        self.kuberay = KubeRay(self.api, self.random_of("kuberay"))
        version = kuberay or self.random_of("version of KubeRay").choice(VERSIONS)
        self.services = RayServices(self.api, self.random_of("services"), version)
        self.api.pruned[kinds.RAY_SERVICES] = partial(pruned, version)
        self.api.immutable[kinds.BATCH_JOBS] = job_controller.refused_change
        self.api.immutable[kinds.JOB_SETS] = jobset_controller.refused_change
        self.autoscaler = Autoscaler(self.api, self.random_of("autoscaler"))
        self.kubelets = Kubelets(self.api, self.random_of("kubelets"), self.cloud)
        self.creators = Creators(self.api, self.random_of("creators"))
        self.kube: EmulatedKube | None = None
        self.kill_after: int | None = None  # a process after this many writes
        self._copied: tuple[int, dict[str, int]] | None = None  # the revision, and the cloud's nodes
        self._broken: Broken | None = None
        for kind, bodies in stack.items():
            for body in bodies:
                self.api.create(kind, body, "platform")

    def run(self, scenario: Scenario) -> None:
        """Raises the violation, with the seed and the last writes."""
        try:
            self._main = self._loop.create_task(self._run(scenario))
            self._loop.run_until_complete(self._main)
        except BaseException as error:
            broken = self._broken or error
            while isinstance(broken, BaseExceptionGroup):
                broken = broken.exceptions[0]
            broken.add_note(f"seed {self.seed}; the last writes:\n{self._trace()}")
            raise broken from None
        finally:
            self._loop.close()

    async def _run(self, scenario: Scenario) -> None:
        actors = (
            self.kuberay,
            self.services,
            self.autoscaler,
            self.kubelets,
            job_controller.JobController(self.api, self.random_of("job controller")),
            jobset_controller.JobSetController(self.api, self.random_of("jobset controller")),
            lws_controller.LeaderWorkerSetController(self.api, self.random_of("lws controller")),
            lws_controller.StatefulSetController(self.api, self.random_of("statefulset controller")),
            GarbageCollector(self.api, self.random_of("garbage collector")),
            self.cloud,
            self.creators,
        )
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(actor.run()) for actor in actors]
            running.append(tasks.create_task(self._keep_controller()))
            await scenario(self)
            for task in running:
                task.cancel()

    def _check(self, change: Change) -> None:
        try:
            self.invariants.check(change)
            self.bounds.check(change)
        except Broken as broken:
            self._break(broken)

    def _break(self, broken: Broken) -> None:
        self._broken = self._broken or broken
        self._main.cancel()

    async def _keep_controller(self) -> None:
        while True:
            random = self.random_of("controller")
            self.kube = EmulatedKube(self.api, random, self.faults, self.kill_after, self.network)
            history = History()
            controllers = self.controllers["one"] = Controllers(
                partial(
                    Controller,
                    self.kube,
                    self.wall_clock_ms,
                    observers=[self.observer],
                    configuration=self._configuration,
                    clock_s=self._loop.time,
                    random=self.random_of("retries"),
                    history=history,
                ),
                history,
            )
            alive = asyncio.ensure_future(controllers.run())
            killed = asyncio.ensure_future(self.kube.killed.wait())
            try:
                await asyncio.wait((alive, killed), return_when=asyncio.FIRST_COMPLETED)
                if alive.done():
                    alive.result()
            finally:
                alive.cancel()
                killed.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await alive
            await asyncio.sleep(self.random.uniform(RESTARTS_S_MIN, RESTARTS_S_MAX))

    def heard(self, kind: Kind[Any], until_ms: int) -> int:
        """Returns the last revision of this kind that the writing controller had received at that time."""
        return self.kube.heard(kind, until_ms) if self.kube is not None else 0

    def random_of(self, actor: str) -> Random:
        """Returns a separate random source per name, so that they do not influence each other."""
        return Random(f"{self.seed}/{actor}/{self.api.revision}")

    def wall_clock_ms(self) -> int:
        """Returns a controller's wall clock; the API server's is always right."""
        return self._loop.now_ms() + self.clock_error_ms

    def set_clock(self, seconds: float) -> None:
        """Moves the wall clock of all machines by this much."""
        self._loop.set_s += seconds

    def trouble(self, seconds: float) -> None:
        """Excuses a controller that notices or writes nothing for this long."""
        self.bounds.excuse(round(seconds * 1000))

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Runs it outside all processes."""
        self._loop.call_later(seconds, call, context=Context())

    def copy_etcd(self) -> None:
        """Copies the objects for `restore_etcd`. More writes follow than are emulated:
        renewals of Leases, heartbeats of nodes."""
        self._copied = self.api.revision, dict(self.cloud.nodes)
        self.api.revision += OTHERS_WRITES

    def restore_etcd(self) -> None:
        """Restores the last copy, if there is one, and restarts the API server: all connections break. Nodes
        that were there when it was copied have not been scaled down yet."""
        if self._copied is not None:
            revision, nodes = self._copied
            self._copied = None
            self.api.go_back(revision)
            self.invariants.go_back(revision)
            self.cloud.nodes |= nodes

    def kill(self) -> None:
        assert self.kube is not None
        self.kube.killed.set()

    def calm_down(self) -> None:
        """Ends all faults."""
        self.faults = CALM
        self.cloud.stock_outs = 0
        self.network.heal()
        self.clock_error_ms = 0
        if self.kube is not None:
            self.kube.faults = self.faults

    async def until(
        self, holds: Callable[[], bool], what: str, minutes: float = 5, why_not: Callable[[], object] = str
    ) -> None:
        """Waits until it holds, in virtual time."""
        end_s = self._loop.time() + minutes * 60
        while not holds():
            observed = self.api.revision
            while self.api.revision == observed:
                assert self._loop.time() < end_s, f"not within {minutes} minutes: {what} {why_not()}"
                await self.api.change(LOOKS_S_MAX)
            await asyncio.sleep(LOOKS_S)

    async def stays(self, holds: Callable[[], bool], what: str, minutes: float = 5) -> None:
        """Checks that it holds at every look for this long."""
        end_s = self._loop.time() + minutes * 60
        while self._loop.time() < end_s:
            assert holds(), f"no longer: {what}"
            await self.api.change(LOOKS_S_MAX)
            await asyncio.sleep(LOOKS_S)

    # actions of users

    def submit(self, job: Body) -> str:
        by_field: dict[str, Kind[Any]] = {
            "rayClusterSpec": kinds.RAY_JOBS,
            "rayClusterConfig": kinds.RAY_SERVICES,
            "parallelism": kinds.BATCH_JOBS,
            "replicatedJobs": kinds.JOB_SETS,
            "leaderWorkerTemplate": kinds.LEADER_WORKER_SETS,
        }
        (kind,) = [k for f, k in by_field.items() if f in job["spec"]] or [kinds.RAY_CLUSTERS]
        if kind is kinds.RAY_SERVICES and is_suspended(job):  # admission sets all fields that suspend it
            job = {**job, "spec": {**job["spec"], "suspend": True}}
        return key_of(self.api.create(kind, job, "user"))

    def patch(self, kind: Kind[Any], key: str, patch: Body) -> None:
        self.api.merge_patch(kind, key, patch, "user", False)

    # observations

    def job(self, key: str) -> Body:
        return self.api.get(kinds.RAY_JOBS, key)

    def state(self, key: str) -> str:
        return state_of(self.job(key))

    def workload(self, key: str, kind: Kind[Any] = kinds.RAY_JOBS) -> Body | None:
        uid = self.api.get(kind, key)["metadata"]["uid"]
        return next((w for w in self.api.all(kinds.WORKLOADS) if owner_uid(w) == uid), None)

    def has(self, key: str, kind: str, of: Kind[Any] = kinds.RAY_JOBS) -> bool:
        """Returns whether the condition of the job's Workload is True."""
        return condition(self.workload(key, of), kind).get("status") == "True"

    def waits(self, key: str) -> str:
        """Returns `reason: message` of QuotaReserved=False, or an empty string."""
        reported = condition(self.workload(key), "QuotaReserved")
        return f"{reported['reason']}: {reported['message']}" if reported.get("status") == "False" else ""

    def reserved(self) -> list[str]:
        return [key_of(w) for w in self.api.all(kinds.WORKLOADS) if holds_quota(w)]

    def pods_of(self, key: str) -> list[Body]:
        name = key.rpartition("/")[2]
        return [p for p in self.api.all(kinds.PODS) if p["metadata"]["name"].rsplit("-", 3)[0] == name]

    def requests(self) -> list[str]:
        return [r["metadata"]["name"] for r in self.api.all(kinds.PROVISIONING_REQUESTS)]

    def history(self, kind: Kind[Any], what: Callable[[Body], Any]) -> list[Any]:
        """Returns its values in order, without consecutive duplicates."""
        values: list[Any] = []
        for change in self.api.journal[kind]:
            value = what(change.body)
            if not values or values[-1] != value:
                values.append(value)
        return values

    def _trace(self) -> str:
        changes = sorted((c for j in self.api.journal.values() for c in j), key=lambda c: c.revision)
        events = [c for c in changes if c.kind is not kinds.EVENTS][-TRACE_LENGTH:]
        return "\n".join(
            f"  {c.time_ms / 1000 % 100_000:9.3f} {c.by:<18} {c.type:<8} {c.kind} {key_of(c.body)} {_say(c)}"
            for c in events
        )


def _say(change: Change) -> str:
    conditions = change.body.get("status", {}).get("conditions", [])
    true = [c["type"] for c in conditions if c["status"] == "True"]
    suspend = is_suspended(change.body)
    return f"{state_of(change.body)} {' '.join(true)}{' suspend' if suspend else ''}".strip()
