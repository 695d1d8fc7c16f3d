"""Speed of forecasts: to read a trace, place its jobs and simulate one future, in CPU seconds of one core.

The load: jobs of 1 to 8 GPUs and exponential run times of 10 minutes, Poisson arrivals at 90% of capacity, on
30 ClusterQueues in five cohorts; the peer's load: jobs that never wait. Each runs in its own process, for its
peak memory.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from muster.cli.configurations import manifests_below
from muster.forecast.assumptions import Assumptions
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.limits import WaitLimit
from muster.forecast.placement import Mapped, place
from muster.forecast.queue_objects import from_manifests
from muster.forecast.recommend.tasks import SearchInputs, Task, WorkerProcesses
from muster.forecast.results.outcome import SimulationOutcome
from muster.forecast.results.waits import statistics, waits_ms
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces.read import ReadOptions, read
from muster.forecast.traces.swf import SwfOptions
from muster.forecast.traces.trace import TraceJob
from tests.bench import forecast_peer
from tests.bench.printed import printed
from tests.bench.report import Figure, show
from tools.compiled_core import site
from tools.toolchain.paths import CHECKOUT

VERSION = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
QUEUES, COHORTS, GPUS_A_QUEUE = 30, 5, 34
RUN_S, SIZES, LOAD = 600.0, (1, 2, 4, 8), 0.9
PEER_JOBS, PEER_CORES = 20_000, 4096
TARGETS = {10_000: (None, None), 100_000: (10.0, None), 1_000_000: (120.0, 1024.0)}
"""Jobs, and the most CPU seconds and MB that they may take."""
PEER_FACTOR_MIN = 5
PUBLIC_TRACE = Path(os.environ.get("MUSTER_PUBLIC_TRACES", "")) / "openb_pod_list_default.csv"
PUBLIC_MAX_S = 2.0
CANDIDATES, CANDIDATES_JOBS = 64, 1_000
EFFICIENCY_MIN = 0.8
"""The least share of the number of cores by which a search must be faster on all of them."""
AT_ONCE = Assumptions(start_up_s=0, termination_s=0, cleanup_s=0)


@dataclass(frozen=True)
class Measured:
    cpu_s: float
    rss_mb: float
    mean_wait_s: float


def configuration(queues: int, gpus: int) -> QueueConfiguration:
    return from_manifests("bench", manifests(queues, gpus))


def manifests(queues: int, gpus: int) -> list[dict[str, Any]]:
    manifests: list[dict[str, Any]] = [_manifest("ResourceFlavor", "gpu", {})]
    for number in range(queues):
        quotas = [{"name": "gpu", "resources": [{"name": GPU, "nominalQuota": str(gpus)}]}]
        spec = {
            "cohortName": f"cohort-{number % COHORTS}",
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": [GPU], "flavors": quotas}],
        }
        manifests.append(_manifest("ClusterQueue", f"queue-{number}", spec))
    return manifests


def _manifest(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def jobs(count: int, seed: int = 1) -> Iterator[TraceJob]:
    random, at_s = Random(seed), 0.0
    requests = {size: {GPU: size} for size in SIZES}
    gap_s = RUN_S * sum(SIZES) / len(SIZES) / (QUEUES * GPUS_A_QUEUE * LOAD)
    for number in range(count):
        at_s += random.expovariate(1 / gap_s)
        run_ms = round(1000 * random.expovariate(1 / RUN_S))
        queue = f"queue-{random.randrange(QUEUES)}"
        size = requests[random.choice(SIZES)]
        yield TraceJob(f"job-{number}", round(1000 * at_s), run_ms, 1, size, queue=queue)


def measure(count: int) -> Measured:
    """Measures a synthetic trace in this process."""
    began = time.process_time()
    queues = configuration(QUEUES, GPUS_A_QUEUE)
    placed = place(jobs(count), queues)
    outcome = Simulator(queues, placed.jobs, AT_ONCE).run()
    return _measured(began, outcome)


def measure_swf(path: Path) -> Measured:
    """Measures an SWF file, whose processors are GPUs of one queue."""
    began = time.process_time()
    queues = configuration(1, PEER_CORES)
    options = ReadOptions(swf=SwfOptions(resource=GPU, processors_per_pod=8))
    placed = place(read(path, "swf", options).trace.jobs, queues, Mapped(queue="queue-0"))
    outcome = Simulator(queues, placed.jobs, AT_ONCE).run()
    return _measured(began, outcome)


def measure_public(path: Path) -> Measured:
    """Measures the public trace on the 64 GPUs of the documentation's example."""
    began = time.process_time()
    queues = from_manifests(
        "64 GPUs", manifests_below(CHECKOUT / "examples/forecast/public-trace/64-gpus.yaml")
    )
    placed = place(read(path).trace.jobs, queues, Mapped(queue="cluster"))
    return _measured(began, Simulator(queues, placed.jobs, AT_ONCE).run())


