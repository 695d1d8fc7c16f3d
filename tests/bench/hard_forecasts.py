"""Speed of forecasts with preemption, in CPU seconds of one core.

Two loads: the queues and jobs of `forecasts` with two priorities and unequal demand, so that queues borrow
and reclaim; and the large-scale workload of Kueue's performance tests.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from random import Random

from muster.forecast.configuration import QueueConfiguration
from muster.forecast.placement import place
from muster.forecast.queue_objects import from_manifests
from muster.forecast.results.outcome import Attempts, End
from muster.forecast.simulation.simulator import Simulator
from muster.forecast.traces.read import read
from muster.forecast.traces.trace import TraceJob
from tests.bench import forecasts
from tests.bench.printed import printed
from tests.bench.report import Figure, show
from tools.compiled_core import site
from tools.toolchain.golang import find_go, module_directory
from tools.toolchain.paths import CHECKOUT

JOBS = 100_000
INTERPRETED_MAX_S, COMPILED_MAX_S = 30.0, 15.0
LARGE_SCALE = Path("test/performance/scheduler/configs/large-scale/generator.yaml")
LARGE_SCALE_MAX_S = 120.0  # compiled
POLICIES = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
PRIORITIES = {"low": 0, "high": 100}


@dataclass(frozen=True)
class Measured:
    cpu_s: float
    jobs: int
    preemptions: int
    decisions: str  # digest of all attempts: when each job got quota, started and ended, and how


def configuration() -> QueueConfiguration:
    manifests = forecasts.manifests(forecasts.QUEUES, forecasts.GPUS_A_QUEUE)
    for manifest in manifests:
        if manifest["kind"] == "ClusterQueue":
            manifest["spec"]["preemption"] = POLICIES
    kind = {"apiVersion": forecasts.VERSION, "kind": "WorkloadPriorityClass"}
    manifests += ({**kind, "metadata": {"name": name}, "value": value} for name, value in PRIORITIES.items())
    return from_manifests("bench", manifests)


def jobs(count: int) -> Iterator[TraceJob]:
    random = Random(2)
    for job in forecasts.jobs(count):
        # Half of the jobs are in the first 40% of the queues.
        queue = f"queue-{int(random.random() ** 1.3 * forecasts.QUEUES)}"
        yield replace(job, queue=queue, priority_class=random.choice(("low", "low", "high")))


def measure_large_scale(file: Path) -> Measured:
    loaded = read(file)
    return _measured(from_manifests("large-scale", loaded.manifests), loaded.trace.jobs)


def _measured(queues: QueueConfiguration, trace_jobs: Iterable[TraceJob]) -> Measured:
    began = time.process_time()
    outcome = Simulator(queues, place(trace_jobs, queues).jobs, forecasts.AT_ONCE).run()
    cpu_s = time.process_time() - began
    attempts = outcome.attempts
    preemptions = sum(end == End.PREEMPTED for end in attempts.end)
    return Measured(cpu_s, len(outcome.jobs), preemptions, digest(attempts))


def digest(attempts: Attempts) -> str:
    columns = [getattr(attempts, column.name).tobytes() for column in fields(attempts)]
    return hashlib.sha256(b"".join(columns)).hexdigest()[:16]


def figures() -> list[Figure]:
    compiled = site()
    generator = module_directory(find_go(), "kueue-performance", "sigs.k8s.io/kueue") / LARGE_SCALE
    rows = []
    for argument, name, interpreted_max_s, compiled_max_s in (
        (str(JOBS), "preempting and borrowing", INTERPRETED_MAX_S, COMPILED_MAX_S),
        (str(generator), "Kueue's large-scale workload", None, LARGE_SCALE_MAX_S),
    ):
        interpreted, fast = in_a_process(argument), in_a_process(argument, compiled)
        assert interpreted.decisions == fast.decisions, f"{name}: the compiled core decides differently"
        what = f"{name}, {fast.jobs:,} jobs, {fast.preemptions:,} preemptions"
        rows.append(Figure(what, interpreted.cpu_s, "s", limit=interpreted_max_s))
        rows.append(Figure(f"{what}, core compiled", fast.cpu_s, "s", limit=compiled_max_s))
    return rows


def in_a_process(argument: str, package: Path = CHECKOUT) -> Measured:
    """Measures in a process that imports `muster` from this folder."""
    return Measured(**json.loads(printed("tests.bench.hard_forecasts", (argument,), package)))


def main(arguments: list[str]) -> None:
    """Prints all figures as a table; with a number of jobs or a generator's file, one of them as JSON."""
    if not arguments:
        show("Forecasts with preemption", figures())
    elif arguments[0].isdecimal():
        print(json.dumps(asdict(_measured(configuration(), jobs(int(arguments[0]))))))
    else:
        print(json.dumps(asdict(measure_large_scale(Path(arguments[0])))))


if __name__ == "__main__":
    main(sys.argv[1:])
