"""Plays a history to its end and returns the broken rule, if any.

1. The actions. 2. All faults stop and the administrators restore the stack: a gang of the highest priority
gets its quota in each queue that preempts, whatever tenants did. 3. Distrusted jobs are taken away: all
others end. 4. All jobs are deleted: nothing is left, remembered or busy.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any

from muster.kube import kinds
from muster.objects.names import STOP_ANNOTATION
from tests.simulation.api import Body, Refused, key_of
from tests.simulation.full_passes import compared
from tests.simulation.histories import rest
from tests.simulation.histories.actions import JOB_KINDS, perform
from tests.simulation.histories.administrators import restore
from tests.simulation.histories.generate import ACTIONS
from tests.simulation.histories.history import History
from tests.simulation.histories.stacks import CONFIGURATIONS, FAULTS, NODES, PROBES, STACKS
from tests.simulation.histories.tenants import RUNS, TOO_MANY
from tests.simulation.invariants import Broken, condition, holds_quota, is_without_job
from tests.simulation.job_controller import is_ended
from tests.simulation.jobset_controller import is_over
from tests.simulation.kuberay import FINALIZER, state_of
from tests.simulation.kuberay_pods import REDIS_FINALIZER
from tests.simulation.manifests import ray_job
from tests.simulation.ray_services import FINALIZER as SERVICE_FINALIZER
from tests.simulation.replicas import Replicas, check_terms
from tests.simulation.simulation import Simulation

TOUCH_S, NO_TOUCH_S = 0.01, 0.2  # between writes of a loop; between looks for new loops
RESTORE_S = 2.0
COMPARED_EVERY = 4  # in every fourth history each pass is compared with a full one, which costs as much again
PROBE_MINUTES, ENDS_MINUTES, GONE_MINUTES = 5.0, 40.0, 10.0
KUBERAY_FINALIZERS = (FINALIZER, SERVICE_FINALIZER, REDIS_FINALIZER)
HOPELESS = {"Misconfigured", "ExceedsMaxQuota", "NoMatchingFlavor"}
HIGHEST = {"metadata": {"name": "highest"}, "value": 1_000_000}


@dataclass(frozen=True)
class Failure:
    """A failure; `rule` is the same for histories that break in the same way."""

    rule: str
    message: str


def play(history: History, sim: Simulation | None = None) -> Failure | None:
    """`sim`: where, if the caller wants to look at it afterwards."""
    sim, exceptions = sim or make(history), rest.Exceptions()
    logger = logging.getLogger("muster")
    logger.addHandler(exceptions)
    logger.propagate = False
    try:
        with compared(history.seed % COMPARED_EVERY == 0):
            sim.run(lambda sim: tell(sim, history))
    except Exception as error:
        notes = "\n".join(getattr(error, "__notes__", ()))
        rule = getattr(error, "rule", "") or type(error).__name__
        return Failure(rule, f"{error}\n{notes}")
    finally:
        logger.removeHandler(exceptions)
        logger.propagate = True
    return Failure("logged", exceptions.messages[0]) if exceptions.messages else None


def make(history: History) -> Simulation:
    kind = Simulation if history.replicas == 1 else Replicas
    stack = STACKS[history.stack]()
    stack[kinds.PRIORITIES] = [*stack[kinds.PRIORITIES], HIGHEST]
    sim = kind(
        history.seed,
        stack,
        nodes=NODES,
        faults=FAULTS[history.faults],
        configuration=CONFIGURATIONS[history.stack],
    )
    sim.observer = rest.Passes()
    return sim


async def tell(sim: Simulation, history: History) -> None:
    async with _beside(_touch(sim)):
        for action in history.actions:
            await asyncio.sleep(action.after_s)
            perform(sim, ACTIONS[action.do], dict(action.arguments))
        sim.calm_down()
        sim.cloud.nodes_max = 1000
        async with _beside(_restore(sim)):
            sim.touched = dict.fromkeys(sim.touched, float("inf"))
            probes = PROBES[history.stack]
            leaving = [queue for queue in probes if _is_leaving(sim, queue)]
            for namespace in (n for n in probes if n not in leaving):
                await _probe(sim, namespace, probes[namespace])
            sim.touched.clear()
            _stop_users(sim)
            for namespace in leaving:
                await _probe(sim, namespace, probes[namespace])
            await _until(sim, "ends", lambda: unsettled(sim), ENDS_MINUTES)
            await _take_all_away(sim)
    gone = rest.gone(sim)
    for namespace in PROBES[history.stack]:  # these evict the state kept for the last decision
        sim.submit(ray_job("last", namespace=namespace, workers=1, seconds=1))
    await _until(sim, "ends", lambda: unsettled(sim), ENDS_MINUTES)
    await _take_all_away(sim)
    await asyncio.sleep(rest.REST_S / 2)
    await check_idle(sim, gone)


@contextlib.asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs it in the background, and ignores its result."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


async def _take_all_away(sim: Simulation) -> None:
    for kind in JOB_KINDS:
        for job in sim.api.all(kind):
            take_away(sim, kind, job)
    for workload in sim.api.all(kinds.WORKLOADS):
        if is_without_job(workload):
            sim.api.delete(kinds.WORKLOADS, key_of(workload), "administrator")
    for pod in sim.api.all(kinds.PODS):
        ended = pod["status"]["phase"] in ("Succeeded", "Failed")
        if ended and not pod["metadata"].get("ownerReferences"):  # holds no resources, and stays
            sim.api.delete(kinds.PODS, key_of(pod), "administrator")
    await _until(sim, "gone", lambda: rest.leftovers(sim), GONE_MINUTES)


async def _until(sim: Simulation, rule: str, wrong: Any, minutes: float) -> None:
    try:
        await sim.until(lambda: not wrong(), rule, minutes, wrong)
    except AssertionError as late:
        late.rule = rule  # type: ignore[attr-defined]  # as of Broken
        raise


async def _touch(sim: Simulation) -> None:
    """Runs the loops of tenants that update their jobs."""
    while True:
        now_ms = sim.api.now_ms()
        still = [key for key, until_ms in sim.touched.items() if now_ms < until_ms]
        for kind, key in still:
            with contextlib.suppress(Refused):
                patch = {"metadata": {"annotations": {"touched": str(now_ms)}}}
                sim.api.merge_patch(kind, key, patch, "tenant", False)
        await asyncio.sleep(TOUCH_S if still else NO_TOUCH_S)


async def _restore(sim: Simulation) -> None:
    """Retries, because an object cannot be restored while it is being deleted."""
    while True:
        with contextlib.suppress(Refused):
            restore(sim)
        await asyncio.sleep(RESTORE_S)


async def _probe(sim: Simulation, namespace: str, workers: int) -> None:
    """Submits a gang that must be admitted soon, and waits for its admission."""
    body = ray_job("probe", namespace=namespace, workers=workers, priority="highest", seconds=2)
    key = sim.submit(body)
    admitted = lambda: [] if sim.has(key, "Admitted") or sim.has(key, "Finished") else [sim.waits(key)]  # noqa: E731
    await _until(sim, "preempts", admitted, PROBE_MINUTES)


def _is_leaving(sim: Simulation, queue: str) -> bool:
    """Returns whether the ClusterQueue is being deleted: it admits nothing until all its gangs have ended."""
    existing = sim.api.find(kinds.CLUSTER_QUEUES, queue)
    return existing is not None and "deletionTimestamp" in existing["metadata"]


def _stop_users(sim: Simulation) -> None:
    """Deletes jobs that would never end, gangs too large for a queue, which block those behind them, and jobs
    changed by hostile actions. Resumes stopped jobs."""
    for kind in JOB_KINDS:
        for job in sim.api.all(kind):
            if STOP_ANNOTATION in job["metadata"].get("annotations", {}):
                sim.patch(kind, key_of(job), {"metadata": {"annotations": {STOP_ANNOTATION: None}}})
            if "ownerReferences" in job["metadata"] and sim.invariants.trusts(job):
                continue
            groups = job["spec"].get("rayClusterSpec", {}).get("workerGroupSpecs", [{}])
            endless = kind not in RUNS or groups[0].get("replicas") == TOO_MANY
            endless |= job["metadata"]["uid"] in sim.endless
            if endless or not sim.invariants.trusts(job):
                take_away(sim, kind, job)
    for pod in sim.api.all(kinds.PODS):
        if pod["metadata"].get("finalizers"):
            sim.api.merge_patch(
                kinds.PODS, key_of(pod), {"metadata": {"finalizers": None}}, "administrator", False
            )
        if pod["metadata"]["namespace"] == "stranger":
            sim.api.delete(kinds.PODS, key_of(pod), "administrator")


def take_away(sim: Simulation, kind: kinds.Kind[Any], job: Body) -> None:
    """Deletes a job, and removes foreign finalizers and owners."""
    existing = sim.api.find(kind, key_of(job))
    if existing is None:
        return
    meta = existing["metadata"]
    finalizers_left = [f for f in meta.get("finalizers", ()) if f in KUBERAY_FINALIZERS]
    patch: Body = {"metadata": {"finalizers": finalizers_left}, "spec": {"managedBy": None}}
    with contextlib.suppress(Refused):
        if "deletionTimestamp" not in meta:
            sim.api.delete(kind, key_of(job), "administrator")
        sim.api.merge_patch(kind, key_of(job), patch, "administrator", False)


async def check_idle(sim: Simulation, gone: set[str]) -> None:
    passes: Any = sim.observer
    before, since = passes.count, sim.api.revision
    if isinstance(sim, Replicas):
        check_terms(sim.api)
    await asyncio.sleep(rest.REST_S)
    written = [
        c
        for kind, journal in sim.api.journal.items()
        if kind is not kinds.LEASES
        for c in journal
        if c.revision > since
    ]
    try:
        rest.check_at_rest(sim, passes.count - before, len(written), gone)
    except Broken as broken:
        broken.rule = "rest"
        raise


def unsettled(sim: Simulation) -> list[str]:
    """Returns what is not yet settled after the users have stopped."""
    remaining = [f"{key_of(r)} is left" for r in sim.api.all(kinds.PROVISIONING_REQUESTS)]
    remaining += [f"{key_of(w)} holds quota" for w in sim.api.all(kinds.WORKLOADS) if holds_quota(w)]
    remaining += [f"{key_of(p)} lives" for p in sim.api.all(kinds.PODS) if p["status"]["phase"] == "Running"]
    jobs = [(kind, job) for kind in RUNS for job in sim.api.all(kind) if not is_part(job)]
    remaining += [f"{kind} {key_of(j)} is {state_of(j)}" for kind, j in jobs if not settled(sim, kind, j)]
    for queue in (*sim.api.all(kinds.CLUSTER_QUEUES), *sim.api.all(kinds.LOCAL_QUEUES)):
        status = queue.get("status", {})
        totals = {r["total"] for f in status.get("flavorsReservation", []) for r in f["resources"]}
        if totals - {"0"} or status.get("reservingWorkloads") != 0:
            remaining.append(f"{key_of(queue)} reports usage")
    return remaining


def is_part(job: Body) -> bool:
    """Returns whether it is a Job that an operator created."""
    owners = (owner["kind"] for owner in job["metadata"].get("ownerReferences", ()))
    return any(owner == kinds.JOB_SETS.name or owner.startswith("Ray") for owner in owners)


def settled(sim: Simulation, kind: kinds.Kind[Any], job: Body) -> bool:
    workload = sim.workload(key_of(job), kind)
    if state_of(job) in ("Complete", "Failed") or is_ended(job) or is_over(job):
        return workload is None or condition(workload, "Finished").get("status") == "True"
    if workload is None:
        return False
    reserved = condition(workload, "QuotaReserved")
    reported = reserved.get("reason") in HOPELESS or not workload["spec"]["active"]
    return reserved.get("status") == "False" and bool(reserved["message"]) and reported
