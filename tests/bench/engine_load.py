"""One engine under load: the time until a RayJob is admitted, and the cost of a thousand RayJobs.

KubeRay is stopped, so that only the engine and the API server are measured.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

import psutil
from lightkube import Client
from lightkube.codecs import from_dict

from sandbox.cluster import kinds
from sandbox.cluster.processes import Processes
from sandbox.stand_ins.reflector import Reflector
from sandbox.up import down, up
from tests.bench.ray_jobs import NAMESPACE, queue_objects, ray_job
from tools.toolchain.paths import RunState

LATENCY_JOBS = 200
JOBS = 1000
PAUSE_SECONDS = 0.05  # between submissions, so that the queue is idle at the next one
ADMISSION_SECONDS_MAX = 180.0
IDLE_SECONDS, IDLE_PERCENT_MAX = 2.0, 3.0


@dataclass(frozen=True)
class Load:
    """Seconds from a RayJob's creation to Admitted in its Workload; the engine's cost at 1,000 Workloads."""

    p50_s: float
    p99_s: float
    cpu_s: float
    rss_mb: float


def measure(engine: str) -> Load:
    state = RunState(f"bench-{engine}")
    try:
        up(state, engine, scenarios=(), fresh=True)
        processes = Processes(state)
        for name in ("ray-operator", "page"):
            processes.stop(name)
        process = engine_process(processes, engine)
        with closing(kinds.connect(state.kubeconfig)) as client:
            for obj in queue_objects(LATENCY_JOBS + 1):  # the first jobs and the warm-up
                client.create(from_dict(obj))
            return _load(client, process)
    finally:
        down(state)


def _load(client: Client, process: psutil.Process) -> Load:
    before_s = cpu_s(process)
    with admissions(client) as admitted:
        client.create(from_dict(ray_job("warm-up")))  # the first job is measured for neither engine
        _until(lambda: len(admitted) == 1, "the first job was not admitted")
        created = {}
        for number in range(LATENCY_JOBS):
            created[f"job-{number}"] = time.monotonic()
            client.create(from_dict(ray_job(f"job-{number}")))
            time.sleep(PAUSE_SECONDS)
        _until(lambda: len(admitted) > LATENCY_JOBS, f"only {len(admitted)} of {LATENCY_JOBS} were admitted")
        waits = sorted(admitted[name] - at for name, at in created.items())
    for number in range(LATENCY_JOBS, JOBS):
        client.create(from_dict(ray_job(f"job-{number}")))
    _until(lambda: _workloads(client) >= JOBS and _idle(process), f"{JOBS} Workloads were not processed")
    cuts = quantiles(waits, n=100, method="inclusive")
    return Load(cuts[49], cuts[98], cpu_s(process) - before_s, process.memory_info().rss / 2**20)


def engine_process(processes: Processes, engine: str) -> psutil.Process:
    return running(processes, "controller" if engine == "muster" else engine)


def running(processes: Processes, name: str) -> psutil.Process:
    process = processes.table()[name].process()
    assert process is not None, f"{name} is not running"
    return process


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _until(done: Any, otherwise: str) -> None:
    deadline = time.monotonic() + ADMISSION_SECONDS_MAX
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{otherwise} within {ADMISSION_SECONDS_MAX:.0f} s")
        time.sleep(0.2)


def _workloads(client: Client) -> int:
    return sum(1 for _ in client.list(kinds.Workload, namespace=NAMESPACE))


def _idle(process: psutil.Process) -> bool:
    """Returns whether the engine has used hardly any CPU for a while."""
    return bool(process.cpu_percent(interval=IDLE_SECONDS) < IDLE_PERCENT_MAX)


@contextmanager
def admissions(client: Client) -> Iterator[Mapping[str, float]]:
    """Yields when the watch showed each job's Workload as Admitted, by job name (monotonic seconds)."""
    observed: dict[str, float] = {}

    def note(_kind: str, workload: kinds.Object, _gone: bool) -> None:
        if workload["metadata"]["namespace"] == NAMESPACE and kinds.is_true(workload, "Admitted"):
            observed.setdefault(workload["metadata"]["ownerReferences"][0]["name"], time.monotonic())

    reflector = Reflector(client, kinds.Workload, note).start()
    yield observed
    reflector.stop()
