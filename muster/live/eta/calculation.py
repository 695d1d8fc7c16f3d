"""The starts of all pending workloads, calculated by a process of its own.

`python -m muster.live.eta` reads one pickled Question from standard input and writes one pickled
Answer to standard output. In the controller's process the simulation would share the interpreter's lock with
its decisions.
"""

import asyncio
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from muster.configuration.configuration import Configuration
from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.process.watched_kinds import WATCHED_WITH_TOPOLOGIES
from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.forecast.assumptions import Assumptions
from muster.forecast.futures import SEEDS
from muster.forecast.traces.journal import read
from muster.forecast.traces.trace import Trace
from muster.journal.files import newest
from muster.live.eta.start_range import StartRange, start_range
from muster.live.observed import READ
from muster.live.start import estimated_starts
from muster.live.state import live_state, state_with_trace
from muster.live.workloads import LiveWorkload

NICENESS = 19
MEMORY_BYTES_MAX = 256 << 20
"""Less than the controller's default limit leaves: beyond that, the kernel would end the controller, too."""
CPU_S_MAX = 300
JOURNAL_BYTES_MAX = 4 << 20  # about 8,000 workloads


class CalculationError(Exception):
    """No answer: why."""


@dataclass(frozen=True, slots=True)
class Question:
    """`objects` are JSON lists of objects, by the fields of a ClusterState; `journal` is a folder, None: none
    is kept."""

    objects: Mapping[str, bytes]
    configuration: Configuration
    now_ms: int
    journal: Path | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`starts` are those of pending workloads, by UID; `cpu_s` is the processor time that they took."""

    starts: Mapping[str, StartRange]
    cpu_s: float


def snapshot(cluster: ClusterState) -> dict[str, bytes]:
    """Encodes what decisions read: as JSON, which is faster to write and to read than pickled objects."""
    names = (*READ, *WATCHED_WITH_TOPOLOGIES) if cluster.topologies else READ
    return {name: msgspec.json.encode(list(getattr(cluster, name).values())) for name in names}


def restored(objects: Mapping[str, bytes]) -> ClusterState:
    """Returns the cluster of a snapshot."""
    kinds = {**READ, **WATCHED_WITH_TOPOLOGIES}
    found: dict[str, Any] = {}
    for name, encoded in objects.items():
        views = msgspec.json.decode(encoded, type=list[kinds[name].view])  # type: ignore[misc]
        found[name] = {view.key: view for view in views}
    return ClusterState(**found)


async def calculated(question: Question, timeout_s: float) -> Answer:
    """Asks a new process, which is killed if this is cancelled. Raises: CalculationError."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __package__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            told, _ = await process.communicate(pickle.dumps(question))
    except TimeoutError:
        raise CalculationError(f"no answer within {timeout_s:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise CalculationError(f"the process ended with {process.returncode}")
    answer: Answer = pickle.loads(told)
    return answer


def starts(question: Question) -> dict[str, StartRange]:
    """Returns when each workload that waits starts, by UID."""
    cluster, configuration = restored(question.objects), question.configuration
    past = _past(question.journal)
    if past is None:
        state = live_state(cluster, configuration, question.now_ms)
    else:
        state = state_with_trace(cluster, configuration, question.now_ms, past)
    waiting = [key for key, one in state.workloads.items() if _waits(one)]
    if not waiting:
        return {}
    found = estimated_starts(state, waiting, Assumptions(), range(SEEDS))
    return {state.workloads[key].workload.uid: start_range(one) for key, one in found.items()}


def _waits(one: LiveWorkload) -> bool:
    return one.ready_ms is None and not one.ended


def _past(folder: Path | None) -> Trace | None:
    """Reads the newest files of the journal, if there are any that can be read."""
    if folder is None:
        return None
    try:
        files = [
            (path.name, read_text(path, "a journal", pipes=False).splitlines())
            for path in newest(folder, JOURNAL_BYTES_MAX)
        ]
    except (OSError, FileError) as error:
        print(f"the journal can not be read: {error}", file=sys.stderr)
        return None
    return read(files, str(folder)) if files else None


def main() -> None:
    """Answers one question."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the controller kills it
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    question: Question = pickle.load(sys.stdin.buffer)
    found = starts(question)
    sys.stdout.buffer.write(pickle.dumps(Answer(found, time.process_time())))
