"""Nodes that fail under a running gang: their pods are deleted, or stay until the node is deleted."""

import pytest

from muster.configuration.configuration import parse as configured
from muster.kube import kinds
from tests.simulation.api import Body, key_of
from tests.simulation.cluster import READY_ON_LOST_NODE
from tests.simulation.invariants import condition
from tests.simulation.manifests import local_stack, ray_job
from tests.simulation.racks import hosts, make_ready, near
from tests.simulation.racks import stack as topology_stack
from tests.simulation.simulation import Simulation
from tools.testing.effort import seeds

SEEDS = seeds(0, 1)
LONG_S = 3000.0
WAIT = configured('{"waitForPodsReady": {"timeout": "20m", "recoveryTimeout": "3m"}}')


def a_worker(sim: Simulation, key: str) -> Body:
    return next(pod for pod in sim.pods_of(key) if "-gpu-" in pod["metadata"]["name"])


def lose_a_node(sim: Simulation, key: str) -> None:
    """Deletes one of the gang's nodes, and then its pod as Kubernetes' garbage collector does."""
    (request,) = sim.cloud.nodes
    sim.cloud.nodes[request] -= 1
    sim.api.remove(kinds.PODS, key_of(a_worker(sim, key)), "pod garbage collector")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_that_lost_a_node_is_evicted_and_gets_new_nodes(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=LONG_S))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        lose_a_node(sim, dev)
        await sim.until(lambda: ready_reason(sim, dev) == "WaitForRecovery", "the loss is noticed", 0.5)
        await sim.until(lambda: sim.has(dev, "Evicted"), "dev is evicted", 4)
        assert condition(sim.workload(dev), "Evicted")["reason"] == "PodsReadyTimeout"
        await sim.until(lambda: not sim.requests(), "its request is deleted")
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs again, on new nodes")
        assert sum(sim.cloud.nodes.values()) == 4

    Simulation(seed, local_stack(), configuration=WAIT).run(story)


def ready_reason(sim: Simulation, key: str) -> str:
    return str(condition(sim.workload(key), "PodsReady").get("reason", ""))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_whose_lost_pod_runs_again_in_time_stays(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=LONG_S))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        sim.api.remove(kinds.PODS, key_of(a_worker(sim, dev)), "user")
        await sim.until(lambda: ready_reason(sim, dev) == "Recovered", "its pod runs again", 1)
        await sim.stays(lambda: not sim.has(dev, "Evicted"), "dev runs", 5)

    Simulation(seed, local_stack(), configuration=WAIT).run(story)


def lose_its_node(sim: Simulation, pod: Body) -> None:
    """Disconnects the pod's kubelet; the node controller then sets its Ready to False, without a reason."""
    sim.kubelets.lost.add(pod["metadata"]["uid"])
    not_ready = {"status": {"conditions": [READY_ON_LOST_NODE]}}
    sim.api.merge_patch(kinds.PODS, key_of(pod), not_ready, "node controller", True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_on_a_lost_node_is_evicted_and_runs_again_once_the_node_is_deleted(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=LONG_S))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        lost = a_worker(sim, dev)
        lose_its_node(sim, lost)
        sim.trouble(20 * 60)  # its quota cannot be released within the usual bounds
        await sim.until(lambda: sim.has(dev, "Evicted"), "dev is evicted, although no pod was deleted", 4)
        uid = lost["metadata"]["uid"]
        await sim.until(
            lambda: [pod["metadata"]["uid"] for pod in sim.pods_of(dev)] == [uid], "only its pod remains"
        )
        await sim.stays(lambda: sim.has(dev, "QuotaReserved"), "it holds its quota", 3)
        sim.api.remove(kinds.PODS, key_of(lost), "pod garbage collector")
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs again")

    Simulation(seed, local_stack(), configuration=WAIT).run(story)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_on_an_unreachable_node_holds_its_quota_until_the_node_is_deleted(seed: int) -> None:
    """The controller cannot know whether it still runs there."""

    async def story(sim: Simulation) -> None:
        dev = sim.submit(ray_job("dev", seconds=LONG_S))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        lost = a_worker(sim, dev)
        sim.kubelets.lost.add(lost["metadata"]["uid"])
        sim.trouble(20 * 60)  # its quota cannot be released within the usual bounds
        prod = sim.submit(ray_job("prod", priority="prod-priority"))
        await sim.until(lambda: sim.has(dev, "SuspensionBlocked"), "what blocks the preemption is reported")
        blocked = condition(sim.workload(dev), "SuspensionBlocked")
        assert (blocked["reason"], lost["metadata"]["name"] in blocked["message"]) == (
            "PodsTerminating",
            True,
        )
        await sim.stays(lambda: not sim.has(prod, "QuotaReserved"), "prod waits", 10)
        sim.api.remove(kinds.PODS, key_of(lost), "pod garbage collector")
        await sim.until(lambda: sim.state(prod) == "Complete", "prod runs")

    Simulation(seed, local_stack()).run(story)


def lose_a_host(sim: Simulation, key: str) -> str:
    """Makes one of the gang's hosts unreachable, and deletes its pod; returns the host."""
    host = hosts(sim, key)[0]
    not_ready = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    sim.api.merge_patch(kinds.NODES, host, not_ready, "node controller", True)
    sim.kubelets.lost_hosts.add(host)
    sim.api.remove(kinds.PODS, key_of(a_worker(sim, key)), "pod garbage collector")
    return host


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_with_a_topology_leaves_a_lost_host(seed: int) -> None:
    async def story(sim: Simulation) -> None:
        make_ready(sim)
        dev = sim.submit(near("dev", seconds=LONG_S))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        host = lose_a_host(sim, dev)
        await sim.until(lambda: sim.has(dev, "Evicted"), "dev is evicted", 4)
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs again")
        assert host[:2] not in {name[:2] for name in hosts(sim, dev)}, (
            "no longer in the rack of the lost host"
        )

    Simulation(seed, topology_stack(check=False), configuration=WAIT).run(story)


def test_a_gang_with_a_topology_waits_if_no_rack_is_whole() -> None:
    async def story(sim: Simulation) -> None:
        make_ready(sim)
        dev = sim.submit(near("dev", seconds=LONG_S))
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs")
        other = "r2-a" if hosts(sim, dev)[0].startswith("r1") else "r1-a"
        sim.api.delete(kinds.NODES, other, "cloud")
        lose_a_host(sim, dev)
        await sim.until(lambda: "allows to fit" in sim.waits(dev), "its reason is reported", 10)
        make_ready(sim)
        sim.kubelets.lost_hosts.clear()
        await sim.until(lambda: sim.has(dev, "PodsReady"), "dev runs again")

    Simulation(1, topology_stack(check=False), configuration=WAIT).run(story)
