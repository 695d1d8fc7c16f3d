"""Calculates the starts of all pending workloads, and the growth of autoscaled ones, in a separate process.

`python -m muster.live.eta` reads one pickled Question from standard input and writes one pickled
EstimatedStarts to standard output. In the controller's process the simulation would share the interpreter
lock with the controller's decisions.
"""

import asyncio
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from muster.cluster.cluster_state import ClusterState
from muster.cluster.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.configuration.configuration import Configuration
from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.forecast.assumptions import Assumptions
from muster.forecast.estimate_outcome import EstimateOutcome, SimulatedWait
from muster.forecast.futures import SEEDS
from muster.forecast.growth_estimates import estimates
from muster.forecast.observed_state import ObservedWorkload
from muster.forecast.traces.journal import read
from muster.forecast.traces.trace import Trace
from muster.journal.files import newest
from muster.kube.kinds import AnyKind
from muster.live.eta.growth_range import GrowthRange, growth_ranges
from muster.live.eta.run_outs import RunOuts, run_outs
from muster.live.eta.start_range import StartRange, start_range
from muster.live.observed import READ
from muster.live.state import live_state, state_with_trace
from muster.live.workloads import ElasticSizes

NICENESS = 19
MEMORY_BYTES_MAX = 256 << 20
"""Below the headroom of the controller's default memory limit, as exceeding that would end the controller as
well."""
CPU_S_MAX = 300
RUN_OUT_CPU_S_MAX = 10
"""CPU time for the estimates of budgets, as a longer calculation delays the next estimates of starts."""
JOURNAL_BYTES_MAX = 4 << 20  # about 8,000 workloads


_WATCHES: Mapping[str, AnyKind] = {
    **{WATCHED[kind]: kind for kind in READ},
    **{name: kind for kind, name in WATCHED_WITH_TOPOLOGIES.items()},
}
"""The kinds by the names of their watches: a Kind is not equal to its copy in another process."""


class CalculationError(Exception):
    """A calculation without an answer, with the reason."""


@dataclass(frozen=True, slots=True)
class Question:
    """The cluster and configuration to calculate starts for."""

    objects: Mapping[str, bytes]  # JSON lists, by the name of the watch
    configuration: Configuration
    now_ms: int
    journal: Path | None = None  # a folder; None: there is no journal
    sizes: ElasticSizes = field(default_factory=dict)  # of autoscaled gangs
    estimates: tuple[EstimateOutcome, ...] = ()  # earlier ones


@dataclass(frozen=True, slots=True)
class EstimatedStarts:
    """The estimated starts of pending workloads, and the growth of autoscaled ones, by UID of the
    Workload; and the times at which budgets are used up."""

    starts: Mapping[str, StartRange]
    cpu_s: float  # CPU time of the calculation
    growth: Mapping[str, tuple[GrowthRange, ...]] = field(default_factory=dict)
    run_outs: Mapping[str, RunOuts] = field(default_factory=dict)  # by ClusterQueue
    # The waits until the starts, before corrections, by UID of the Workload.
    simulated: Mapping[str, SimulatedWait] = field(default_factory=dict)


def snapshot(cluster: ClusterState) -> dict[str, bytes]:
    """Encodes the objects that decisions read, as JSON: encoding and decoding are faster than pickling."""
    kinds = _WATCHES if cluster.topologies else {WATCHED[kind]: kind for kind in READ}
    return {name: msgspec.json.encode(list(cluster.objects(kind).values())) for name, kind in kinds.items()}


def restored(objects: Mapping[str, bytes]) -> ClusterState:
    """Decodes the objects of a snapshot."""
    observed: dict[AnyKind, dict[str, Any]] = {}
    for name, encoded in objects.items():
        kind = _WATCHES[name]
        views = msgspec.json.decode(encoded, type=list[kind.view])  # type: ignore[name-defined]
        observed[kind] = {view.key: view for view in views}
    return ClusterState(observed)


async def calculated(question: Question, timeout_s: float) -> EstimatedStarts:
    """Calculates the answer in a new process, which is killed on cancellation. Raises: CalculationError."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __package__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate(pickle.dumps(question))
    except TimeoutError:
        raise CalculationError(f"no answer within {timeout_s:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise CalculationError(f"the process ended with {process.returncode}")
    answer: EstimatedStarts = pickle.loads(output)
    return answer


def estimated(question: Question) -> EstimatedStarts:
    """Returns the estimated start of each pending workload, and the growth of each that runs."""
    cluster, configuration = restored(question.objects), question.configuration
    now_ms, past = question.now_ms, _past(question.journal)
    if past is None:
        state = live_state(cluster, configuration, now_ms, sizes=question.sizes, estimates=question.estimates)
    else:
        state = state_with_trace(cluster, configuration, now_ms, past, question.sizes, question.estimates)
    waiting = [key for key, workload in state.workloads.items() if _waits(workload)]
    growing = [key for key, workload in state.workloads.items() if workload.may_grow]
    uids = {key: live.workload.uid for key, live in state.workloads.items()}
    seeds = range(SEEDS) if waiting or growing else ()
    answer = estimates(state, waiting, growing, Assumptions(), seeds, state.learned.delays)
    end_s = time.process_time() + RUN_OUT_CPU_S_MAX
    budgets = run_outs(state, lambda: time.process_time() < end_s)
    return EstimatedStarts(
        starts={uids[key]: start_range(start) for key, start in answer.starts.items()},
        cpu_s=time.process_time(),
        growth={uids[key]: growth_ranges(growth) for key, growth in answer.growth.items()},
        run_outs=budgets,
        simulated={uids[key]: start.simulated for key, start in answer.starts.items()},
    )


def _waits(workload: ObservedWorkload) -> bool:
    return workload.ready_ms is None and not workload.ended


def _past(folder: Path | None) -> Trace | None:
    """Reads the newest files of the journal; None if there are none or they cannot be read."""
    if folder is None:
        return None
    try:
        files = [
            (path.name, read_text(path, "a journal", pipes=False).splitlines())
            for path in newest(folder, JOURNAL_BYTES_MAX)
        ]
    except (OSError, FileError) as error:
        print(f"cannot read the journal: {error}", file=sys.stderr)
        return None
    return read(files, str(folder)) if files else None


def main() -> None:
    """Answers one question."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the controller kills it
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    question: Question = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(estimated(question)))
