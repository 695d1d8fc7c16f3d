"""The storm: jobs are submitted during a sequence of faults; afterwards all jobs must end."""

import contextlib
import copy
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, TextIO

import httpx2
import yaml
from lightkube import Client
from lightkube.core.exceptions import ApiError

from muster.kube import kinds as ours
from sandbox.cluster import kinds
from sandbox.cluster.controller_process import NAME as CONTROLLER
from sandbox.cluster.kinds import Object
from sandbox.cluster.kubectl import Kubectl
from sandbox.cluster.processes import Processes, wait_until
from tests.storm import replicas, verdict
from tests.storm.recorder import Recorder
from tests.storm.services import Services
from tests.storm.troubles import NAMESPACES, Troubles
from tools.toolchain.paths import CHECKOUT, RunState
from tools.toolchain.steps import StepError

TROUBLE_S = (0.5, 6.0)
JOBS_AT_ONCE_MAX = 12  # unfinished ones; more would only wait
SETTLES_S_MAX = 180.0
REQUEUE_S = 300.0
"""KubeRay v1.6.2 looks at an unchanged RayCluster after this time (controllers/ray/utils/constant.go:
RAYCLUSTER_DEFAULT_REQUEUE_SECONDS)."""
CONFIGURATION: dict[ours.Kind[Any], kinds.Kind] = {
    ours.CLUSTER_QUEUES: kinds.ClusterQueue,
    ours.LOCAL_QUEUES: kinds.LocalQueue,
    ours.COHORTS: kinds.Cohort,
    ours.PRIORITIES: kinds.WorkloadPriorityClass,
}


def storm(state: RunState, kubectl: Kubectl, seconds: float, seed: int, out: TextIO) -> list[str]:
    """Returns the violations, one sentence each. Leaves the sandbox without a controller."""
    random, processes = Random(seed), Processes(state)
    services = Services(processes)
    processes.stop(CONTROLLER)
    pair = [replicas.make(state, kubectl, name) for name in ("replica-one", "replica-two")]
    with closing(kinds.connect(state.kubeconfig)) as client:
        recorder = Recorder(client).start()
        troubles = Troubles(services, client, pair, random)
        try:
            submitted = _blow(troubles, services, pair, client, seconds, random, out)
            late = _settle(services, pair, client, SETTLES_S_MAX)
            too_late = _settle(services, pair, client, REQUEUE_S) if late else {}
        finally:
            for replica in pair:
                replica.proxy.black_hole(False)
                replica.pause(False)
                replica.kill()
                replica.proxy.close()
        configuration = [
            (kind, dict(obj))
            for kind, resource in CONFIGURATION.items()
            for obj in client.list(resource, namespace="*" if kind.namespaced else None)
        ]
        events = recorder.stop()
    judged = verdict.judge(events, configuration, troubles.outages)
    overdue = verdict.overdue(late, too_late, judged.delayed_jobs)
    wrong = [*judged.violations, *verdict.duplicates(events), *overdue]
    print(f"{submitted} jobs, {len(events)} revisions: {len(wrong)} wrong", file=out, flush=True)
    return wrong


def _blow(
    troubles: Troubles,
    services: Services,
    pair: list[replicas.Replica],
    client: Client,
    seconds: float,
    random: Random,
    out: TextIO,
) -> int:
    """Submits jobs during faults; returns how many were submitted."""
    end, jobs = time.monotonic() + seconds, _jobs(random)
    submitted = 0
    while (left_s := end - time.monotonic()) > 0:
        services.keep()
        for replica in pair:
            replica.keep()
        name, trouble = troubles.any()
        lasts_s = min(left_s, random.uniform(*TROUBLE_S))
        print(f"  {name} for {lasts_s:.1f} s", file=out, flush=True)
        with trouble:
            until = time.monotonic() + lasts_s
            while time.monotonic() < until:
                submitted += _submit(client, jobs)
                time.sleep(random.uniform(0.2, 1.0))
    return submitted


def _submit(client: Client, jobs: Iterator[Object]) -> int:
    """Submits one job, unless there are enough or the API server does not respond."""
    with contextlib.suppress(ApiError, httpx2.HTTPError):
        if len(verdict.unended(client.list(kinds.RayJob, namespace="*"))) < JOBS_AT_ONCE_MAX:
            client.create(kinds.RayJob(next(jobs)))
            return 1
    return 0


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


def _settle(
    services: Services, pair: list[replicas.Replica], client: Client, seconds_max: float
) -> dict[str, str]:
    """Returns the states of jobs that have not finished although the faults have ended."""
    unsettled = {"the API server": "not responding"}

    def settled() -> bool:
        nonlocal unsettled
        services.keep()
        for replica in pair:
            replica.keep()
        with contextlib.suppress(ApiError, httpx2.HTTPError):
            unsettled = verdict.unended(client.list(kinds.RayJob, namespace="*"))
        return not unsettled

    with contextlib.suppress(StepError):
        wait_until("the end of all jobs", settled, seconds_max, pause_seconds=1.0)
    return unsettled
