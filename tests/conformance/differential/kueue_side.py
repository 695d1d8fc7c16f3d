"""The real Kueue on one API server, with many scenarios run concurrently."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lightkube import Client

from muster import admission as core
from muster.objects import kueue_queues
from sandbox.cluster import kinds, kueue_process
from sandbox.cluster.control_plane import create_crds, start_control_plane
from sandbox.cluster.processes import Processes, wait_until
from tests.conformance.differential.core_side import Objects
from tests.conformance.differential.patience import PatientClient
from tests.conformance.differential.scenario import FAIR, Scenario, prefixed
from tests.conformance.differential.stage import KINDS, Play, Stage
from tests.conformance.objects import view
from tools.toolchain.crds import ensure_crds
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen
from tools.toolchain.tools import CLUSTER_TOOLS

SET_UP_THREADS = 8
HEARD_SECONDS, HEARD_SECONDS_MAX = 3.0, 60.0  # until Kueue has received new queues
_STRATEGIES = [strategy.value for strategy in core.FairSharing().strategies]
FAIR_SETTINGS = {"fairSharing": {"preemptionStrategies": _STRATEGIES}}
Progress = Callable[[str], None]


@contextmanager
def cluster(state: RunState, screen: Screen) -> Iterator[tuple[Processes, Mapping[str, Path]]]:
    """Starts a control plane with Kueue's CRDs, without Kueue. Builds tools that are not in the cache, with
    progress on the screen. Raises: StepError."""
    tools = {name: t.path for name, t in ensure_tools(["kueue", *CLUSTER_TOOLS], screen).items()}
    processes = Processes(state)
    try:
        create_crds(start_control_plane(state, processes, tools), ensure_crds("kueue"))
        yield processes, tools
    finally:
        processes.stop_everything()


def play(
    processes: Processes,
    executable: Path,
    mode: str,
    scenarios: Sequence[Scenario],
    run: str,
    progress: Progress = lambda _: None,
) -> list[Play]:
    """Runs all scenarios of a mode concurrently; `run` is a prefix that makes their names unique."""
    settings = FAIR_SETTINGS if mode == FAIR else {}
    kubeconfig = processes.state.kubeconfig
    kueue_process.start(processes, executable, kubeconfig, settings)
    try:
        client = kinds.connect(kubeconfig)  # never closed: the reflector's thread reads from it until the end
        named = [prefixed(s, f"{run}{number}") for number, s in enumerate(scenarios)]
        with ThreadPoolExecutor(SET_UP_THREADS) as pool:
            plays = list(pool.map(partial(_set_up, client), named, (f"{run}{n}" for n in range(len(named)))))
        wait_until_heard(client)
        stage = Stage(client, plays)
        count = max((len(s.steps) for s in scenarios), default=0)
        for index in range(count):
            taken = stage.step(index)
            progress(f"{mode}: step {index + 1} of {count} done in {taken} of {len(scenarios)} histories")
        stage.close()
        return plays
    finally:
        processes.stop(kueue_process.NAME)


def wait_until_heard(client: Client) -> None:
    """Waits until Kueue knows all objects; only ClusterQueues report it, so it waits longer for cohorts."""

    def all_told() -> bool:
        queues = client.list(kinds.ClusterQueue)
        return all(kinds.condition(dict(queue), "Active") for queue in queues)

    wait_until("Kueue knowing every ClusterQueue", all_told, HEARD_SECONDS_MAX, pause_seconds=0.5)
    time.sleep(HEARD_SECONDS)


def _set_up(client: Client, scenario: Scenario, namespace: str) -> Play:
    patient = PatientClient(client)
    patient.create(kinds.Namespace({"metadata": {"name": namespace}}))
    created: dict[str, list[Any]] = defaultdict(list)
    for obj in scenario.objects:
        created[obj["kind"]].append(patient.create(KINDS[obj["kind"]](obj)))
    local_queues = [view(q, kueue_queues.LocalQueue) for q in created["LocalQueue"]]
    objects = Objects(
        tuple(view(f, kueue_queues.ResourceFlavor) for f in created["ResourceFlavor"]),
        tuple(view(c, kueue_queues.Cohort) for c in created["Cohort"]),
        tuple(view(q, kueue_queues.ClusterQueue) for q in created["ClusterQueue"]),
        {q.key: q for q in local_queues},
    )
    return Play(scenario, namespace, objects)
