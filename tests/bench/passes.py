"""Measures the controller's passes with many Workloads: the first one, a pass without changes, a pass
over all Workloads, and the passes in which a RayJob arrives and is admitted.

A third of the Workloads run, a third wait and a third are finished and kept. The objects are in memory: what
the API server and the network take is not measured here. Seconds are CPU time. A first process fills the
cluster; the controller that takes it over runs in another one, to measure its memory.
"""

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import msgspec

from muster.cluster.jobs.pod_checks import PodChecks
from muster.cluster.watched_kinds import WATCHED
from muster.configuration.configuration import DEFAULT
from muster.controller.gangs.planned_write import PlannedWrite
from muster.controller.pacing.rates import ExplanationRate, Load
from muster.controller.passes.pass_memory import PassMemory
from muster.controller.passes.pass_plan import PassPlan
from muster.controller.passes.reconcile import reconcile
from muster.controller.process.cluster_states import FULL_PASS_INTERVAL_MS, FULL_PASS_SHARE, ClusterStates
from muster.kube import kinds
from muster.kube.client import CHUNK
from muster.kube.kinds import Kind
from muster.kube.store import OBJECTS_A_COLLECTION, Stores
from tests.bench.report import Figure, show
from tests.simulation.api import Api, Body, Change
from tests.simulation.kube import CALM, EmulatedKube
from tests.simulation.manifests import cluster_queue, quotas, ray_job, stack

QUEUES = 100
FEW, MANY = 1_000, 50_000
ARRIVALS = 200
ROUNDS_MAX = 50
NOW_MS = 1_767_268_800_000
PASS_MS = 10
KINDS = {str(kind): kind for kind in WATCHED}

FIRST_S_MAX = 10.0
GROWTH_MAX = 1.3
RSS_MB_MAX = 400
IDLE_PERCENT_MAX = 1.0


@dataclass(frozen=True)
class Restarted:
    """Figures of a controller that takes over a cluster. `first_s` includes the decoding of all objects;
    `full_s` is a pass that examines all, of which there is one in `full_interval_s`."""

    first_s: float
    peak_mb: float
    rss_mb: float
    unchanged_s: float
    unchanged_writes: int
    full_s: float
    full_interval_s: float

    @property
    def idle_percent(self) -> float:
        """The part of a core that passes need while nothing changes."""
        return 100 * self.full_s / self.full_interval_s


class AllPodsAccepted(PodChecks):
    """Answers immediately that the API server would accept the pods."""

    def refusal(self, key: Any, job: Any, workload: str) -> str | None:
        return ""


class Passes:
    """Passes over the objects of stores; the clock moves by PASS_MS before each."""

    def __init__(self, api: Api) -> None:
        self.at_ms = 0
        self.stores, self._memory = Stores(), PassMemory(DEFAULT.rules)
        checks = AllPodsAccepted(EmulatedKube(api, Random(0), CALM), lambda: None, self._clock_s)
        self._clusters = ClusterStates(self.stores, checks, lambda: True)
        self._rate, self._load = ExplanationRate(), Load()

    def _clock_s(self) -> float:
        return self.at_ms / 1000

    def decide(self, *, explain_all: bool = False) -> list[PlannedWrite]:
        """Runs a pass. Returns its writes."""
        self.at_ms += PASS_MS
        now_ms, rate = NOW_MS + self.at_ms, self._rate
        limits = None if explain_all else rate.limits(self.at_ms)
        cluster = self._clusters.begin_pass(self.at_ms)
        plan = reconcile(cluster, now_ms, (), DEFAULT, self._memory, limits)
        self._clusters.decided(self.at_ms)
        writes = list(_writes(plan))
        # changes of others come in passes that start or stop something, which is load anyway
        self._load.record(self.at_ms, busy=len(writes) > len(plan.writes.wait_reasons), changes=0)
        rate.record(plan.explained, self.at_ms, now_ms, self._load.calm_ms)
        return writes


def _writes(plan: PassPlan) -> Iterable[PlannedWrite]:
    return chain(
        plan.writes.stops,
        plan.writes.before_reservations,
        plan.writes.reservations,
        plan.writes.template_resets,
        plan.writes.wait_reasons,
    )


class Cluster:
    """An API server in memory, and the controller's passes over its objects."""

    def __init__(self) -> None:
        self.cpu_s = 0.0  # of all passes
        self.api = Api(lambda: NOW_MS + self._passes.at_ms)
        self._passes = Passes(self.api)
        self._kube = EmulatedKube(self.api, Random(0), CALM)
        self.api.watchers.append(self._note)

    def _note(self, change: Change) -> None:
        if change.kind not in WATCHED:
            return
        if change.type == "DELETED":
            self._passes.stores.of(change.kind).remove(change.view)
        else:
            self._passes.stores.of(change.kind).put(change.view)

    def settle(self, *, explain_all: bool = False) -> None:
        """Runs passes until one writes nothing."""
        for _ in range(ROUNDS_MAX):
            started = time.process_time()
            planned = self._passes.decide(explain_all=explain_all)
            self.cpu_s += time.process_time() - started
            if not planned:
                return
            for write in planned:
                self._kube.write(write.write)
        raise AssertionError(f"passes still write after {ROUNDS_MAX}")

    def submit(self, number: int, workers: int = 1) -> str:
        body = ray_job(f"job-{number}", workers=workers, namespace=f"queue-{number % QUEUES}")
        self.api.create(kinds.RAY_JOBS, body, "user")
        return f"{body['metadata']['namespace']}/{body['metadata']['name']}"

    def write_down(self, file: Path) -> None:
        """Writes all objects that the controller watches, one a line after its kind."""
        with file.open("wb") as lines:
            for name, kind in KINDS.items():
                for body in self.api.all(kind):
                    lines.write(name.encode() + b" " + msgspec.json.encode(body) + b"\n")


