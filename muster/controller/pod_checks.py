"""Whether the API server would take a gang's pods, asked before the gang may have quota.

Ray's schema lets through templates that no pod can be made of: bad container names, selectors, label values.
Such a gang would hold its quota forever. Kubernetes' own validation answers: a PodTemplate with the same
content is created as a dry run, for which the controller has the right anyway, and nothing is left behind.
Not covered: what a namespace's ResourceQuota or Pod Security forbids, and what KubeRay makes of the template.
"""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from muster.controller.jobs.job import Job
from muster.kube.client import Kube
from muster.kube.kinds import POD_TEMPLATES
from muster.kube.writes import Create
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition

CONCURRENT_MAX = 4
GENERATED_NAME = "muster-dry-run-"
MISCONFIGURED = "Misconfigured"  # a reason of QuotaReserved=False

Key = tuple[str, str]
"""A namespace, and the digest of a gang's templates."""


class PodChecks:
    """Answers by gang's templates; a gang without one is asked about, by turns of the namespaces."""

    def __init__(self, kube: Kube, changed: Callable[[], None]) -> None:
        self._kube, self._changed = kube, changed
        self._answers: dict[Key, str] = {}
        self._waiting: dict[Key, Job] = {}  # what the pass under way, or else the last one, has no answer for
        self._used: set[Key] = set()
        self._asking: set[Key] = set()
        self._last_namespace = ""
        self._wanted = asyncio.Event()

    def turn(self) -> None:
        """A new pass begins: answers that the last one did not look for are forgotten."""
        self._answers = {key: self._answers[key] for key in self._used if key in self._answers}
        self._used, self._waiting = set(), {}

    def answer(self, key: Key, job: Job) -> str | None:
        """What the API server has against the pods, in a sentence; empty: nothing. None: not known yet."""
        self._used.add(key)
        found = self._answers.get(key)
        if found is None and key not in self._asking:
            self._waiting[key] = job
            self._wanted.set()
        return found

    async def run(self) -> None:
        """Asks for ever."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                while self._waiting and len(self._asking) < CONCURRENT_MAX:
                    key = self._next()
                    self._asking.add(key)
                    tasks.create_task(self._ask(key, self._waiting.pop(key)))

    def _next(self) -> Key:
        """Of the namespace after the last one: no tenant's templates wait for all of another's."""
        later = [key for key in self._waiting if key[0] > self._last_namespace]
        key = min(later or self._waiting)
        self._last_namespace = key[0]
        return key

    async def _ask(self, key: Key, job: Job) -> None:
        self._answers[key] = await self._answer_of(job)
        self._asking.discard(key)
        self._wanted.set()
        self._changed()

    async def _answer_of(self, job: Job) -> str:
        for place in job.places:
            refused = await self._kube.refusal(dry_run(job.metadata.namespace, bytes(place.template)))
            if refused:
                return f"pod set {place.pod_set!r}: Kubernetes would not create its pods: {refused}"
        return ""


def dry_run(namespace: str, template: bytes) -> Create:
    body: dict[str, Any] = msgspec.json.decode(template)
    return Create(
        POD_TEMPLATES,
        {"metadata": {"generateName": GENERATED_NAME, "namespace": namespace}, "template": body},
    )


def key_of(job: Job) -> Key:
    digest = hashlib.sha256()
    for place in job.places:
        text = bytes(place.template)
        digest.update(b"%d %d " % (len(place.pod_set), len(text)))
        digest.update(place.pod_set.encode() + text)
    return job.metadata.namespace, digest.hexdigest()


def is_new(workload: Workload) -> bool:
    """Whether it was never decided on, or only refused: it has to wait for the answer. Others keep their
    places in the queue when a new leader knows no answers yet."""
    reserved = find_condition(workload.status.conditions, "QuotaReserved")
    return reserved is None or reserved.reason == MISCONFIGURED
