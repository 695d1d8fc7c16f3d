"""An engine under autoscaled RayClusters that change their sizes all the time, next to the real Kueue
with workload slices.

All sizes fit into the quota, so the time from a request to its grant is the engine's own. KubeRay is stopped,
and there are no pods (tests/bench/resize_stream.py): the opening of scheduling gates and the ends of pods are
not measured. Kueue keeps a finished Workload for each growth, as by default. The engine, the API server and
this process share the machine's cores.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import repeat

from lightkube.codecs import from_dict

from sandbox.cluster import kinds
from sandbox.cluster.processes import Processes
from sandbox.up import down, up
from tests.bench.engine_load import cpu_s, engine_process, running
from tests.bench.ray_jobs import NAMESPACE, queue_objects
from tests.bench.report import Figure, show
from tests.bench.resize_stream import SIZES, Resizes, Sizer, Sizing
from tests.bench.sustained_load import OTHERS
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

PLANNED = Resizes(clusters=1000, rounds=6)
TITLE = "Autoscaled RayClusters (KubeRay stopped, no pods)"
OVERTAKEN = "not granted before the next change"


@dataclass(frozen=True)
class Resized:
    """The times of changes; the CPU of the engine and of the API server in that time; the engine's RSS, and
    all Workloads, at its end."""

    sizing: Sizing
    engine_cpu_s: float
    api_cpu_s: float
    rss_mb: float
    workloads: int


def measure(engine: str, resizes: Resizes) -> Resized:
    """Plays the changes in their own sandbox."""
    state = RunState(f"bench-elastic-{engine}")
    try:
        up(state, engine, scenarios=(), fresh=True)
        processes = Processes(state)
        for name in OTHERS:
            processes.stop(name)
        with closing(kinds.connect(state.kubeconfig)) as client:
            for obj in queue_objects((SIZES + 2) * resizes.clusters):
                client.create(from_dict(obj))
            sizer = Sizer(state.kubeconfig, resizes)
            sizer.start()
            measured = [engine_process(processes, engine), running(processes, "kube-apiserver")]
            before = [cpu_s(process) for process in measured]
            sizing = sizer.play()
            engine_s, api_s = (cpu_s(p) - was for p, was in zip(measured, before, strict=True))
            workloads = sum(1 for _ in client.list(kinds.Workload, namespace=NAMESPACE))
        return Resized(sizing, engine_s, api_s, measured[0].memory_info().rss / 2**20, workloads)
    finally:
        down(state)


def figures(resizes: Resizes, *, alone: bool = False) -> list[Figure]:
    """Returns the figures of Muster; unless `alone`, Kueue's too."""
    ours, peer = measure("muster", resizes), None if alone else measure("kueue", resizes)
    return list(compared(ours, peer))


def compared(ours: Resized, peer: Resized | None) -> Iterator[Figure]:
    peers: Iterator[float | None] = repeat(None) if peer is None else (v for _, _, v in _values(peer))
    for (what, unit, value), of_peer in zip(_values(ours), peers, strict=False):
        yield Figure(what, value, unit, peer=of_peer)


def _values(run: Resized) -> Iterator[tuple[str, str, float]]:
    sizing = run.sizing
    changes = sizing.resizes.changes
    yield "RayClusters", "", sizing.resizes.clusters
    yield "changes a second, as planned", "", sizing.resizes.clusters / sizing.resizes.every_s
    yield "changes a second, as played", "", changes / sizing.took_s
    yield OVERTAKEN, "%", 100 * sizing.overtaken / changes
    yield "request to grant, p50", "s", sizing.wait_s(50)
    yield "request to grant, p99", "s", sizing.wait_s(99)
    yield "requests behind their schedule, p99", "s", sizing.late_p99_s
    yield "CPU of the engine", "ms a change", 1000 * run.engine_cpu_s / changes
    yield "CPU of the API server", "ms a change", 1000 * run.api_cpu_s / changes
    yield "RSS of the engine", "MB", run.rss_mb
    yield "Workloads at the end", "", run.workloads


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.elastic", description=__doc__)
    parser.add_argument(
        "--clusters", type=int, default=PLANNED.clusters, help="RayClusters (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=PLANNED.rounds, help="changes of each (default: %(default)s)"
    )
    parser.add_argument("--alone", action="store_true", help="without Kueue, which takes most of the time")
    chosen = parser.parse_args(arguments)
    ensure_tools(("pulumi", "kueue"), Screen())
    show(TITLE, figures(Resizes(chosen.clusters, chosen.rounds), alone=chosen.alone))
    return 0


if __name__ == "__main__":
    sys.exit(carry_out("bench-elastic", lambda: main(sys.argv[1:])))