def filled(count: int) -> Cluster:
    """Returns a cluster in which a third of the Workloads is finished, a third runs and a third waits."""
    cluster, third = Cluster(), count // 3
    queues = [_queue(f"queue-{number}", -(-third // QUEUES)) for number in range(QUEUES)]
    for kind, bodies in stack(*queues).items():
        for body in bodies:
            cluster.api.create(kind, body, "platform")
    finished = [cluster.submit(number) for number in range(third)]
    cluster.settle(explain_all=True)
    end = {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}}
    for key in finished:
        cluster.api.merge_patch(kinds.RAY_JOBS, key, end, "kuberay", True)
    cluster.settle(explain_all=True)
    for number in range(third, count):
        cluster.submit(number)
    cluster.settle(explain_all=True)
    return cluster


def _queue(name: str, gpus: int) -> Body:
    roomy: dict[str, Any] = {"cpu": 10**6, "memory": "1000Ti"}
    queue = cluster_queue(name, quotas("cpu", **roomy, gpu=0), quotas("l4", **roomy, gpu=gpus))
    del queue["spec"]["admissionChecksStrategy"]  # without checks
    return queue


def admission_s(cluster: Cluster, count: int) -> float:
    """Returns the median of what the passes take from the arrival of a RayJob until it is started; it needs
    no accelerator, and is admitted immediately."""
    seconds = []
    for number in range(count, count + ARRIVALS):
        before = cluster.cpu_s
        key = cluster.submit(number, workers=0)
        cluster.settle()
        assert not cluster.api.get(kinds.RAY_JOBS, key)["spec"]["suspend"], f"{key} is not started"
        seconds.append(cluster.cpu_s - before)
    return median(seconds)


def restart(file: Path) -> Restarted:
    """Takes over the cluster of a file in this process."""
    passes = Passes(Api(lambda: NOW_MS))
    started = time.process_time()
    with file.open("rb") as lines:
        for name, of_kind in groupby(lines, key=lambda line: line.partition(b" ")[0].decode()):
            _list(KINDS[name], of_kind, passes.stores)
    at_first = passes.decide()
    first_s = time.process_time() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not at_first, f"the cluster was not at rest: {at_first[:3]}"
    gc.collect()
    started = time.process_time()
    unchanged_writes = len(passes.decide())
    unchanged_s = time.process_time() - started
    passes.at_ms += FULL_PASS_INTERVAL_MS
    started = time.process_time()
    passes.decide()
    full_s = time.process_time() - started
    interval_s = max(FULL_PASS_INTERVAL_MS / 1000, FULL_PASS_SHARE * full_s)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    rss_mb = pages * os.sysconf("SC_PAGE_SIZE") / 1024**2
    return Restarted(first_s, peak_mb, rss_mb, unchanged_s, unchanged_writes, full_s, interval_s)


def _list(kind: Kind[Any], lines: Iterable[bytes], stores: Stores) -> None:
    """Fills the store of a kind in the way of a Reflector: from chunks of a list."""
    store, objects = stores.of(kind), list[Any]()
    bodies = (line.partition(b" ")[2].rstrip() for line in lines)
    while chunk := list(islice(bodies, CHUNK)):
        answer = b'{"metadata":{},"items":[' + b",".join(chunk) + b"]}"
        objects += map(store.stored, kind.list_decoder.decode(answer).items or ())
    store.replace(objects, "0")


def in_processes(count: int) -> tuple[float, Restarted]:
    """Returns the seconds of an admission, and the figures of a restart."""
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        file = Path(folder) / "objects"
        admission = _in_a_process("fill", str(count), str(file))
        return float(admission["admission_s"]), Restarted(**_in_a_process("restart", str(file)))


def _in_a_process(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.passes", *arguments]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)
    parsed: dict[str, Any] = json.loads(completed.stdout)
    return parsed


def figures() -> Iterator[Figure]:
    few_s, _ = in_processes(FEW)
    many_s, restarted = in_processes(MANY)
    what = f"{MANY:,} Workloads"
    yield Figure(f"{what}: first pass, objects decoded", restarted.first_s, "s", limit=FIRST_S_MAX)
    yield Figure(f"{what}: peak RSS until then", restarted.peak_mb, "MB", limit=RSS_MB_MAX)
    yield Figure(f"{what}: RSS at rest", restarted.rss_mb, "MB", limit=RSS_MB_MAX)
    yield Figure(f"{what}: a pass without changes", 1000 * restarted.unchanged_s, "ms")
    yield Figure(f"{what}: writes of such a pass", restarted.unchanged_writes, "writes", limit=0)
    yield Figure(f"{what}: a pass that examines all", restarted.full_s, "s")
    yield Figure(f"{what}: idle, of a core", restarted.idle_percent, "%", limit=IDLE_PERCENT_MAX)
    yield Figure(f"{FEW:,} Workloads: passes of an admission", 1000 * few_s, "ms")
    yield Figure(f"{what}: passes of an admission", 1000 * many_s, "ms")
    growth = many_s / few_s
    yield Figure(f"growth of an admission, {FEW:,} to {what}", growth, "times", limit=GROWTH_MAX)


def main(arguments: list[str]) -> None:
    gc.set_threshold(OBJECTS_A_COLLECTION)  # as the controller's process does
    match arguments:
        case ["fill", count, file]:
            cluster = filled(int(count))
            seconds = admission_s(cluster, int(count))
            cluster.write_down(Path(file))
            print(json.dumps({"admission_s": seconds}))
        case ["restart", file]:
            print(json.dumps(restart(Path(file)).__dict__))
        case _:
            show("Passes of the controller", list(figures()))


if __name__ == "__main__":
    main(sys.argv[1:])
