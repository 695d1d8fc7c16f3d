"""Random clusters with their past: queues, users and delays that differ from world to world.

The estimates of a world read its record only. Everything about a world is drawn from its seed: the quota and
rules of its queues, the load, the pattern of submissions, the run times of its users and whether these
change, the limits that they declare, cancellations, failed runs that are submitted again, users that come
later, and the delays of its nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log
from random import Random
from typing import Any

from muster.forecast.assumptions import Assumptions
from muster.forecast.backtest.past_run import PastRun, replayed
from muster.forecast.configuration import QueueConfiguration
from muster.forecast.futures import SimulationInputs
from muster.forecast.placement import place
from muster.forecast.queue_objects import from_manifests, parse_controller
from muster.forecast.traces.synthetic import arrival_times, week_of
from muster.forecast.traces.trace import TraceJob

JOBS = 240
GPU = "nvidia.com/gpu"
VERSION = "kueue.x-k8s.io/v1beta2"
GANGS, GANG_WEIGHTS = (1, 2, 4, 8), (8, 4, 2, 1)
CLASSES = {"low": 1, "high": 100}
SECOND_MS = 1000
CALM, NIGHT = (1.0,) * 24, (0.2,) * 8 + (1.0,) * 12 + (0.4,) * 4

Body = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A cluster and its past."""

    name: str  # its seed, and the kinds of its submissions and run times
    configuration: QueueConfiguration
    run: PastRun


@dataclass(frozen=True)
class _User:
    """The habits of a user; run times are logarithms of seconds."""

    name: str
    queue: str
    run_mean: float
    run_spread: float
    limit: float | None  # times the median run time; None: each run declares its own, or none
    declares: bool
    from_share: float = 0.0  # of the jobs of a world, from which on the user submits


def world(seed: int, count: int = JOBS) -> World:
    """Draws the world of a seed."""
    random = Random(f"world/{seed}")
    arrivals = random.choice(("steady", "bursty", "diurnal"))
    tail = random.choice(("lognormal", "heavy", "drifting"))
    manifests, queues = _queues(random)
    users = list(_users(random, queues))
    jobs = list(_jobs(random, users, count, tail))
    quota = sum(queues.values())
    work_s = sum(job.run_ms * job.pods for job in jobs if job.run_ms is not None) / SECOND_MS
    mean_ms = SECOND_MS * work_s / (random.uniform(0.6, 1.15) * quota * count)
    shape = 0.5 if arrivals == "bursty" else 1.0
    hours = NIGHT if arrivals == "diurnal" else CALM
    times = arrival_times(random, mean_ms, shape, week_of(hours, 1.0 if arrivals != "diurnal" else 0.4))
    dated = [replace(job, submit_ms=round(next(times))) for job in jobs]
    trace = _resubmitted(random, dated)
    assumptions = Assumptions(
        start_up_s=round(exp(random.uniform(log(3), log(180)))),
        provisioning_median_s=round(exp(random.uniform(log(60), log(1_800)))),
        provisioning_spread=random.uniform(0.2, 1.0),
        failures_per_node_hour=random.choice((0.0, 0.0, 0.02)),
    )
    configuration = from_manifests(f"world {seed}", manifests, parse_controller("test", "{}"))
    placement = place(trace, configuration)
    assert not placement.left_out
    run = replayed(SimulationInputs(configuration, placement.jobs, assumptions), trace)
    return World(f"{seed} {arrivals} {tail}", configuration, run)


def _queues(random: Random) -> tuple[list[Body], Mapping[str, int]]:
    """Draws the manifests, and the quota of each queue."""
    names = ("a", "b", "c")[: random.randint(1, 3)]
    quotas = {name: random.choice((8, 16, 32)) for name in names}
    spec: Body = {
        "namespaceSelector": {},
        "queueingStrategy": random.choice(("BestEffortFIFO", "StrictFIFO")),
    }
    if random.random() < 0.5:
        spec["preemption"] = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    if random.random() < 0.5:
        spec["cohortName"] = "all"
    checks = random.random() < 0.4
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": "capacity"}]}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "capacity"}
    check = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    config = {"provisioningClassName": "queued-provisioning.gke.io"}
    classes = ({"value": value, **_object("WorkloadPriorityClass", name)} for name, value in CLASSES.items())
    manifests = [
        {**_object("ResourceFlavor", "gpu"), "spec": {}},
        *classes,
        *([{**_object("AdmissionCheck", "capacity"), "spec": check}] if checks else ()),
        *([{**_object("ProvisioningRequestConfig", "capacity"), "spec": config}] if checks else ()),
        *({**_object("ClusterQueue", name), "spec": {**spec, **_quota(quotas[name])}} for name in names),
    ]
    return manifests, quotas


