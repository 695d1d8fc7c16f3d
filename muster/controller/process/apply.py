"""Sends the writes of a pass: concurrently, but in an order that never reserves quota twice."""

import asyncio
import logging
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import Any

from muster.controller.gangs.planned_write import DEFERRABLE_WRITES_MAX, PlannedWrite, round_robin
from muster.controller.pacing.events import RepeatedEvents
from muster.controller.pacing.pacing import PERSISTS_MS, WriteBackoff
from muster.controller.passes.pass_plan import PassWrites
from muster.controller.workload.events import ObjectEvent
from muster.kube.client import Kube, WriteError
from muster.kube.errors import RequestError
from muster.kube.history import History
from muster.kube.kinds import PODS, WORKLOADS, Kind
from muster.kube.store import Stores
from muster.kube.writes import Create, Write
from muster.objects.meta import Object
from muster.objects.names import WORKLOAD_UID_LABEL

log = logging.getLogger(__name__)

CONCURRENT_WRITES_MAX = 96
WAIT_REASONS_MAX = 50  # per pass


class Applier:
    """Sends writes, and puts the answers of the API server into the stores, so that the next pass does not
    decide on outdated objects."""

    def __init__(
        self,
        kube: Kube,
        stores: Stores,
        backoff: WriteBackoff,
        record_event: Callable[[ObjectEvent], None] = lambda event: None,
        observe_write: Callable[[Write, WriteError | None], None] = lambda write, error: None,
        history: History | None = None,
    ) -> None:
        self._kube, self._stores, self._backoff = kube, stores, backoff
        self._record_event, self._observe_write = record_event, observe_write
        self._history = history or History()
        self._slots = asyncio.Semaphore(CONCURRENT_WRITES_MAX)
        self._repeated_events = RepeatedEvents()
        self.postponed = False  # whether the last pass has left deferrable writes to the next one
        self._unanswered: set[tuple[Kind[Any], str]] = set()

    async def read_unanswered(self) -> bool:
        """Reads the objects of writes without an answer. Returns whether the outcome of all of them is known.
        Otherwise the pass must not decide: it could reserve quota that such a write has already reserved."""
        for kind, key in list(self._unanswered):
            try:
                obj = await self._kube.read(kind, key)
            except RequestError as error:
                log.warning("reading %s %s: %s %s", kind, key, type(error).__name__, error)
                return False
            if obj is not None:
                self._store(kind, obj)
            self._unanswered.discard((kind, key))
        return True

    def _store(self, kind: Kind[Any], obj: Object) -> None:
        self._stores.put(kind, obj)
        self._history.note_answer(kind, obj.metadata.resource_version)

    async def apply(self, writes: PassWrites, now_ms: int) -> list[PlannedWrite]:
        """Sends the writes of a pass, the most important first. Returns the writes that succeeded.

        A decision assumes that the status writes and releases of its pass succeed. Reservations are therefore
        sent after these are persisted, but do not wait for starts and stops of gangs. Quota whose release
        failed is not reserved; other failures affect only their own subject. At most DEFERRABLE_WRITES_MAX
        deferrable writes and WAIT_REASONS_MAX reasons for waiting are sent."""
        prompt = [w for w in writes.before_reservations if not w.deferrable]
        reserved = {w.subject for w in writes.reservations}
        busy = reserved.union(w.subject for w in prompt)
        deferrable = [w for w in writes.before_reservations if w.deferrable and w.subject not in busy]
        reasons = writes.wait_reasons[:WAIT_REASONS_MAX]
        self.postponed = len(deferrable) > DEFERRABLE_WRITES_MAX or len(writes.wait_reasons) > len(reasons)
        late = (
            *round_robin(deferrable, _namespace, DEFERRABLE_WRITES_MAX),
            *writes.template_resets,
            *reasons,
        )
        urgent = {
            asyncio.create_task(self._perform_in_order(of_subject, now_ms)): of_subject
            for of_subject in _by_subject((*writes.stops, *prompt))
        }
        first = {task: w for task, w in urgent.items() if any(_precedes(p, reserved) for p in w)}
        results = await asyncio.gather(*urgent, self._follow(first, writes.reservations, late, now_ms))
        return [write for done in results for write in done]

    async def _follow(
        self,
        first: Mapping[asyncio.Task[list[PlannedWrite]], list[PlannedWrite]],
        reservations: Iterable[PlannedWrite],
        late: Iterable[PlannedWrite],
        now_ms: int,
    ) -> list[PlannedWrite]:
        """Sends the reservations and the late writes once the first writes are answered."""
        succeeded = {id(w) for done in await asyncio.gather(*first) for w in done}
        failed = (w for writes in first.values() for w in writes if id(w) not in succeeded)
        missing = {provided for planned in failed for provided in planned.provides}
        done = await asyncio.gather(
            self.perform((w for w in reservations if missing.isdisjoint(w.needs)), now_ms),
            self.perform(late, now_ms),
        )
        return [*done[0], *done[1]]

    async def perform(self, writes: Iterable[PlannedWrite], now_ms: int) -> list[PlannedWrite]:
        """Sends the writes, in order within each subject. Returns the writes that succeeded."""
        results = await asyncio.gather(*(self._perform_in_order(w, now_ms) for w in _by_subject(writes)))
        return [write for done in results for write in done]

    async def _perform_in_order(self, writes: list[PlannedWrite], now_ms: int) -> list[PlannedWrite]:
        """Sends the writes of one subject in order, up to the first refusal."""
        done: list[PlannedWrite] = []
        for planned in writes:
            async with self._slots:
                if not await self._history.is_intact():  # planned for objects that may not exist
                    return done
                if planned.requires_no_pods_of and await self._may_have_pods(planned):
                    self._backoff.record_refusal(planned.subject, now_ms)
                    return done
                try:
                    obj = await self._kube.perform(planned.write)
                except WriteError as error:
                    self._observe_write(planned.write, error)
                    await self._handle_refusal(planned, error, now_ms)
                    return done
            self._observe_write(planned.write, None)
            if obj is not None:
                self._store(planned.write.kind, obj)
            self._backoff.forget(planned.subject)
            done.append(planned)
        return done

    async def _handle_refusal(self, planned: PlannedWrite, error: WriteError, now_ms: int) -> None:
        wait_ms = self._backoff.record_refusal(planned.subject, now_ms)
        log.log(logging.DEBUG if error.stale else logging.WARNING, "%s; retrying in %d ms", error, wait_ms)
        # A persistent conflict is reported too.
        transient = self._is_transient(planned, error) and wait_ms < PERSISTS_MS
        if not transient and self._repeated_events.is_due(planned.subject, str(error), now_ms):
            await self._report_refusal(planned, error)
        if error.unsure:
            self._unanswered.add((planned.write.kind, planned.write.key))

    def _is_transient(self, planned: PlannedWrite, error: WriteError) -> bool:
        """Returns whether the next pass will see the cause and decide again. False for a creation whose name
        is taken by an object of another creator."""
        write = planned.write
        is_taken = planned.on_refusal is not None and self._stores.holds(write.kind, write.key)
        return error.stale and not is_taken

    async def _report_refusal(self, planned: PlannedWrite, error: WriteError) -> None:
        """Records a refused write as an event: the job may have no Workload whose status could show it."""
        if planned.on_refusal is None:
            for event in planned.events[:1]:
                reason = "FailedCreate" if isinstance(planned.write, Create) else "FailedUpdate"
                refused = replace(event, reason=reason, message=str(error), warning=True, in_status=False)
                self._record_event(refused)
            return
        replacement = planned.on_refusal(error.message)
        try:
            obj = await self._kube.perform(replacement.write)
        except WriteError as second_error:
            log.debug("%s", second_error)
        else:
            if obj is not None:
                self._store(replacement.write.kind, obj)
        for event in replacement.events:
            self._record_event(event)

    async def _may_have_pods(self, planned: PlannedWrite) -> bool:
        """Returns whether pods of the write's Workload exist, or may exist."""
        workload = self._stores.of(WORKLOADS).items.get(planned.subject)
        if workload is None or workload.metadata.uid != planned.requires_no_pods_of:
            return True  # it was recreated: the next pass decides again
        try:
            labels = {WORKLOAD_UID_LABEL: planned.requires_no_pods_of}
            _, pods = await self._kube.list(PODS, labels, workload.metadata.namespace)
        except RequestError as error:
            log.warning("listing pods: %s %s", type(error).__name__, error)
            return True
        return any(pod.holds_resources for pod in pods)


def _precedes(planned: PlannedWrite, reserved: Container[str]) -> bool:
    """Returns whether reservations wait for the write."""
    return planned.write.kind is WORKLOADS or bool(planned.provides) or planned.subject in reserved


def _namespace(planned: PlannedWrite) -> str:
    return planned.write.key.partition("/")[0]


def _by_subject(writes: Iterable[PlannedWrite]) -> list[list[PlannedWrite]]:
    groups: dict[str, list[PlannedWrite]] = {}
    for planned in writes:
        groups.setdefault(planned.subject, []).append(planned)
    return list(groups.values())