def _measured(began: float, outcome: SimulationOutcome) -> Measured:
    cpu_s = time.process_time() - began
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(cpu_s, rss_mb, statistics(waits_ms(outcome)).mean_s)


def write_swf(path: Path, count: int) -> None:
    """Writes jobs that never wait."""
    random, at_s = Random(1), 0.0
    with path.open("w") as file:
        file.write(f"; UnixStartTime: 0\n; MaxProcs: {PEER_CORES}\n")
        for number in range(1, count + 1):
            at_s += random.expovariate(1 / 3)
            run, size = max(1, int(random.expovariate(1 / RUN_S))), random.choice(SIZES)
            file.write(f"{number} {int(at_s)} -1 {run} {size} -1 -1 {size} {run} -1 1 1 1 1 1 1 -1 -1\n")


def figures() -> list[Figure]:
    rows = []
    with TemporaryDirectory() as folder:
        swf = Path(folder) / "peer.swf"
        write_swf(swf, PEER_JOBS)
        ours, peer = in_a_process(str(swf)), forecast_peer.cpu_seconds(swf, PEER_CORES)
        what = f"{PEER_JOBS:,} jobs of an SWF file that never wait"
        rows.append(Figure(what, ours.cpu_s, "s", limit=peer / PEER_FACTOR_MIN, peer=peer))
    if PUBLIC_TRACE.is_file():
        took = in_a_process(str(PUBLIC_TRACE))
        rows.append(Figure("the public trace, 8,152 tasks", took.cpu_s, "s", limit=PUBLIC_MAX_S))
    else:
        print(f"skipped the public trace: set MUSTER_PUBLIC_TRACES to the folder of {PUBLIC_TRACE.name}")
    compiled = site()
    for count, (cpu_max_s, rss_max_mb) in TARGETS.items():
        plain, fast = in_a_process(str(count)), in_a_process(str(count), compiled)
        assert plain.mean_wait_s == fast.mean_wait_s
        what = f"{count:,} jobs on {QUEUES} queues"
        rows.append(Figure(what, plain.cpu_s, "s", limit=cpu_max_s))
        rows.append(Figure(f"{what}, core compiled", fast.cpu_s, "s", limit=cpu_max_s))
        rows.append(Figure(f"{what}, core compiled: per job", fast.cpu_s / count * 1e6, "µs"))
        rows.append(Figure(f"{what}: peak RSS", plain.rss_mb, "MB", limit=rss_max_mb))
    return rows + searching()


def searching() -> list[Figure]:
    """Measures the simulations of a `muster recommend`, one after the other and on all cores."""
    placed = place(jobs(CANDIDATES_JOBS), configuration(QUEUES, GPUS_A_QUEUE)).jobs
    request = SearchInputs(placed, AT_ONCE, [WaitLimit("queue-0", "", "p90", 60)])
    sizes = range(GPUS_A_QUEUE - CANDIDATES // 2, GPUS_A_QUEUE + CANDIDATES // 2)
    tasks = [Task(configuration(QUEUES, gpus), 0, len(placed)) for gpus in sizes]
    cores = len(os.sched_getaffinity(0))
    took_s = {}
    for processes in (1, cores):
        with WorkerProcesses(request, processes) as pool:
            began = time.monotonic()
            assert len(list(pool.run(tasks))) == CANDIDATES
            took_s[processes] = time.monotonic() - began
    what = f"recommend: {CANDIDATES} candidates x {CANDIDATES_JOBS:,} jobs"
    limit = took_s[1] / (cores * EFFICIENCY_MIN)
    return [
        Figure(f"{what}, on one core", took_s[1], "s"),
        Figure(f"{what}, on {cores} cores", took_s[cores], "s", limit=limit),
    ]


def in_a_process(argument: str, package: Path = CHECKOUT) -> Measured:
    """Measures in a process that imports `muster` from this folder."""
    return Measured(**json.loads(printed("tests.bench.forecasts", (argument,), package)))


def main(arguments: list[str]) -> None:
    """Prints all as a table; with a number of jobs, the public trace or an SWF file, that one as JSON."""
    if not arguments:
        show("Forecasts", figures(), "AccaSim")
    elif arguments[0].isdecimal():
        print(json.dumps(asdict(measure(int(arguments[0])))))
    elif arguments[0].endswith(".csv"):
        print(json.dumps(asdict(measure_public(Path(arguments[0])))))
    else:
        print(json.dumps(asdict(measure_swf(Path(arguments[0])))))


if __name__ == "__main__":
    main(sys.argv[1:])