def _object(kind: str, name: str) -> Body:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}}


def _quota(gpus: int) -> Body:
    flavors = [{"name": "gpu", "resources": [{"name": GPU, "nominalQuota": str(gpus)}]}]
    return {"resourceGroups": [{"coveredResources": [GPU], "flavors": flavors}]}


def _users(random: Random, queues: Mapping[str, int]) -> Iterator[_User]:
    of_world = random.uniform(log(120), log(7_200))
    for number in range(random.randint(3, 8)):
        declares = random.random() < 0.6
        yield _User(
            name=f"user-{number}",
            queue=random.choices(list(queues), list(queues.values()))[0],
            run_mean=random.gauss(of_world, 0.8),
            run_spread=random.uniform(0.2, 1.3),
            limit=random.uniform(2, 20) if declares and random.random() < 0.5 else None,
            declares=declares,
            from_share=0.0 if number < 2 or random.random() < 0.7 else random.uniform(0.3, 0.7),
        )


def _jobs(random: Random, users: Sequence[_User], count: int, tail: str) -> Iterator[TraceJob]:
    """Draws jobs without their time of submission."""
    cancels = random.choice((0.0, 0.05, 0.2))
    fails = random.choice((0.0, 0.1, 0.3))
    drift = random.gauss(0, 0.7) if tail == "drifting" else 0.0
    for number in range(count):
        present = [user for user in users if user.from_share <= number / count]
        user = random.choices(present, [1 / (1 + present.index(u)) for u in present])[0]
        mean = user.run_mean + drift * number / count
        run_s = exp(random.gauss(mean, user.run_spread))
        if tail == "heavy":
            run_s = exp(mean) * random.paretovariate(1.3) * 0.6
        run_s = min(max(run_s, 5.0), 40 * exp(user.run_mean), 5 * 86_400)
        limit_s = None
        if user.declares:
            limit_s = exp(user.run_mean) * user.limit if user.limit else run_s * random.uniform(1.1, 20)
            run_s = min(run_s, limit_s)
        has_failed, is_cancelled = random.random() < fails, random.random() < cancels
        yield TraceJob(
            name=f"job-{number:04}{'-failed' if has_failed else ''}",
            submit_ms=0,
            run_ms=None if is_cancelled else round(SECOND_MS * run_s),
            pods=random.choices(GANGS, GANG_WEIGHTS)[0],
            requests={GPU: 1},
            queue=user.queue,
            priority_class="high" if random.random() < 0.25 else "low",
            user=user.name,
            limit_ms=None if limit_s is None else round(SECOND_MS * limit_s),
            cancelled_ms=round(SECOND_MS * min(random.expovariate(1 / 1_800), limit_s or inf))
            if is_cancelled
            else None,
        )


def _resubmitted(random: Random, jobs: Sequence[TraceJob]) -> list[TraceJob]:
    """Returns the jobs in order of submission; failed ones end early, and are submitted again up to twice."""
    trace: list[TraceJob] = []
    for job in jobs:
        if job.run_ms is None or not job.name.endswith("-failed"):
            trace.append(job)
            continue
        at_ms = job.submit_ms
        for attempt in range(random.randint(1, 2)):
            run_ms = max(SECOND_MS, round(job.run_ms * random.uniform(0.02, 0.5)))
            trace.append(replace(job, name=f"{job.name}-{attempt}", submit_ms=at_ms, run_ms=run_ms))
            at_ms += run_ms + round(SECOND_MS * random.uniform(30, 900))
        trace.append(replace(job, submit_ms=at_ms))
    return sorted(trace, key=lambda job: job.submit_ms)
