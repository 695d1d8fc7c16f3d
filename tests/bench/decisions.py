"""Speed of the core's decisions: from scratch until nothing changes, and after one arrival or finish.

The load is that of Kueue's large-scale performance test (test/performance/scheduler/configs): cohorts
of 100 queues, three classes of jobs in rising priority, reclaim Any, preemption of lower priority
within the queue. With little quota nearly all jobs wait, with much quota all are admitted, and in between
queues reclaim from each other. The core is interpreted, or compiled with mypyc. Seconds are CPU time; each
load runs in its own process, to measure its peak memory. Python's garbage collector runs as often as in the
controller's process.
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median, quantiles

from muster.admission import (
    ClusterQueue,
    Cohort,
    Engine,
    Flavor,
    FlavorQuotas,
    Plan,
    PodSet,
    PreemptionPolicy,
    Quota,
    ResourceGroup,
    Snapshot,
    Workload,
    decide,
)
from muster.kube.store import OBJECTS_A_COLLECTION
from tests.bench.printed import printed
from tests.bench.report import Figure, show
from tools.compiled_core import site
from tools.toolchain.paths import CHECKOUT

QUEUES_A_COHORT = 100
CPU = 1000  # in the core's units
NOMINAL_CPUS, BORROWED_CPUS_MAX = 20, 100
CLASSES = ((35, 1, 50), (10, 5, 100), (5, 20, 200))  # jobs out of 50, CPUs, priority
ROOMY_CPUS = 250  # fits the 185 CPUs of a queue's 50 jobs, and arrivals
CONTENDED_CPUS = 145
EVENTS = 300
NOW_MS = 1_767_268_800_000
LOADS = (  # name, pending workloads, nominal quota of a queue
    ("all fit", 5_000, ROOMY_CPUS),
    ("all fit", 50_000, ROOMY_CPUS),
    ("all fit", 500_000, ROOMY_CPUS),
    ("nearly all wait", 50_000, NOMINAL_CPUS),
    ("queues reclaim", 50_000, CONTENDED_CPUS),
)
VICTIMS_LEAVE_MAX = 100  # rounds
EVENTS_PENDING_MAX = 50_000  # a larger load is decided from scratch only

TARGET_PENDING = 50_000
RSS_MB_MAX = 300


@dataclass(frozen=True)
class Targets:
    """The least number of workloads that are decided on in a second, and the longest that an event takes."""

    decided_a_second: int
    event_ms: float


INTERPRETED, COMPILED = Targets(20_000, 1.0), Targets(60_000, 0.1)


@dataclass(frozen=True)
class Measured:
    """Results of one load. `arrival_ms` and `finish_ms`: median and p99 of deciding one event;
    `finish_decides`: the average number of workloads that are admitted or preempted after a finish."""

    pending: int
    admitted: int
    cpu_s: float
    wall_s: float
    rss_mb: float
    arrival_ms: tuple[float, float] = (0, 0)
    finish_ms: tuple[float, float] = (0, 0)
    finish_decides: float = 0


def load(pending: int, nominal_cpus: int) -> Snapshot:
    """Returns `pending` workloads: 50 a queue up to 1,000 queues, then more in each queue."""
    queues = min(1000, pending // 50)
    cluster_queues = [_queue(index, nominal_cpus * pending // (queues * 50)) for index in range(queues)]
    kinds = [(cpus, priority) for many, cpus, priority in CLASSES for _ in range(many)]
    workloads = tuple(
        job(index, cluster_queues[index % queues].name, *kinds[index // queues % len(kinds)])
        for index in range(pending)
    )
    cohorts = {queue.cohort: Cohort(queue.cohort) for queue in cluster_queues if queue.cohort}
    return Snapshot({"cpu": Flavor("cpu")}, cohorts, {q.name: q for q in cluster_queues}, workloads)


def _queue(index: int, nominal_cpus: int) -> ClusterQueue:
    quota = Quota(nominal_cpus * CPU, borrowing_limit=BORROWED_CPUS_MAX * CPU)
    return ClusterQueue(
        f"queue-{index}",
        cohort=f"cohort-{index // QUEUES_A_COHORT}",
        groups=(ResourceGroup(("cpu",), (FlavorQuotas("cpu", {"cpu": quota}),)),),
        within_queue=PreemptionPolicy.LOWER_PRIORITY,
        reclaim_within_cohort=PreemptionPolicy.ANY,
    )


def job(index: int, queue: str, cpus: int, priority: int) -> Workload:
    pod_sets = (PodSet("main", 1, {"cpu": cpus * CPU}),)
    return Workload(f"bench/job-{index}", f"uid-{index}", queue, priority, NOW_MS + index, pod_sets)


def measure(pending: int, nominal_cpus: int) -> Measured:
    """Measures a load in this process. Peak memory is that of the decision from scratch."""
    snapshot = load(pending, nominal_cpus)
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    plan = decide(snapshot, NOW_MS)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    measurement = Measured(pending, len(plan.admissions), cpu, wall, rss_mb)
    if pending > EVENTS_PENDING_MAX:
        return measurement
    arrivals, finishes, decided = _events(snapshot)
    return replace(
        measurement, arrival_ms=_spread(arrivals), finish_ms=_spread(finishes), finish_decides=mean(decided)
    )


def _events(snapshot: Snapshot) -> tuple[list[float], list[float], list[int]]:
    """Returns seconds of each arrival and each finish, and the number of workloads that a finish decides on.
    An arrival is removed before the next event, and victims are removed immediately, which is not measured;
    finished workloads do not return."""
    engine = Engine(snapshot)
    admitted = [decision.workload for decision in engine.decide(NOW_MS).admissions]
    pending = len(snapshot.workloads)
    arrivals = [_arrival(engine, pending + n, snapshot) for n in range(EVENTS)]
    finishes = [_finish(engine, key) for key in admitted[:: max(1, len(admitted) // EVENTS)]]
    return arrivals, [seconds for seconds, _ in finishes], [decided for _, decided in finishes]


def _arrival(engine: Engine, index: int, snapshot: Snapshot) -> float:
    queues = len(snapshot.cluster_queues)
    _, cpus, priority = CLASSES[index % len(CLASSES)]
    workload = job(index, f"queue-{index * 7 % queues}", cpus, priority)
    start = time.process_time()
    engine.put(workload)
    plan = engine.decide(NOW_MS)
    took = time.process_time() - start
    engine.remove(workload.key)
    _victims_leave(engine, plan)
    return took


def _finish(engine: Engine, key: str) -> tuple[float, int]:
    start = time.process_time()
    engine.remove(key)
    plan = engine.decide(NOW_MS)
    took = time.process_time() - start
    _victims_leave(engine, plan)
    return took, len(plan.admissions) + len(plan.preemptions)


def _victims_leave(engine: Engine, plan: Plan) -> None:
    """Removes victims, and victims of the workloads that are then admitted."""
    for _ in range(VICTIMS_LEAVE_MAX):
        for preemption in plan.preemptions:
            engine.remove(preemption.workload)
        plan = engine.decide(NOW_MS)
        if not plan.preemptions:
            return


def _spread(seconds: list[float]) -> tuple[float, float]:
    return median(seconds) * 1000, quantiles(seconds, n=100)[98] * 1000


def in_a_process(pending: int, nominal_cpus: int, package: Path = CHECKOUT) -> Measured:
    """Measures in a process that imports `muster` from this folder."""
    arguments = str(pending), str(nominal_cpus)
    return Measured(**json.loads(printed("tests.bench.decisions", arguments, package)))


def figures() -> list[Figure]:
    compiled, compiled_site = site(), list[Figure]()
    for name, pending, cpus in LOADS:
        plain, fast = in_a_process(pending, cpus), in_a_process(pending, cpus, compiled)
        assert (plain.admitted, plain.finish_decides) == (fast.admitted, fast.finish_decides)
        compiled_site += _figures(name, plain, INTERPRETED)
        compiled_site += _figures(f"{name}, core compiled", fast, COMPILED)
    return compiled_site


def _figures(name: str, m: Measured, targets: Targets) -> Iterator[Figure]:
    """Yields a load's figures. Targets are for 50,000 workloads; other loads show the growth. The target of
    an event is for one after which at most one other workload is decided on."""
    what = f"{m.pending:,} pending, {name}"
    is_target = m.pending == TARGET_PENDING
    limit = m.pending / targets.decided_a_second
    event_ms = targets.event_ms if is_target else None
    yield Figure(f"{what}: {m.admitted:,} admitted", m.cpu_s, "s", limit=limit if is_target else None)
    yield Figure(f"{what}: by the clock", m.wall_s, "s")
    yield Figure(f"{what}: per workload", m.cpu_s / m.pending * 1e6, "µs")
    yield Figure(f"{what}: peak RSS", m.rss_mb, "MB", limit=RSS_MB_MAX if is_target else None)
    if m.pending <= EVENTS_PENDING_MAX:
        yield from _spread_figures(f"{what}: an arrival", m.arrival_ms, event_ms)
        yield from _spread_figures(
            f"{what}: a finish", m.finish_ms, event_ms if m.finish_decides <= 1 else None
        )
        yield Figure(f"{what}: a finish decides on", m.finish_decides, "others")


def _spread_figures(event: str, spread: tuple[float, float], limit_ms: float | None) -> Iterator[Figure]:
    median_ms, p99_ms = spread
    yield Figure(f"{event}, median", median_ms, "ms", limit=limit_ms)
    yield Figure(f"{event}, p99", p99_ms, "ms")


def main(arguments: list[str]) -> None:
    """Prints the load with this size and nominal quota as JSON; without arguments, all loads as a table."""
    if arguments:
        gc.set_threshold(OBJECTS_A_COLLECTION)
        print(json.dumps(asdict(measure(int(arguments[0]), int(arguments[1])))))
    else:
        show("Decisions", figures())


if __name__ == "__main__":
    main(sys.argv[1:])
