"""Plays cases on a real API server in compressed time, in place of jobs' controllers and pods.

`pace` is how many seconds of the trace take one second.

Kueue decides about plain Workloads: an admitted one finishes after its run time, an evicted one gives its
quota back immediately.
"""

import math
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Any

from lightkube import Client

from muster.cluster.jobs.job import JobOutcome
from muster.controller.workload import transitions
from muster.kube import kinds as muster_kinds
from muster.objects import kueue, workload_status
from sandbox.cluster import kinds
from sandbox.stand_ins.reflector import Reflector
from tests.conformance.differential.core_side import leaves
from tests.conformance.differential.patience import PatientClient
from tests.conformance.differential.stage import write_status
from tests.conformance.objects import view
from tests.fidelity.cases import Case
from tests.fidelity.history import History, Holding, Job
from tests.simulation.manifests import PRIORITIES

ENGINE = "Kueue"
WRITERS = 8
PAUSE_S = 0.01
LISTED_S_MAX = 30.0
QUIET_S_MAX = 120.0  # without any event
MID_SECOND = 0.4  # of the wall clock, at which jobs are submitted: the API's times are whole seconds
TOGETHER_S = 0.2
DONE = JobOutcome(succeeded=True, message="done")


@dataclass
class Playing:
    """One job on the API server; `holding` counts its admissions."""

    job: Job
    case: str
    reserved_s: float | None = None
    holding: int = 0
    is_done: bool = False


@dataclass
class Lateness:
    """Seconds of real time by which submissions were late, and that finishes took to be written."""

    submissions_s: list[float] = field(default_factory=list)
    finishes_s: list[float] = field(default_factory=list)

    def add(self, other: "Lateness") -> None:
        self.submissions_s += other.submissions_s
        self.finishes_s += other.finishes_s


