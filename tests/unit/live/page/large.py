"""A large cluster: 1,000 queues in 20 cohorts, with 20,000 workloads."""

from collections.abc import Sequence
from typing import Any

from muster.kube import kinds
from muster.kube.kinds import Kind
from tests.simulation.manifests import PREEMPTION, cluster_queue, quotas, ray_job, stack
from tests.unit.controller.builders import Body
from tests.unit.live.builders import running, waiting

QUEUES, WORKLOADS, COHORTS, RUNNING_EACH = 1_000, 20_000, 20, 3
JOB = ray_job("job")


def large() -> dict[Kind[Any], Sequence[Body]]:
    """Returns its objects: three workloads of each queue run, the others wait."""
    cpu, gpu = quotas("cpu", cpu=1000, memory="4Ti", gpu=0), quotas("l4", cpu=1000, memory="4Ti", gpu=16)
    queues = [
        cluster_queue(f"team-{n}", cpu, gpu, cohort=f"unit-{n % COHORTS}", preemption=PREEMPTION)
        for n in range(QUEUES)
    ]
    cohorts = tuple({"metadata": {"name": f"unit-{n}"}, "spec": {"parentName": "ml"}} for n in range(COHORTS))
    states = running(JOB), waiting(JOB)
    return {
        **stack(*queues, cohorts=cohorts),
        kinds.WORKLOADS: [large_workload(n, *states) for n in range(WORKLOADS)],
    }


def large_workload(number: int, runs: Body, waits: Body) -> Body:
    """Returns the workload of this number, in the state of one of the given."""
    queue = f"team-{number % QUEUES}"
    of = runs if number < RUNNING_EACH * QUEUES else waits
    (owner,) = of["metadata"]["ownerReferences"]
    name = f"job-{number:05}"
    meta: Body = {"name": name, "namespace": queue, "uid": f"uid-{number}"}
    meta["ownerReferences"] = [{**owner, "name": name, "uid": f"job-uid-{number}"}]
    status = dict(of["status"])
    if "admission" in status:
        status["admission"] = {**status["admission"], "clusterQueue": queue}
    return {**of, "metadata": {**of["metadata"], **meta}, "status": status}
