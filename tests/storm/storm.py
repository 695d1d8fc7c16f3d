"""The storm: jobs are submitted during a sequence of faults; afterwards all jobs must end."""

import copy
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, TextIO

import yaml

from sandbox.cluster import kinds
from sandbox.cluster.controller_process import NAME as CONTROLLER
from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes
from tests.storm import replicas, verdict
from tests.storm.load import Load, configuration
from tests.storm.recorder import Recorder
from tests.storm.services import Services
from tests.storm.troubles import NAMESPACES, Troubles
from tools.toolchain.paths import CHECKOUT, RunState

JOBS_AT_ONCE_MAX = 12
SETTLES_S_MAX = 180.0
REQUEUE_S = 300.0
"""KubeRay v1.6.2 looks at an unchanged RayCluster after this time (controllers/ray/utils/constant.go:
RAYCLUSTER_DEFAULT_REQUEUE_SECONDS)."""


def storm(state: RunState, kubectl: Kubectl, seconds: float, seed: int, out: TextIO) -> list[str]:
    """Returns the violations, one sentence each. Leaves the sandbox without a controller."""
    random, processes = Random(seed), Processes(state)
    services = Services(processes)
    processes.stop(CONTROLLER)
    pair = [replicas.make(state, kubectl, name) for name in ("replica-one", "replica-two")]
    with closing(kinds.connect(state.kubeconfig)) as client:
        recorder = Recorder(client).start()
        troubles = Troubles(services, client, pair, random)

        def keep() -> None:
            services.keep()
            for replica in pair:
                replica.keep()

        load = Load(client, _jobs(random), JOBS_AT_ONCE_MAX, keep)
        try:
            load.run(troubles.any, seconds, random, out)
            late = load.settle(SETTLES_S_MAX)
            too_late = load.settle(REQUEUE_S) if late else {}
        finally:
            for replica in pair:
                replica.proxy.black_hole(False)
                replica.pause(False)
                replica.kill()
                replica.proxy.close()
        queues = configuration(client)
        events = recorder.stop()
    judged = verdict.judge(events, queues, troubles.outages)
    for creation, count in judged.unchecked_pods.items():
        print(f"not checked: {count} pods that KubeRay created {creation}", file=out)
    overdue = verdict.overdue(late, too_late, judged.delayed_jobs)
    wrong = [*judged.violations, *verdict.duplicates(events), *overdue]
    print(f"{load.submitted} jobs, {len(events)} revisions: {len(wrong)} wrong", file=out, flush=True)
    return wrong


def _jobs(random: Random) -> Iterator[Object]:
    """Yields variants of the dev example: sizes that fit a queue, both priorities, a few seconds."""
    example = yaml.safe_load(Path(CHECKOUT / "examples" / "dev-finetune.rayjob.yaml").read_text())
    number = 0
    while True:
        number += 1
        job: dict[str, Any] = copy.deepcopy(example)
        meta = job["metadata"]
        del meta["generateName"]
        meta["name"], meta["namespace"] = f"storm-{number}", random.choice(NAMESPACES)
        meta["labels"]["kueue.x-k8s.io/priority-class"] = random.choice(("dev-priority", "prod-priority"))
        meta["annotations"]["sandbox.muster.dev/run-seconds"] = str(random.choice((1, 2, 5)))
        workers = random.choice((1, 2, 4))
        for group in job["spec"]["rayClusterSpec"]["workerGroupSpecs"]:
            group["replicas"] = group["minReplicas"] = group["maxReplicas"] = workers
        yield job
