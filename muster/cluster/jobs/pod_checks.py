"""Checks that the API server accepts the objects of a gang before the gang gets quota.

Ray's schema accepts templates from which no pod can be created, and API server admission rejects others: a
missing service account, a violation of Pod Security. Such a gang would hold quota without running: KubeRay
creates no pods if the head's Service is refused. The checks are dry runs, which create nothing. Results may
change while the gang stays the same, so checks are repeated, with back-off.
"""

import asyncio
import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.cluster.jobs.gang import HEAD, PodSetTemplate
from muster.cluster.jobs.job import Job
from muster.kube.client import Kube
from muster.kube.kinds import PODS, SERVICES
from muster.kube.writes import Create
from muster.objects.kueue import Workload
from muster.objects.meta import find_condition

CONCURRENT_MAX = 4
REFUSED_S_MIN, REFUSED_S_MAX = 2.0, 300.0  # back-off after a refusal, doubled after each
ACCEPTED_S = 600.0  # interval between checks of an accepted gang
MISCONFIGURED = "Misconfigured"  # a reason of QuotaReserved=False

GENERATED_NAME = "muster-dry-run-"

Body = dict[str, Any]
Key = tuple[str, str]
"""A namespace and a digest of the objects to create in it."""


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """The result of the dry runs of a gang. `refusal` is a sentence, empty if the API server accepts the gang
    or could not be reached; `failures` counts consecutive checks without acceptance; `recheck_at_s` is the
    time of the next check."""

    refusal: str
    failures: int
    recheck_at_s: float


class PodChecks:
    """Runs the checks and caches their results by the objects to create. Namespaces are checked
    round-robin."""

    def __init__(self, kube: Kube, changed: Callable[[], None], clock_s: Callable[[], float]) -> None:
        self._kube, self._changed, self._clock_s = kube, changed, clock_s
        self._results: dict[Key, DryRunResult] = {}
        self._gangs: dict[Key, Job] = {}  # requested since the last full pass began
        self._workloads: dict[Key, set[str]] = defaultdict(set)  # that requested them
        self._changed_for: set[str] = set()
        self._in_flight: set[Key] = set()
        self._last_namespace = ""
        self._wake = asyncio.Event()

    def begin_full_pass(self) -> None:
        """Drops results that were not requested since the last full pass, as this pass requests all results
        again."""
        self._results = {key: self._results[key] for key in self._gangs if key in self._results}
        self._gangs = {}
        self._workloads.clear()

    def refusal(self, key: Key, job: Job, workload: str) -> str | None:
        """Returns why the API server refuses the gang, empty if it accepts the gang; None if there is no
        result yet. `workload` is the key of the gang's Workload."""
        self._gangs[key] = job
        self._workloads[key].add(workload)
        result = self._results.get(key)
        if result is None:
            self._wake.set()
        return None if result is None else result.refusal

    def take_changed(self) -> set[str]:
        """Returns the Workloads whose result has changed since the last call."""
        changed, self._changed_for = self._changed_for, set()
        return changed

    async def run(self) -> None:
        """Runs due checks until cancelled."""
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
        """Waits until a pass requests a new check, a check completes, or the next check is due."""
        free = len(self._in_flight) < CONCURRENT_MAX
        next_s = min((self._due_s(key) for key in self._gangs), default=None) if free else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(next_s):
                await self._wake.wait()
        self._wake.clear()

    def _due_s(self, key: Key) -> float:
        """Returns the seconds until the check is due; a check in flight is never due."""
        if key in self._in_flight:
            return ACCEPTED_S
        result = self._results.get(key)
        return 0.0 if result is None else result.recheck_at_s - self._clock_s()

    def _next(self, due: Collection[Key]) -> Key:
        """Returns a key of the next namespace, so that no tenant waits for all gangs of another."""
        later = [key for key in due if key[0] > self._last_namespace]
        key = min(later or due)
        self._last_namespace = key[0]
        return key

    async def _check(self, key: Key, job: Job) -> None:
        refusal = await self._refusal_of(job)
        before = self._results.get(key)
        failures, wait_s = 0, ACCEPTED_S
        if refusal != "":
            failures = 1 if before is None else before.failures + 1
            wait_s = min(REFUSED_S_MIN * 2.0 ** min(failures - 1, 16), REFUSED_S_MAX)
        result = self._results[key] = DryRunResult(refusal or "", failures, self._clock_s() + wait_s)
        self._in_flight.discard(key)
        self._wake.set()
        if before is None or before.refusal != result.refusal:
            self._changed_for |= self._workloads.get(key, set())
            self._changed()

    async def _refusal_of(self, job: Job) -> str | None:
        """Returns the first refusal, empty if all objects are accepted; None if the API server could not be
        reached."""
        for what, create in dry_runs(job):
            refused = await self._kube.refusal(create)
            if refused is None:
                return None
            if refused:
                return f"Kubernetes would not create {what}: {refused}"
        return ""


def key_of(job: Job) -> Key:
    """Returns the key of a job's check: its namespace, and a hash of the objects that the dry runs create."""
    digest = hashlib.sha256()
    for what, create in dry_runs(job):
        text = msgspec.json.encode((what, create.kind.name, create.body))
        digest.update(b"%d " % len(text) + text)
    return job.metadata.namespace, digest.hexdigest()


def is_new(workload: Workload) -> bool:
    """Returns whether the Workload must wait for its check: no pass has decided on it yet, or it was
    ineligible. Other Workloads keep their place in the queue while a new leader has no results yet."""
    reserved = find_condition(workload.status.conditions, "QuotaReserved")
    return reserved is None or reserved.reason == MISCONFIGURED


def dry_runs(job: Job) -> Iterator[tuple[str, Create]]:
    """Yields the objects that the job's operator would create, each with a description for messages.

    Source: KubeRay v1.6.2 ray-operator/controllers/ray/common/pod.go and raycluster_controller.go
    (reconcileHeadService, reconcilePods). Omitted are generated names, the environment variables, probes and
    volumes that KubeRay adds, and Ingresses.
    """
    namespace = job.metadata.namespace
    for entry in job.pod_set_templates:
        yield f"pods of pod set {entry.pod_set!r}", Create(PODS, _pod(namespace, entry))
    for description, service in job.services():
        named = {**service, "metadata": _named(service["metadata"], namespace)}
        yield description, Create(SERVICES, named)


def _pod(namespace: str, entry: PodSetTemplate) -> Body:
    template: Body = msgspec.json.decode(entry.created)
    meta = dict(template.get("metadata") or {})
    if entry.pod_set != HEAD:  # operators generate the names of other pods
        meta.pop("name", None)
    return {"metadata": _named(meta, namespace), "spec": template.get("spec") or {}}


def _named(meta: Body, namespace: str) -> Body:
    """Returns the metadata with the job's namespace, as operators set it, and a generated name if it has
    none."""
    return {**meta, "namespace": namespace, **({} if meta.get("name") else {"generateName": GENERATED_NAME})}
