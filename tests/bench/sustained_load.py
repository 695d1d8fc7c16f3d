"""An engine under a burst of RayJobs, and under a steady rate: none may be lost.

The engine, the API server and this process share the machine's cores. KubeRay is stopped
(tests/bench/job_stream.py).
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import repeat, zip_longest

from lightkube.codecs import from_dict

from sandbox.cluster import kinds
from sandbox.cluster.processes import Processes
from sandbox.up import down, up
from tests.bench.engine_load import cpu_s, engine_process, running
from tests.bench.job_stream import History, Stream, play
from tests.bench.ray_jobs import queue_objects
from tests.bench.report import Figure, show
from tools.toolchain.command import carry_out
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.paths import RunState
from tools.toolchain.steps import Screen

BURST = Stream("burst", 10_000)
STEADY = Stream("steady", 15_000, per_second=50)
"""Five minutes."""
OTHERS = ("ray-operator", "ray-dashboard", "provisioner", "page")
"""Processes of a sandbox that follow RayJobs, and would take the CPU that is measured."""
QUOTA_JOBS = 200
LOST = "lost"


@dataclass(frozen=True)
class Sustained:
    """The history of a stream, and the CPU of the engine and of the API server in that time."""

    history: History
    engine_cpu_s: float
    api_cpu_s: float


def measure(engine: str, streams: Sequence[Stream]) -> list[Sustained]:
    """Plays the streams one after another in their own sandbox."""
    state = RunState(f"bench-sustained-{engine}")
    try:
        up(state, engine, scenarios=(), fresh=True)
        processes = Processes(state)
        for name in OTHERS:
            processes.stop(name)
        with closing(kinds.connect(state.kubeconfig)) as client:
            for obj in queue_objects(QUOTA_JOBS):
                client.create(from_dict(obj))
        play(state.kubeconfig, Stream("warm-up", 1))
        return [_played(state, engine, stream) for stream in streams]
    finally:
        down(state)


def _played(state: RunState, engine: str, stream: Stream) -> Sustained:
    processes = Processes(state)
    measured = [engine_process(processes, engine), running(processes, "kube-apiserver")]
    before = [cpu_s(process) for process in measured]
    history = play(state.kubeconfig, stream)
    engine_cpu_s, api_cpu_s = (
        cpu_s(before_and_after) - was for before_and_after, was in zip(measured, before, strict=True)
    )
    return Sustained(history, engine_cpu_s, api_cpu_s)


def figures(streams: Sequence[Stream] = (BURST, STEADY), *, alone: bool = False) -> list[Figure]:
    """Returns the figures of each stream; unless `alone`, Kueue's too."""
    return compared(measure("muster", streams), [] if alone else measure("kueue", streams))


def compared(ours: Sequence[Sustained], peers: Sequence[Sustained]) -> list[Figure]:
    return [
        Figure(f"{holding.history.stream.name}: {what}", value, unit, 0 if what == LOST else None, of_peer)
        for holding, peer in zip_longest(ours, peers)
        for (what, unit, value), of_peer in zip(_values(holding), _peer_values(peer), strict=False)
    ]


def _peer_values(peer: Sustained | None) -> Iterator[float | None]:
    return repeat(None) if peer is None else (value for _, _, value in _values(peer))


def _values(run: Sustained) -> Iterator[tuple[str, str, float]]:
    history = run.history
    yield "created", "", len(history.accepted_s)
    yield "created a second", "", history.accepted_per_second
    yield "admitted", "", len(history.admitted_s)
    yield "finished", "", len(history.finished_s)
    yield LOST, "", history.lost
    yield "until the last is finished", "s", history.took_s
    yield "RayJob to Admitted, p50", "s", history.wait_s(50)
    yield "RayJob to Admitted, p99", "s", history.wait_s(99)
    yield "CPU of the engine", "ms a RayJob", 1000 * run.engine_cpu_s / history.stream.jobs
    yield "CPU of the API server", "ms a RayJob", 1000 * run.api_cpu_s / history.stream.jobs


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sustained_load", description=__doc__)
    parser.add_argument("--percent", type=float, default=100.0, help="of the RayJobs (default: 100)")
    parser.add_argument("--alone", action="store_true", help="without Kueue, which takes most of the time")
    chosen = parser.parse_args(arguments)
    ensure_tools(("pulumi", "kueue"), Screen())
    streams = [
        replace(before_and_after, jobs=round(before_and_after.jobs * chosen.percent / 100))
        for before_and_after in (BURST, STEADY)
    ]
    figure_list = figures(streams, alone=chosen.alone)
    show("Many RayJobs (KubeRay stopped)", figure_list)
    return 0 if all(figure.met for figure in figure_list) else 1


if __name__ == "__main__":
    sys.exit(carry_out("bench-sustained", lambda: main(sys.argv[1:])))
