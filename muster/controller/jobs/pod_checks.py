"""Whether the API server would accept the objects of a gang, checked before the gang gets quota.

Ray's schema accepts templates from which no pod can be created, and admission refuses others: a missing
service account, a violation of Pod Security. Such a gang would hold its quota without running. Dry runs
(dry_runs.py) ask the API server and leave nothing behind. Its answer may change while the gang stays the
same, so the question is repeated, with back-off.
"""

import asyncio
import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

import msgspec

from muster.controller.jobs.dry_runs import dry_runs
from muster.controller.jobs.job import Job
from muster.kube.client import Kube
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition

CONCURRENT_MAX = 4
REFUSED_S_MIN, REFUSED_S_MAX = 2.0, 300.0  # back-off after a refusal: doubled each time
ACCEPTED_S = 600.0  # interval between two checks of an accepted gang
MISCONFIGURED = "Misconfigured"  # a reason of QuotaReserved=False

Key = tuple[str, str]
"""A namespace, and the digest of the objects to create in it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`refusal` is a sentence, empty if the API server accepts the gang or could not be asked; `failures`
    counts consecutive answers other than acceptance; `again_s`: when to ask again."""

    refusal: str
    failures: int
    again_s: float


class PodChecks:
    """Answers by the objects to create. Namespaces take turns."""

    def __init__(self, kube: Kube, changed: Callable[[], None], clock_s: Callable[[], float]) -> None:
        self._kube, self._changed, self._clock_s = kube, changed, clock_s
        self._answers: dict[Key, Answer] = {}
        self._gangs: dict[Key, Job] = {}  # requested since the last full pass began
        self._askers: dict[Key, set[str]] = defaultdict(set)  # likewise
        self._changed_for: set[str] = set()
        self._in_flight: set[Key] = set()
        self._last_namespace = ""
        self._answer_wanted = asyncio.Event()

    def begin_full_pass(self) -> None:
        """Begins a pass that requests all answers again: drops those that were not requested since the last
        one."""
        self._answers = {key: self._answers[key] for key in self._gangs if key in self._answers}
        self._gangs = {}
        self._askers.clear()

    def answer(self, key: Key, job: Job, asker: str) -> str | None:
        """Returns why the API server refuses the gang; empty: it does not. None: not known yet. `asker` is
        the gang's Workload."""
        self._gangs[key] = job
        self._askers[key].add(asker)
        found = self._answers.get(key)
        if found is None:
            self._answer_wanted.set()
        return None if found is None else found.refusal

    def take_changed(self) -> set[str]:
        """Returns the Workloads for which an answer has changed since the last call."""
        changed, self._changed_for = self._changed_for, set()
        return changed

    async def run(self) -> None:
        """Asks the API server until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                due = {key for key in self._gangs if self._due_s(key) <= 0}
                while due and len(self._in_flight) < CONCURRENT_MAX:
                    key = self._next(due)
                    due.remove(key)
                    self._in_flight.add(key)
                    tasks.create_task(self._check(key, self._gangs[key]))
                await self._wait()

    async def _wait(self) -> None:
        """Waits until a pass requests an unknown answer, an answer arrives, or one is due again."""
        free = len(self._in_flight) < CONCURRENT_MAX
        next_s = min((self._due_s(key) for key in self._gangs), default=None) if free else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(next_s):
                await self._answer_wanted.wait()
        self._answer_wanted.clear()

    def _due_s(self, key: Key) -> float:
        """Returns the seconds until it is due; never while the request is in flight."""
        if key in self._in_flight:
            return ACCEPTED_S
        known = self._answers.get(key)
        return 0.0 if known is None else known.again_s - self._clock_s()

    def _next(self, due: Collection[Key]) -> Key:
        """Returns a key of the next namespace, so that no tenant waits for all templates of another."""
        later = [key for key in due if key[0] > self._last_namespace]
        key = min(later or due)
        self._last_namespace = key[0]
        return key

    async def _check(self, key: Key, job: Job) -> None:
        refusal = await self._refusal_of(job)
        before = self._answers.get(key)
        failures, wait_s = 0, ACCEPTED_S
        if refusal != "":
            failures = 1 if before is None else before.failures + 1
            wait_s = min(REFUSED_S_MIN * 2.0 ** min(failures - 1, 16), REFUSED_S_MAX)
        answer = self._answers[key] = Answer(refusal or "", failures, self._clock_s() + wait_s)
        self._in_flight.discard(key)
        self._answer_wanted.set()
        if before is None or before.refusal != answer.refusal:
            self._changed_for |= self._askers.get(key, set())
            self._changed()

    async def _refusal_of(self, job: Job) -> str | None:
        """Returns the first refusal, empty if there is none; None if the API server could not answer."""
        for what, create in dry_runs(job):
            refused = await self._kube.refusal(create)
            if refused is None:
                return None
            if refused:
                return f"Kubernetes would not create {what}: {refused}"
        return ""


def key_of(job: Job) -> Key:
    digest = hashlib.sha256()
    for what, create in dry_runs(job):
        text = msgspec.json.encode((what, create.kind.name, create.body))
        digest.update(b"%d " % len(text) + text)
    return job.metadata.namespace, digest.hexdigest()


def is_new(workload: Workload) -> bool:
    """Whether it was never decided on, or was ineligible: it has to wait for the answer. Others keep their
    place in the queue while a new leader has no answers yet."""
    reserved = find_condition(workload.status.conditions, "QuotaReserved")
    return reserved is None or reserved.reason == MISCONFIGURED
