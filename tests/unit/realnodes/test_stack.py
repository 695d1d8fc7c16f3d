"""The stack file of a sandbox with real nodes, and the examples that its scenario submits."""

import yaml

from muster.admission.quantities import parse
from sandbox.cluster.kinds import Object
from sandbox.realnodes.environment import has_accelerators
from sandbox.scenario import EXAMPLES
from sandbox.scenarios.fit import SUBMITTER
from sandbox.scenarios.gangs import cluster_spec
from sandbox.stack_file import REAL_NODES_CPUS, read, stack_for


def gang_cpus(name: str) -> int:
    """Returns the CPUs of a RayJob's gang, with its submitter, in the core's units."""
    documents = yaml.safe_load_all((EXAMPLES / name).read_text())
    job: Object = next(document for document in documents if document["kind"] == "RayJob")
    spec = cluster_spec(job)
    groups = [(1, spec["headGroupSpec"]), *((g["replicas"], g) for g in spec["workerGroupSpecs"])]
    requests: list[int] = [
        int(count) * parse("cpu", container["resources"]["requests"]["cpu"])
        for count, group in groups
        for container in group["template"]["spec"]["containers"]
    ]
    return sum(requests) + parse("cpu", SUBMITTER["cpu"])


def test_training_fills_the_queue_so_that_production_has_to_preempt_it() -> None:
    training, production = gang_cpus("cpu-train.rayjob.yaml"), gang_cpus("cpu-batch.rayjob.yaml")
    quota = parse("cpu", REAL_NODES_CPUS)
    assert training <= quota
    assert production <= quota
    assert training + production > quota


def test_real_nodes_change_the_first_queue_and_say_so() -> None:
    stack_file = read("muster", real_nodes=True)
    (queue, *_) = stack_file.content["config"]["muster:queues"]["clusterQueues"]
    assert queue["quotas"]["cpu"]["cpu"] == {"nominal": REAL_NODES_CPUS, "borrowingLimit": 0}
    assert stack_file.settings.controller is not None
    assert stack_file.settings.controller.wait_for_pods_ready is not None
    assert stack_file.changes == [
        "queue team-a has 2500m of CPU on real nodes, 100m on simulated GPU nodes",
        "heads of tenants reach the API server, which Ray's autoscaler needs",
        "queue team-a has 3 devices of gpu.example.com, by claims",
        "a gang is evicted 30 s after its node is lost",
    ]


def test_simulated_nodes_change_nothing() -> None:
    _, changes = stack_for("muster")
    assert changes == []


def test_nodes_with_gpus_are_simulated_next_to_real_nodes() -> None:
    pools = read("kai", real_nodes=True).settings.pools
    assert {pool.name: has_accelerators(pool) for pool in pools} == {"system": False, "l4": True}
