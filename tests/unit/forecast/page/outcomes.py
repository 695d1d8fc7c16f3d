"""Outcomes to show: single attempts in full, and whole forecasts from a small queue model."""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from muster.forecast.page import ForecastSide
from muster.forecast.results.outcome import Attempts, End, QueueCapacity, SimulatedJob, SimulationOutcome

HOUR_MS = 3_600_000
CLASSES = ("prod-priority", "dev-priority", "batch-priority")
QUEUES = ("serving", "training-large", "training-small", "research", "evaluation", "batch")
FLAVORS = ("l4", "h100", "v6e")


@dataclass(frozen=True)
class Try:
    """One attempt of a job in milliseconds; `started` is None where its gang never ran."""

    reserved: int
    started: int | None
    ended: int
    end: End = End.FINISHED
    lost: int = 0


@dataclass(frozen=True)
class Job:
    """A job with its attempts."""

    name: str
    submit_ms: int = 0
    queue: str = "a"
    priority_class: str = "prod"
    accelerators: int = 8
    tries: Sequence[Try] = field(default_factory=tuple)


def outcome(
    jobs: Sequence[Job], end_ms: int = HOUR_MS, nominal: int = 16, seed: int = 0
) -> SimulationOutcome:
    """Returns the outcome of these jobs, in queues of one flavor."""
    attempts = Attempts()
    for index, job in enumerate(jobs):
        for attempt in job.tries:
            attempts.job.append(index)
            attempts.reserved_ms.append(attempt.reserved)
            attempts.started_ms.append(-1 if attempt.started is None else attempt.started)
            attempts.ended_ms.append(attempt.ended)
            attempts.end.append(attempt.end)
            attempts.flavor.append(0)
            attempts.lost_ms.append(attempt.lost)
    simulated = [
        SimulatedJob(
            job.name, job.submit_ms, job.queue, job.priority_class, "ana", 2, job.accelerators, number
        )
        for number, job in enumerate(jobs)
    ]
    queues = [
        QueueCapacity(name, "main", {"l4": nominal}) for name in dict.fromkeys(job.queue for job in jobs)
    ]
    return SimulationOutcome(simulated, attempts, queues, end_ms, seed, ("l4",))


def synthetic(jobs: int, seed: int = 0, capacity: float = 1.0, days: float = 30) -> SimulationOutcome:
    """Returns a forecast of `jobs` jobs in six queues that are busy, some of the time too busy.

    The same seed gives the same jobs, regardless of the capacity, so two outcomes can be compared."""
    rng = random.Random(seed)
    end_ms = round(days * 24 * HOUR_MS)
    submits = sorted(_submit(rng, end_ms) for _ in range(jobs))
    simulated, runs = [], []
    for number, submit in enumerate(submits):
        queue, priority_class = (
            rng.choices(range(6), (1, 3, 4, 3, 2, 2))[0],
            rng.choices(CLASSES, (2, 5, 3))[0],
        )
        accelerators = rng.choices((1, 2, 4, 8, 16, 64), (40, 15, 15, 20, 8, 2))[0]
        name = (
            f"{('llama', 'vit', 'tune', 'eval', 'sweep')[number % 5]}-{rng.randrange(400):03d}-{number:06d}"
        )
        size = (max(1, accelerators // 4), accelerators)
        simulated.append(
            SimulatedJob(name, submit, QUEUES[queue], priority_class, f"user-{number % 40}", *size, number)
        )
        runs.append(min(round(rng.lognormvariate(6.5, 1.78) * 1000), end_ms // 8) + 1000)
    attempts: list[tuple[int, int, int, int, End]] = []
    queues = []
    for number, name in enumerate(QUEUES):
        mine = [index for index, job in enumerate(simulated) if job.queue == name]
        demand = sum(simulated[index].accelerators * runs[index] for index in mine)
        base = max(64, round(demand / end_ms * (1.3 - 0.06 * number)))
        quota = round(base * (capacity if number in (1, 3) else 1))
        queues.append(QueueCapacity(name, "main" if number < 4 else "shared", {FLAVORS[number % 3]: quota}))
        attempts += _queue(mine, simulated, runs, quota, end_ms, random.Random(f"{seed} {name}"))
    columns = _columns(sorted(attempts, key=lambda item: item[1]), simulated)
    return SimulationOutcome(simulated, columns, queues, end_ms, seed, FLAVORS)


def sides(jobs: int, futures: int = 1, days: float = 30) -> list[ForecastSide]:
    """Returns a base and one with a third more of two queues' accelerators."""
    return [
        ForecastSide(name, [synthetic(jobs, seed, capacity, days) for seed in range(futures)])
        for name, capacity in (("current quotas", 1.0), ("more H100s", 1.33))
    ]


def _submit(rng: random.Random, end_ms: int) -> int:
    """Returns a time with more jobs by day than by night."""
    while True:
        at = rng.randrange(end_ms)
        hour = at / HOUR_MS % 24
        if rng.random() < (1.0 if 8 <= hour < 19 else 0.35):
            return at


def _queue(
    mine: Sequence[int],
    jobs: Sequence[SimulatedJob],
    runs: Sequence[int],
    quota: int,
    end_ms: int,
    rng: random.Random,
) -> list[tuple[int, int, int, int, End]]:
    """Runs one queue: by priority class, then by time; one job in twelve is interrupted once."""
    events = [(jobs[index].submit_ms, index, 0) for index in mine]  # time, job, accelerators released
    heapq.heapify(events)
    pending: list[tuple[int, int, int]] = []
    interrupted: set[int] = set()
    attempts = []
    free = quota
    while events:
        now, job, released = heapq.heappop(events)
        if now >= end_ms:
            break
        free += released
        if job >= 0:
            heapq.heappush(pending, (CLASSES.index(jobs[job].priority_class), now, job))
        while pending and jobs[pending[0][2]].accelerators <= free:
            job = heapq.heappop(pending)[2]
            accelerators, run = jobs[job].accelerators, runs[job]
            starting = rng.randrange(20_000, 240_000) if accelerators >= 8 else rng.randrange(1_000, 8_000)
            end = End.FINISHED
            if job not in interrupted and rng.random() < 1 / 12:
                interrupted.add(job)
                end = rng.choice((End.PREEMPTED, End.PREEMPTED, End.FAILED, End.NOT_PROVISIONED))
                run = round(run * rng.random())
            started = -1 if end == End.NOT_PROVISIONED else now + starting
            ended = now + starting + (0 if end == End.NOT_PROVISIONED else run)
            if ended >= end_ms:
                started, ended, end = started if started < end_ms else -1, end_ms, End.HORIZON
            attempts.append((job, now, started, ended, end))
            free -= accelerators
            again = job if end in (End.PREEMPTED, End.FAILED, End.NOT_PROVISIONED) else -1
            heapq.heappush(events, (ended, again, accelerators))
    return attempts


def _columns(rows: Sequence[tuple[int, int, int, int, End]], jobs: Sequence[SimulatedJob]) -> Attempts:
    attempts = Attempts()
    for job, reserved, started, ended, end in rows:
        attempts.job.append(job)
        attempts.reserved_ms.append(reserved)
        attempts.started_ms.append(started)
        attempts.ended_ms.append(ended)
        attempts.end.append(end)
        attempts.flavor.append(QUEUES.index(jobs[job].queue) % 3)
        attempts.lost_ms.append(ended - started if started >= 0 and end != End.FINISHED else 0)
    return attempts
