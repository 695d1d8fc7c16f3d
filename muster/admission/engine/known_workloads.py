"""Workloads as they are once the last plan is carried out."""

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import replace

from muster.admission.engine.changes import Changes
from muster.admission.model import Workload
from muster.admission.state.holdings import Holding


class KnownWorkloads:
    """The workloads that an engine was given, with what its plans change about them.

    An admitted workload gets its admission only when it is read: most often the caller puts the object that
    has it before anything else needs it."""

    __slots__ = ("_admitted", "_objects")

    def __init__(self) -> None:
        self._objects: dict[str, Workload] = {}
        self._admitted: dict[str, Holding] = {}  # those whose object does not show its quota yet

    def __iter__(self) -> Iterator[Workload]:
        return (self._now(key) for key in self._objects)

    def __contains__(self, key: str) -> bool:
        return key in self._objects

    def keys(self) -> KeysView[str]:
        return self._objects.keys()

    def get(self, key: str) -> Workload | None:
        return self._now(key) if key in self._objects else None

    def pending(self, key: str) -> Workload | None:
        """The workload, if it is known and holds no quota."""
        found = self._objects.get(key)
        return None if found is None or found.admission is not None or key in self._admitted else found

    def fork(self, held: Mapping[Holding, Holding]) -> "KnownWorkloads":
        """`held` are the copies of the holdings."""
        copy = KnownWorkloads()
        copy._objects = dict(self._objects)
        copy._admitted = {key: held[holding] for key, holding in self._admitted.items()}
        return copy

    def put(self, workload: Workload) -> None:
        self._objects[workload.key] = workload

    def pop(self, key: str) -> tuple[Workload, Holding | None]:
        """Drops a workload; returns its object, and its quota if the object does not show that."""
        return self._objects.pop(key), self._admitted.pop(key, None)

    def carry_out(self, changes: Changes) -> None:
        self._objects.update(changes.marked)
        for holding in changes.replaced.values():
            self._admitted.pop(holding.workload.key, None)
            del self._objects[holding.workload.key]
        self._admitted |= {key: held for key, held in changes.admitted.items() if held.admission is not None}
        for holding in (*changes.displaced, *(victim for victim, _ in changes.evicted)):
            self.evict(holding)

    def evict(self, holding: Holding) -> None:
        key = holding.workload.key
        holding.workload = self._objects[key] = replace(self._now(key), evicted=True)

    def _now(self, key: str) -> Workload:
        holding = self._admitted.pop(key, None)
        if holding is not None:
            holding.workload = self._objects[key] = replace(
                holding.workload,
                admission=holding.admission,
                reserved_at_ms=holding.reserved_at_ms,
                preempting=False,
                unhealthy_nodes=(),
            )
            holding.admission = None
        return self._objects[key]