class Play:
    """Plays all cases at the same time: their queues have nothing in common."""

    def __init__(self, client: Client, cases: Sequence[Case], pace: float) -> None:
        self._pace = pace
        self._client = PatientClient(client)
        self._jobs = {f"{j.queue}/{j.name}": Playing(j, c.name) for c in cases for j in c.jobs}
        self._cases = cases
        self._submissions = deque(sorted((j for c in cases for j in c.jobs), key=lambda job: job.submit_s))
        self._events: SimpleQueue[tuple[float, kueue.Workload]] = SimpleQueue()
        self._finishes: list[tuple[float, int, str]] = []  # time, holding, job
        self._workloads: dict[str, kueue.Workload] = {}
        self._holdings: dict[str, list[Holding]] = {case.name: [] for case in cases}
        self._writers = ThreadPoolExecutor(WRITERS)
        self._writing: list[Future[None]] = []
        self._begins = self._last_event = 0.0  # on the monotonic clock
        self.lateness = Lateness()
        self._reflector = Reflector(client, kinds.Workload, self._note)

    def start(self) -> None:
        """Lists the Workloads; the first submission is a moment later, within a second of the clock."""
        self._reflector.start().wait_listed(LISTED_S_MAX)
        wait_s = math.ceil(time.time()) + MID_SECOND - time.time()
        self._begins = time.monotonic() + wait_s
        self._last_event = time.monotonic()

    def step(self) -> bool:
        """Does what is due; returns whether jobs are left. Raises TimeoutError if the engine does nothing for
        QUIET_S_MAX while jobs are left, and none runs."""
        runs = any(playing.reserved_s is not None for playing in self._jobs.values())
        if self._submit_due() + self._finish_due() + self._hear() or runs:
            self._last_event = time.monotonic()
        self._check_writes()
        remaining = [key for key, playing in self._jobs.items() if not playing.is_done]
        if remaining and time.monotonic() > self._last_event + QUIET_S_MAX:
            raise TimeoutError(f"nothing happens for {QUIET_S_MAX:.0f} s; left: {remaining[:5]}")
        return bool(remaining)

    def stop(self) -> dict[str, History]:
        """Returns what happened, by case."""
        self._reflector.stop()
        self._writers.shutdown()
        return {
            case.name: History(
                ENGINE, case.jobs, _in_order(self._holdings[case.name]), TOGETHER_S * self._pace
            )
            for case in self._cases
        }

    def _note(self, _kind: str, obj: kinds.Object, gone: bool) -> None:
        """Runs on the reflector's thread. Workloads of an earlier play have ended."""
        if not gone and "/".join(kinds.key(obj)) in self._jobs:
            self._events.put((self._trace_s(), view(obj, kueue.Workload)))

    def _trace_s(self) -> float:
        return (time.monotonic() - self._begins) * self._pace

    def _submit_due(self) -> int:
        count = 0
        while self._submissions and self._submissions[0].submit_s <= self._trace_s():
            job = self._submissions.popleft()
            self.lateness.submissions_s.append((self._trace_s() - job.submit_s) / self._pace)
            self._write(self._create, job)
            count += 1
        return count

    def _finish_due(self) -> int:
        count = 0
        while self._finishes and self._finishes[0][0] <= self._trace_s():
            _, holding, key = heappop(self._finishes)
            playing = self._jobs[key]
            if playing.holding == holding and playing.reserved_s is not None:
                self._write(self._finish, key)
                count += 1
        return count

    def _hear(self) -> int:
        count = 0
        try:
            event = self._events.get(timeout=PAUSE_S)
            while True:
                self._happen(*event)
                count += 1
                event = self._events.get_nowait()
        except Empty:
            return count

    def _happen(self, at_s: float, workload: kueue.Workload) -> None:
        key, playing = workload.key, self._jobs[workload.key]
        self._workloads[key] = workload
        status = workload.status
        if workload_status.is_finished(status):
            if not playing.is_done:
                playing.is_done = True
                self._end(playing, at_s, preempted=False)
        elif leaves(workload):
            self._write(self._release, workload)
        elif not workload_status.holds_quota(status):
            self._end(playing, at_s, preempted=True)
        elif workload_status.is_admitted(status) and playing.reserved_s is None:
            playing.reserved_s = at_s
            heappush(self._finishes, (at_s + playing.job.run_s, playing.holding, key))

    def _end(self, playing: Playing, at_s: float, *, preempted: bool) -> None:
        if playing.reserved_s is not None:
            reserved_s = playing.reserved_s
            ended = Holding(playing.job.name, reserved_s, reserved_s, at_s, preempted)
            self._holdings[playing.case].append(ended)
            playing.reserved_s, playing.holding = None, playing.holding + 1

    def _write(self, write: Any, subject: Any) -> None:
        self._writing.append(self._writers.submit(write, subject))

    def _check_writes(self) -> None:
        """Raises what a write raised."""
        for done in [w for w in self._writing if w.done()]:
            self._writing.remove(done)
            done.result()

    def _create(self, job: Job) -> None:
        self._client.create(kinds.Workload(workload(job)))

    def _finish(self, key: str) -> None:
        begun = time.monotonic()
        stored_workload = self._workloads[key]
        while not (
            workload_status.is_finished(stored_workload.status)
            or workload_status.is_evicted(stored_workload.status)
        ):
            status = transitions.finish(stored_workload.status, DONE, int(time.time() * 1000))
            if write_status(self._client, stored_workload, status) is not None:
                break
            meta = stored_workload.metadata
            stored_workload = view(
                self._client.read(kinds.Workload, meta.name, meta.namespace), kueue.Workload
            )
        self.lateness.finishes_s.append(time.monotonic() - begun)

    def _release(self, evicted: kueue.Workload) -> None:
        """Gives its quota back; after a conflict the newer version is heard of."""
        status = transitions.release(evicted.status, int(time.time() * 1000))
        write_status(self._client, evicted, status)


def _in_order(holdings: list[Holding]) -> tuple[Holding, ...]:
    return tuple(sorted(holdings, key=lambda holding: holding.reserved_s))


def workload(job: Job) -> dict[str, Any]:
    template = {
        "spec": {
            "containers": [{"name": "worker", "image": "ray", "resources": {"requests": dict(job.requests)}}]
        }
    }
    pod_set = {"name": "workers", "count": job.workers, "template": template}
    return {
        "apiVersion": muster_kinds.WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": job.name, "namespace": job.queue},
        "spec": {
            "queueName": "user-queue",
            "priority": PRIORITIES[job.priority_class],
            "podSets": [pod_set],
        },
    }
