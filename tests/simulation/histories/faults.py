"""Faults: the network, the API server's answers, clocks, processes, objects deleted by hand."""

from typing import Any

from muster.controller.pacing.pacing import BACKOFF_MS_MAX
from muster.kube import kinds
from muster.kube.connection import REQUEST_TIMEOUT_S
from muster.kube.kinds import Kind
from muster.kube.lease import LEASE_S
from muster.kube.reflector import RETRY_S_MAX, SILENT_S_MAX
from tests.simulation.api import key_of
from tests.simulation.histories.actions import KINDS, Act, Draw, find
from tests.simulation.network import AFTER_COMMIT, Outage
from tests.simulation.replicas import Replicas
from tests.simulation.simulation import RESTARTS_S_MAX, Simulation

WATCHED: tuple[Kind[Any], ...] = (
    kinds.RAY_JOBS,
    kinds.RAY_CLUSTERS,
    kinds.BATCH_JOBS,
    kinds.JOB_SETS,
    kinds.LEADER_WORKER_SETS,
    kinds.WORKLOADS,
    kinds.PODS,
    kinds.PROVISIONING_REQUESTS,
    kinds.CLUSTER_QUEUES,
)
DEPENDENTS: tuple[Kind[Any], ...] = (
    kinds.WORKLOADS,
    kinds.PODS,
    kinds.POD_TEMPLATES,
    kinds.PROVISIONING_REQUESTS,
    kinds.RAY_CLUSTERS,
)


def draw_outage(draw: Draw) -> dict[str, Any]:
    pick = draw.random.choice
    return {
        "code": pick((422, 429, 500, AFTER_COMMIT)),
        "share": pick((0.1, 0.5, 1.0)),
        "seconds": pick((1, 5, 30)),
        "about": pick(("", "", *(f"{n}/" for n in draw.namespaces))),
    }


def fail_requests(sim: Simulation, code: int, share: float, seconds: float, about: str) -> None:
    until_ms = sim.api.now_ms() + round(seconds * 1000)
    sim.network.outages.append(Outage(code, share, until_ms, about))
    sim.trouble(seconds + RETRY_S_MAX + BACKOFF_MS_MAX / 1000)


def draw_lag(draw: Draw) -> dict[str, Any]:
    return {"lag_s": draw.random.choice((0.5, 3.0, 10.0)), "seconds": draw.random.choice((5, 30))}


def delay_watches(sim: Simulation, lag_s: float, seconds: float) -> None:
    sim.network.lag_s = lag_s
    sim.network.lag_until_ms = sim.api.now_ms() + round(seconds * 1000)
    sim.trouble(seconds + lag_s)


def draw_silence(draw: Draw) -> dict[str, Any]:
    count = draw.random.choice((1, 2, len(WATCHED)))
    return {"kinds": [k.name for k in draw.random.sample(WATCHED, count)]}


def silence_watches(sim: Simulation, kinds: list[str]) -> None:
    for name in kinds:
        sim.network.silenced_ms[KINDS[name]] = sim.api.now_ms()
    sim.trouble(SILENT_S_MAX + RETRY_S_MAX)


def draw_jump(draw: Draw) -> dict[str, Any]:
    return {"seconds": draw.random.choice((-3600, -30, -1, 1, 30, 3600))}


def jump(sim: Simulation, seconds: float) -> None:
    sim.clock_error_ms += round(seconds * 1000)


def draw_replica(draw: Draw) -> dict[str, Any]:
    return {"leader": draw.random.random() < 0.7}


def kill(sim: Simulation, leader: bool) -> None:
    sim.trouble(RESTARTS_S_MAX + LEASE_S)
    if not isinstance(sim, Replicas):
        sim.kill()
        return
    for name, process in sim.processes.items():
        if (name == sim.leader) == leader:
            process.killed.set()


def draw_pause(draw: Draw) -> dict[str, Any]:
    return {
        "seconds": draw.random.choice((1, 5, 12, 40)),
        "how": draw.random.choice(("freeze", "off", "answers")),
    }


def pause_leader(sim: Simulation, seconds: float, how: str) -> None:
    """Pauses the leader's process, or drops its requests or their answers; nothing with one replica."""
    process = sim.processes.get(sim.leader) if isinstance(sim, Replicas) else None
    if process is None:
        return
    sim.trouble(seconds + REQUEST_TIMEOUT_S + 2 * LEASE_S)
    if how == "freeze":
        process.frozen = True
        sim.later(seconds, process.thaw)
    else:
        process.cut = how
        sim.later(seconds, process.reconnect)


def draw_dependent(draw: Draw) -> dict[str, Any]:
    return {
        **draw.job(),
        "what": draw.random.choice(DEPENDENTS).name,
        "foreground": draw.random.random() < 0.2,
        "single": draw.random.random() < 0.5,
    }


def delete_dependents(
    sim: Simulation, kind: str, key: str, what: str, foreground: bool, single: bool
) -> None:
    """Deletes the objects of a kind that belong to a job, or the first one."""
    owners = {find(sim, kind, key)["metadata"]["uid"]}
    results: list[str] = []
    for _ in range(3):  # job, Workload, ProvisioningRequest, PodTemplate
        for dependent in DEPENDENTS:
            for body in sim.api.all(dependent):
                if owners & {o["uid"] for o in body["metadata"].get("ownerReferences", ())}:
                    owners.add(body["metadata"]["uid"])
                    if dependent.name == what and key_of(body) not in results:
                        results.append(key_of(body))
    if results and what == "ProvisioningRequest" and kind in ("Job", "JobSet"):
        # Its nodes are released: without a recoveryTimeout, a pod that is created later waits for them.
        sim.endless.add(find(sim, kind, key)["metadata"]["uid"])
    for dependent_key in results[:1] if single else results:
        sim.api.delete(KINDS[what], dependent_key, "administrator", foreground=foreground)


def copy_etcd(sim: Simulation) -> None:
    sim.copy_etcd()


def restore_etcd(sim: Simulation) -> None:
    """Restores etcd from the last copy, and restarts the API server."""
    sim.restore_etcd()
    sim.trouble(SILENT_S_MAX + 2 * LEASE_S)


NETWORK = {
    "fail-requests": Act(3, draw_outage, fail_requests),
    "delay-watches": Act(2, draw_lag, delay_watches),
    "silence-watches": Act(2, draw_silence, silence_watches),
}
CLOCKS = {"jump-clock": Act(1, draw_jump, jump)}
PROCESSES = {"kill": Act(2, draw_replica, kill), "pause-leader": Act(2, draw_pause, pause_leader)}
DELETIONS = {"delete-dependents": Act(1, draw_dependent, delete_dependents)}
ETCD = {
    "copy-etcd": Act(1, lambda draw: {}, copy_etcd),
    "restore-etcd": Act(1, lambda draw: {}, restore_etcd),
}
