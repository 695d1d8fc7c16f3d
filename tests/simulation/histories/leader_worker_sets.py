"""Actions on LeaderWorkerSets, which serve until they are deleted."""

from typing import Any

from muster.kube import kinds
from tests.simulation.api import key_of
from tests.simulation.histories.actions import KINDS, Act, Draw, find
from tests.simulation.manifests import WORKER, leader_worker_set
from tests.simulation.simulation import Simulation

LWS = kinds.LEADER_WORKER_SETS


def draw_set(draw: Draw) -> dict[str, Any]:
    pick = draw.random.choice
    groups, size = pick(((1, 1), (1, 2), (2, 1), (2, 2)))
    return {
        "key": draw.new_key(LWS),
        "groups": groups,
        "size": size,
        "max_surge": pick((0, 0, 1)) if groups * size < 4 else 0,
        "has_leader": pick((True, False)),
        "priority": pick(("dev-priority", "dev-priority", "prod-priority", "")),
    }


def submit(sim: Simulation, key: str, has_leader: bool, **fields: Any) -> None:
    namespace, _, name = key.partition("/")
    leader: dict[str, Any] = {"leaderTemplate": WORKER} if has_leader else {}
    sim.submit(leader_worker_set(name, namespace=namespace, **fields, **leader))


def draw_submitted(draw: Draw) -> dict[str, Any]:
    return draw.job(LWS)


def update(sim: Simulation, kind: str, key: str) -> None:
    """Changes the workers' template, so that all groups are replaced."""
    find(sim, kind, key)
    image = {"metadata": {"annotations": {"image": str(sim.api.revision)}}}
    sim.patch(KINDS[kind], key, {"spec": {"leaderWorkerTemplate": {"workerTemplate": image}}})


def fail_pod(sim: Simulation, kind: str, key: str) -> None:
    """Fails one of its pods, so that the group restarts."""
    find(sim, kind, key)
    own = (pod for pod in sim.api.all(kinds.PODS) if key_of(pod).startswith(f"{key}-"))
    pod = next((pod for pod in own if pod["status"]["phase"] == "Running"), None)
    if pod is not None:
        failed = {"status": {"phase": "Failed"}}
        sim.api.merge_patch(kinds.PODS, key_of(pod), failed, "kubelet", True)


def stop(sim: Simulation, kind: str, key: str) -> None:
    """Stops it as a user may; its queue starts it again."""
    find(sim, kind, key)
    sim.patch(KINDS[kind], key, {"spec": {"replicas": 0}})


LEADER_WORKER_SETS = {
    "submit-leader-worker-set": Act(4, draw_set, submit),
    "update-leader-worker-set": Act(1, draw_submitted, update),
    "fail-leader-worker-set": Act(1, draw_submitted, fail_pod),
    "stop-leader-worker-set": Act(1, draw_submitted, stop),
}
