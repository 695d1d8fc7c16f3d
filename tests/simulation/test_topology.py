"""Scenarios of gangs whose pods are placed on nodes."""

from muster.admission import HOSTNAME
from muster.kube import kinds
from muster.objects.names import REQUEST_LABEL
from sandbox.cluster.nodes import static_nodes
from settings.load import parse
from settings.manifests.objects import manifests
from tests.simulation.api import Body
from tests.simulation.manifests import local_stack
from tests.simulation.racks import hosts, make_ready, near, stack, status
from tests.simulation.simulation import Simulation
from tests.unit.settings.builders import EXISTING, FILE, L4, put


def join(sim: Simulation) -> None:
    """Labels the nodes as nodes of the only request."""
    (request,) = sim.api.all(kinds.PROVISIONING_REQUESTS)
    labels = {REQUEST_LABEL: f"resize-{request['metadata']['uid']}"}
    for node in sim.api.all(kinds.NODES):
        name = node["metadata"]["name"]
        sim.api.merge_patch(kinds.NODES, name, {"metadata": {"labels": labels}}, "cloud", False)


def ready_checks(sim: Simulation, key: str) -> bool:
    return any(check["state"] == "Ready" for check in status(sim, key).get("admissionChecks", ()))


def test_a_gang_runs_in_one_rack_once_its_nodes_are_ready() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(near("dev"))
        await sim.until(lambda: sim.has(dev, "QuotaReserved") is False, "dev waits for nodes")
        make_ready(sim)
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        assert hosts(sim, dev) in (["r1-a", "r1-b"], ["r2-a", "r2-b"])
        await sim.until(lambda: sim.state(dev) == "Complete", "dev completes")

    Simulation(1, stack(check=False)).run(story)


def test_a_gang_is_placed_when_its_nodes_are_provisioned() -> None:
    async def story(sim: Simulation) -> None:
        dev = sim.submit(near("dev"))
        await sim.until(lambda: sim.has(dev, "QuotaReserved"), "dev has quota")
        make_ready(sim)
        await sim.until(lambda: ready_checks(sim, dev), "its nodes are ready")
        assert not sim.has(dev, "Admitted")
        join(sim)
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        assert len(hosts(sim, dev)) == 2
        (workers,) = [
            assigned
            for assigned in status(sim, dev)["admission"]["podSetAssignments"]
            if "topologyAssignment" in assigned
        ]
        assert workers["delayedTopologyRequest"] == "Ready"

    Simulation(1, stack(check=True)).run(story)


def test_levels_of_a_stack_files_pool_are_those_of_its_nodes() -> None:
    """Covers the stack file, its flavor, Topology, the sandbox's nodes, and the controller's decision."""
    config = put(
        *L4,
        {
            "name": "l4",
            "machineType": "g2-standard-24",
            "gpu": {"type": "nvidia-l4", "count": 2},
            "nodes": {"max": 4},
            "topology": ["rack", HOSTNAME],
        },
    )
    settings = parse(config | {"muster:cluster": EXISTING}, FILE)
    created: dict[str, list[Body]] = {}
    for manifest in manifests(settings):
        created.setdefault(manifest["kind"], []).append(manifest)

    async def story(sim: Simulation) -> None:
        dev = sim.submit(near("dev"))
        await sim.until(lambda: sim.has(dev, "QuotaReserved") is False, "dev waits for nodes")
        make_ready(sim)
        await sim.until(lambda: sim.state(dev) == "Running", "dev runs")
        assert hosts(sim, dev) in (["gke-l4-0", "gke-l4-1"], ["gke-l4-2", "gke-l4-3"])

    objects = {
        **local_stack(check=False),
        kinds.FLAVORS: created["ResourceFlavor"],
        kinds.TOPOLOGIES: created["Topology"],
        kinds.NODES: static_nodes(settings.pools[1:]),
    }
    Simulation(1, objects).run(story)
