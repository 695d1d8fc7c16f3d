"""Whether the API server would take what KubeRay makes of a gang, asked before the gang may have quota.

Ray's schema lets through templates that no pod can be made of, and admission refuses others: a service
account that does not exist, what Pod Security forbids. Such a gang would hold its quota without running. The
API server itself answers, by dry runs (dry_runs.py) that leave nothing behind. What it says may change though
the gang does not, so it is asked again, with back-off.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass

import msgspec

from muster.controller.dry_runs import dry_runs
from muster.controller.jobs.job import Job
from muster.kube.client import Kube
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition

CONCURRENT_MAX = 4
REFUSED_S_MIN, REFUSED_S_MAX = 2.0, 300.0  # until a refusal is asked about again: doubled each time
TAKEN_S = 600.0  # until what was taken is asked about again
MISCONFIGURED = "Misconfigured"  # a reason of QuotaReserved=False

Key = tuple[str, str]
"""A namespace, and the digest of what would be created in it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`refusal` is a sentence, empty if there is nothing against the gang or nobody could say; `failures`
    counts the answers in a row that were something else than a yes; `again_s`: when to ask again."""

    refusal: str
    failures: int
    again_s: float


class PodChecks:
    """Answers by what is to be created. Namespaces take turns in asking."""

    def __init__(self, kube: Kube, changed: Callable[[], None], clock_s: Callable[[], float]) -> None:
        self._kube, self._changed, self._clock_s = kube, changed, clock_s
        self._answers: dict[Key, Answer] = {}
        self._gangs: dict[Key, Job] = {}  # that the pass under way, or else the last one, has looked for
        self._asking: set[Key] = set()
        self._last_namespace = ""
        self._wanted = asyncio.Event()

    def turn(self) -> None:
        """A new pass begins: answers that the last one did not look for are forgotten."""
        self._answers = {key: self._answers[key] for key in self._gangs if key in self._answers}
        self._gangs = {}

    def answer(self, key: Key, job: Job) -> str | None:
        """What the API server has against the gang, in a sentence; empty: nothing. None: not known yet."""
        self._gangs[key] = job
        found = self._answers.get(key)
        if found is None:
            self._wanted.set()
        return None if found is None else found.refusal

    async def run(self) -> None:
        """Asks for ever."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                due = {key for key in self._gangs if self._due_s(key) <= 0}
                while due and len(self._asking) < CONCURRENT_MAX:
                    key = self._next(due)
                    due.remove(key)
                    self._asking.add(key)
                    tasks.create_task(self._ask(key, self._gangs[key]))
                await self._rest()

    async def _rest(self) -> None:
        """Until a pass looks for what is not known yet, an answer has come, or one is to be had again."""
        free = len(self._asking) < CONCURRENT_MAX
        next_s = min((self._due_s(key) for key in self._gangs), default=None) if free else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(next_s):
                await self._wanted.wait()
        self._wanted.clear()

    def _due_s(self, key: Key) -> float:
        """In how many seconds it is to be asked about: not while it is."""
        if key in self._asking:
            return TAKEN_S
        known = self._answers.get(key)
        return 0.0 if known is None else known.again_s - self._clock_s()

    def _next(self, due: Collection[Key]) -> Key:
        """Of the namespace after the last one: no tenant's templates wait for all of another's."""
        later = [key for key in due if key[0] > self._last_namespace]
        key = min(later or due)
        self._last_namespace = key[0]
        return key

    async def _ask(self, key: Key, job: Job) -> None:
        refusal = await self._refusal_of(job)
        before = self._answers.get(key)
        failures, wait_s = 0, TAKEN_S
        if refusal != "":
            failures = 1 if before is None else before.failures + 1
            wait_s = min(REFUSED_S_MIN * 2.0 ** min(failures - 1, 16), REFUSED_S_MAX)
        answer = self._answers[key] = Answer(refusal or "", failures, self._clock_s() + wait_s)
        self._asking.discard(key)
        self._wanted.set()
        if before is None or before.refusal != answer.refusal:
            self._changed()

    async def _refusal_of(self, job: Job) -> str | None:
        """The first one; None if nobody can say."""
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
    """Whether it was never decided on, or only refused: it has to wait for the answer. Others keep their
    places in the queue when a new leader knows no answers yet."""
    reserved = find_condition(workload.status.conditions, "QuotaReserved")
    return reserved is None or reserved.reason == MISCONFIGURED
