"""Speed of one search for victims, as in Kueue's large-scale performance test.

A cohort of 100 queues is full: every fifth queue is nearly empty, and jobs of one CPU in the others use that
quota too. Each search is for a head of a nearly empty queue. The core is interpreted, or compiled with mypyc;
compiled, a search must not take longer. Milliseconds are CPU time, means of SEARCHES.
"""

import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from muster.admission import Admission, FlavorResource, PodSetAssignment, Snapshot, Workload
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.state.state import WorkingState
from tests.bench.decisions import CPU, NOMINAL_CPUS, QUEUES_A_COHORT, job, load
from tests.bench.printed import printed
from tests.bench.report import Figure, show
from tools.compiled_core import site
from tools.toolchain.paths import CHECKOUT

SEARCHES = 200
CPUS = FlavorResource("cpu", "cpu")
EMPTY_EACH, HELD_THERE = 5, 12  # which queues are nearly empty, and the jobs that they run
HEADS = {  # CPUs, priority
    "one CPU, of what others borrow": (1, 50),
    "five CPUs, of what others borrow": (5, 100),
    "20 CPUs, for which it would need to borrow": (20, 200),
}


@dataclass(frozen=True)
class Searched:
    victims: int
    own: int  # victims in the preemptor's queue
    ms: float


def full_cohort() -> Snapshot:
    """Running jobs of one CPU, as many as fit in the quota of all queues."""
    of = load(QUEUES_A_COHORT * 50, NOMINAL_CPUS)
    queues = list(of.cluster_queues)
    empty, borrowing = queues[::EMPTY_EACH], [name for n, name in enumerate(queues) if n % EMPTY_EACH]
    places = [name for name in empty for _ in range(HELD_THERE)]
    unused_cpus = range(QUEUES_A_COHORT * NOMINAL_CPUS - len(places))
    places += [borrowing[n % len(borrowing)] for n in unused_cpus]
    return replace(of, workloads=tuple(_running(n, queue) for n, queue in enumerate(places)))


def _running(index: int, queue: str) -> Workload:
    assigned = PodSetAssignment("main", 1, {"cpu": CPUS.flavor}, {"cpu": CPU})
    return replace(job(index, queue, 1, 50), admission=Admission(queue, (assigned,)))


def measure() -> dict[str, Searched]:
    state = WorkingState(full_cohort())
    return {name: _search(state, cpus, priority) for name, (cpus, priority) in HEADS.items()}


def _search(state: WorkingState, cpus: int, priority: int) -> Searched:
    head = job(QUEUES_A_COHORT * NOMINAL_CPUS, next(iter(state.tree.queues)), cpus, priority)
    queue, node = state.queue(head.cluster_queue), state.tree.queues[head.cluster_queue]
    began = time.process_time()
    for _ in range(SEARCHES):
        found_targets = Preemptor(state, head, queue, node).targets({CPUS: cpus * CPU}, (CPUS,))
    ms = (time.process_time() - began) / SEARCHES * 1000
    return Searched(len(found_targets), sum(target.holding.node is node for target in found_targets), ms)


def in_a_process(package: Path = CHECKOUT) -> dict[str, Searched]:
    """Measures in a process that imports `muster` from this folder."""
    return {
        name: Searched(**seconds)
        for name, seconds in json.loads(printed("tests.bench.victim_searches", ["--json"], package)).items()
    }


def figures() -> list[Figure]:
    plain, fast = in_a_process(), in_a_process(site())
    figure_list: list[Figure] = []
    for name, figure in plain.items():
        compiled = fast[name]
        assert (figure.victims, figure.own) == (compiled.victims, compiled.own)
        what = f"victims for {name}: {figure.victims} found, {figure.own} of its own queue"
        figure_list.append(Figure(what, figure.ms, "ms"))
        figure_list.append(Figure(f"{what}, core compiled", compiled.ms, "ms", limit=figure.ms))
    return figure_list


def main(arguments: list[str]) -> None:
    """Prints the measurements: as JSON with an argument; else interpreted and compiled, as a table."""
    if arguments:
        print(json.dumps({name: vars(figure) for name, figure in measure().items()}))
    else:
        show("Searches for victims", figures())


if __name__ == "__main__":
    main(sys.argv[1:])
