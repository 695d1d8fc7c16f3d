"""Cancellations of pending jobs, learned from past jobs.

The time until a job is cancelled is estimated as Kaplan and Meier (1958) do: jobs that started had not
been cancelled before their start, and those that still wait have not been cancelled yet."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from operator import mul
from random import Random

from muster.forecast.learning.past_job import PastJob

JOBS_MIN = 20
"""Number of jobs of a queue that its own curve needs; with fewer, the curve of all queues is used."""


class PatienceCurve:
    """The share of the jobs that are not cancelled by the time that they have waited."""

    def __init__(self, waits: Iterable[tuple[int, bool]]) -> None:
        """`waits` are times in milliseconds, and whether the job was cancelled then; else it started, or
        still waits."""
        ordered = sorted(waits)
        at_risk, steps = len(ordered), []
        self._times_ms: list[int] = []
        for wait_ms, is_cancelled in ordered:
            if is_cancelled:
                self._times_ms.append(wait_ms)
                steps.append(1 - 1 / at_risk)
            at_risk -= 1
        self._shares = list(accumulate(steps, mul))

    def drawn_ms(self, waited_ms: int, random: Random) -> int | None:
        """Draws how long a job waits until it is cancelled, given that it has waited for `waited_ms`; None
        if it is not cancelled."""
        first = bisect_right(self._times_ms, waited_ms)
        present = self._shares[first - 1] if first else 1.0
        threshold = random.random() * present
        low, high = first, len(self._shares)
        while low < high:  # the shares fall
            middle = (low + high) // 2
            if self._shares[middle] <= threshold:
                high = middle
            else:
                low = middle + 1
        return self._times_ms[low] if low < len(self._times_ms) else None


class Cancellations:
    """The curves of all queues."""

    def __init__(self, past: Iterable[PastJob]) -> None:
        waits: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        for past_job in past:
            if past_job.job.cancelled_ms is not None:
                waits[past_job.job.queue].append((past_job.job.cancelled_ms, True))
                continue
            wait_ms = past_job.waiting_ms if past_job.waited_ms is None else past_job.waited_ms
            if wait_ms is not None:
                waits[past_job.job.queue].append((wait_ms, False))
        self._all = PatienceCurve(wait for of_queue in waits.values() for wait in of_queue)
        self._queues: Mapping[str, PatienceCurve] = {
            queue: PatienceCurve(of_queue) for queue, of_queue in waits.items() if len(of_queue) >= JOBS_MIN
        }

    def drawn_ms(self, queue: str, waited_ms: int, random: Random) -> int | None:
        """Draws how long a job of this queue waits until it is cancelled; None if it is not."""
        return self._queues.get(queue, self._all).drawn_ms(waited_ms, random)
