"""The storm on real nodes: small Ray jobs run during faults of nodes and of the platform's pods."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import closing
from random import Random
from typing import Any, TextIO

import yaml

from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes
from sandbox.realnodes.cluster import NODES_FOLDER
from sandbox.scenario import EXAMPLES
from tests.storm import verdict
from tests.storm.load import Load, configuration
from tests.storm.real_faults import RealFaults
from tests.storm.recorder import Recorder
from tests.storm.services import Services
from tools.toolchain.paths import RunState

JOBS_AT_ONCE_MAX = 4
"""Two fit into the queue's quota at a time; more would keep the machine's cores from starting Ray's heads."""
SETTLES_S_MAX = 900.0
"""Four jobs in sequence; a Ray head needs up to two minutes on a busy machine."""
PRIORITIES = ("dev-priority", "prod-priority")
_ENTRYPOINT = "python -c \"import time; time.sleep({seconds}); print('done')\""


def storm_on_real_nodes(
    state: RunState, kubectl: Kubectl, seconds: float, seed: int, out: TextIO, faults: Sequence[str] = ()
) -> list[str]:
    """Returns the violations, one sentence each. `faults` are names of RealFaults.faults; all by default.

    A job whose head is lost with its node fails, unless its gang is evicted before; if `faults` are
    only faults of the platform, failed jobs are violations.
    """
    random, processes = Random(seed), Processes(state)
    nodes = sorted(path.name for path in (state.root / NODES_FOLDER).iterdir())
    services = Services(processes, nodes)
    with closing(kinds.connect(state.kubeconfig)) as client:
        recorder = Recorder(client).start()
        chosen = RealFaults(state, kubectl, random, nodes, services, faults)
        load = Load(client, _jobs(random), JOBS_AT_ONCE_MAX, services.keep)
        load.run(chosen.any, seconds, random, out)
        late = load.settle(SETTLES_S_MAX)
        queues = configuration(client)
        jobs = [dict(job) for job in client.list(kinds.RayJob, namespace="*")]
        events = recorder.stop()
    judged = verdict.judge(events, queues, chosen.outages)
    wrong = [*judged.violations, *verdict.duplicates(events), *verdict.several_workloads(events)]
    wrong += [f"{key} is {state}" for key, state in late.items()]
    if faults:
        wrong += verdict.failures(jobs)
    counts = f"{verdict.outcomes(jobs)}; {len(verdict.preempted(events))} preempted"
    revisions = f"{len(events)} revisions: {len(wrong)} wrong"
    print(f"{load.submitted} jobs ({counts}), {revisions}", file=out, flush=True)
    return wrong


def _jobs(random: Random) -> Iterator[Object]:
    """Yields jobs of both priorities with and without a worker, which run for some seconds.

    The first two have the lower priority and use the queue's quota, so that the third preempts one of them.
    """
    example = yaml.safe_load((EXAMPLES / "cpu-batch.rayjob.yaml").read_text())
    number = 0
    while True:
        number += 1
        job: dict[str, Any] = copy.deepcopy(example)
        meta, spec = job["metadata"], job["spec"]["rayClusterSpec"]
        del meta["generateName"]
        meta["name"] = f"storm-{number}"
        priority = random.choice(PRIORITIES)
        first = {1: PRIORITIES[0], 2: PRIORITIES[0], 3: PRIORITIES[1]}
        meta["labels"]["kueue.x-k8s.io/priority-class"] = first.get(number, priority)
        job["spec"]["entrypoint"] = _ENTRYPOINT.format(seconds=random.choice((1, 10, 30)))
        if random.choice((True, False)):
            spec["workerGroupSpecs"] = []
        for group, cpu in ((spec["headGroupSpec"], "500m"), *((g, "200m") for g in spec["workerGroupSpecs"])):
            (container,) = group["template"]["spec"]["containers"]
            container["resources"]["requests"]["cpu"] = cpu
        yield job
