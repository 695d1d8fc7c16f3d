"""Carries out a pass: concurrent writes, in an order that never hands out quota twice."""

import asyncio
import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from itertools import chain, islice, zip_longest
from typing import Any

import httpx2

from muster.controller.cluster.ownership import is_pod_of
from muster.controller.gangs.actions import Step
from muster.controller.jobs.templates import WORKLOAD_UID_LABEL
from muster.controller.passes.notices import Notices
from muster.controller.passes.reconcile import Pass
from muster.controller.workload.events import Note
from muster.kube.client import Kube, WriteError
from muster.kube.kinds import PODS, WORKLOADS, Kind
from muster.kube.store import Stores
from muster.kube.writes import Create, Write

log = logging.getLogger(__name__)

CONCURRENT_WRITES_MAX = 16
LATE_WRITES_MAX = 64  # per pass
BACKOFF_MS_MIN = 100
BACKOFF_MS_MAX = 60_000
PERSISTS_MS = BACKOFF_MS_MIN << 5  # the back-off after six refusals in a row: not a transient error


class HeldBack(Container[str]):
    """Subjects whose last write was refused, each with the time until which it is skipped."""

    def __init__(self) -> None:
        self._tries: dict[str, tuple[int, int]] = {}  # subject -> (refusals in a row, until_ms)
        self._now_ms = 0

    def at(self, now_ms: int) -> "HeldBack":
        self._now_ms = now_ms
        recent_ms = now_ms - BACKOFF_MS_MAX  # forgets subjects that no longer occur
        self._tries = {s: (n, until) for s, (n, until) in self._tries.items() if until > recent_ms}
        return self

    def __contains__(self, subject: object) -> bool:
        return subject in self._tries and self._tries[subject][1] > self._now_ms

    def refused(self, subject: str, now_ms: int) -> int:
        """Records a refusal. Returns the back-off in milliseconds."""
        count = self._tries.get(subject, (0, 0))[0] + 1
        wait_ms = min(BACKOFF_MS_MIN << min(count - 1, 16), BACKOFF_MS_MAX)
        grain_ms = wait_ms // 4  # one pass retries many of them together
        self._tries[subject] = (count, -(-(now_ms + wait_ms) // grain_ms) * grain_ms)
        return wait_ms

    def done(self, subject: str) -> None:
        self._tries.pop(subject, None)

    def next_ms(self) -> int | None:
        return min((until for _, until in self._tries.values() if until > self._now_ms), default=None)


class Applier:
    """Sends writes and puts the API server's answers into the stores at once, so that the next pass does not
    decide on objects that this one has changed."""

    def __init__(
        self,
        kube: Kube,
        stores: Stores,
        held_back: HeldBack,
        tell: Callable[[Note], None] = lambda note: None,
        wrote: Callable[[Write, WriteError | None], None] = lambda write, error: None,
    ) -> None:
        self._kube, self._stores, self._held_back = kube, stores, held_back
        self._tell, self._wrote = tell, wrote
        self._slots = asyncio.Semaphore(CONCURRENT_WRITES_MAX)
        self._notices = Notices()
        self.postponed = False  # whether the last pass left late steps for the next one
        self._unsure: set[tuple[Kind[Any], str]] = set()

    async def catch_up(self) -> bool:
        """Returns whether the outcome of every unanswered write is known. Until then nothing may be decided:
        quota that such a write reserved would be reserved again."""
        for kind, key in list(self._unsure):
            try:
                obj = await self._kube.read(kind, key)
            except httpx2.HTTPError as error:
                log.warning("reading %s %s: %s %s", kind, key, type(error).__name__, error)
                return False
            if obj is not None:
                self._stores.put(kind, obj)
            self._unsure.discard((kind, key))
        return True

    async def apply(self, result: Pass, now_ms: int) -> list[Step]:
        """Returns the steps that succeeded. Quota whose release failed is not reserved; other failures block
        no other subject. Late steps come last, LATE_WRITES_MAX in one pass."""
        prompt = [s for s in result.first if not s.late]
        done = await self.perform(prompt, now_ms)
        happened = {id(s) for s in done}
        kept = {g for s in prompt if id(s) not in happened for g in s.guards}
        done += await self.perform((s for s in result.then if kept.isdisjoint(s.needs)), now_ms)
        busy = {s.subject for s in (*prompt, *result.then)}
        late = [s for s in result.first if s.late and s.subject not in busy]
        self.postponed = len(late) > LATE_WRITES_MAX
        done += await self.perform(_fair_share(late, LATE_WRITES_MAX), now_ms)
        return done

    async def perform(self, steps: Iterable[Step], now_ms: int) -> list[Step]:
        steps = list(steps)
        results = await asyncio.gather(*(self._one(s, now_ms) for s in _in_order(steps)))
        return [s for group in results for s in group]

    async def _one(self, steps: list[Step], now_ms: int) -> list[Step]:
        """Performs the steps of one subject in order, up to the first that is refused."""
        done: list[Step] = []
        for step in steps:
            async with self._slots:
                if step.vacated and await self._is_occupied(step):
                    self._held_back.refused(step.subject, now_ms)
                    return done
                try:
                    obj = await self._kube.perform(step.write)
                except WriteError as refused:
                    self._wrote(step.write, refused)
                    wait_ms = self._held_back.refused(step.subject, now_ms)
                    level = logging.DEBUG if refused.stale else logging.WARNING
                    log.log(level, "%s; retrying in %d ms", refused, wait_ms)
                    # a conflict that persists is reported as well
                    passing = self._is_passing(step, refused) and wait_ms < PERSISTS_MS
                    if not passing and self._notices.is_due(step.subject, str(refused), now_ms):
                        await self._tell_refused(step, refused)
                    if refused.unsure:
                        self._unsure.add((step.write.kind, step.write.key))
                    return done
            self._wrote(step.write, None)
            if obj is not None:
                self._stores.put(step.write.kind, obj)
            self._held_back.done(step.subject)
            done.append(step)
        return done

    def _is_passing(self, step: Step, refused: WriteError) -> bool:
        """Whether the next pass will see the cause and decide again. Not for a creation whose name is taken
        by an object that is not the controller's."""
        there = step.refused is not None and step.write.key in self._stores.of(step.write.kind).items
        return refused.stale and not there

    async def _tell_refused(self, step: Step, refused: WriteError) -> None:
        """Records a refused write as an event: the job may have no Workload whose status could show it."""
        if step.refused is None:
            for note in step.notes[:1]:
                reason = "FailedCreate" if isinstance(step.write, Create) else "FailedUpdate"
                self._tell(replace(note, reason=reason, message=str(refused), warning=True))
            return
        instead = step.refused(refused.message)
        try:
            obj = await self._kube.perform(instead.write)
        except WriteError as error:
            log.debug("%s", error)
        else:
            if obj is not None:
                self._stores.put(instead.write.kind, obj)
        for note in instead.notes:
            self._tell(note)

    async def _is_occupied(self, step: Step) -> bool:
        """Whether pods of the step's Workload exist, or may exist."""
        workload = self._stores.of(WORKLOADS).items.get(step.subject)
        if workload is None or workload.metadata.uid != step.vacated:
            return True  # it was recreated: the next pass decides again
        try:
            labels = {WORKLOAD_UID_LABEL: step.vacated}
            _, pods = await self._kube.list(PODS, labels, workload.metadata.namespace)
        except httpx2.HTTPError as error:
            log.warning("listing pods: %s %s", type(error).__name__, error)
            return True
        return any(pod.holds_resources and is_pod_of(pod, workload) for pod in pods)


def _fair_share(steps: Iterable[Step], most: int) -> list[Step]:
    """Returns the first `most` steps, round-robin by namespace, so that no namespace delays another."""
    by_namespace: dict[str, list[Step]] = {}
    for step in steps:
        by_namespace.setdefault(step.write.key.partition("/")[0], []).append(step)
    turns = chain.from_iterable(zip_longest(*by_namespace.values()))
    return list(islice((step for step in turns if step is not None), most))


def _in_order(steps: Iterable[Step]) -> list[list[Step]]:
    by_subject: dict[str, list[Step]] = {}
    for step in steps:
        by_subject.setdefault(step.subject, []).append(step)
    return list(by_subject.values())
