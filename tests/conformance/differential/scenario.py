"""A small cluster and its history, as data: generated from a seed, or kept from a difference."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Manifest = Mapping[str, Any]
VERSION = "kueue.x-k8s.io/v1beta2"
CLASSICAL, FAIR = "classical", "fair"


@dataclass(frozen=True)
class Submit:
    workload: Manifest


@dataclass(frozen=True)
class Finish:
    """Finishes the workload at this index, modulo their number, of those with quota, sorted by name."""

    place: int


@dataclass(frozen=True)
class Withdraw:
    """Deletes the workload at this index, modulo their number, of the pending ones, sorted by name."""

    place: int


@dataclass(frozen=True)
class Change:
    """Replaces the spec of a ClusterQueue or Cohort."""

    object: Manifest


Step = Submit | Finish | Withdraw | Change


@dataclass(frozen=True)
class Scenario:
    """Objects and steps; `prefixed` makes the names of many scenarios on one API server unique."""

    name: str
    mode: str  # CLASSICAL | FAIR
    objects: tuple[Manifest, ...]  # flavors, cohorts and queues, with kind and metadata.name
    steps: tuple[Step, ...]

    def until(self, step: int) -> "Scenario":
        return replace(self, steps=self.steps[: step + 1])

    def smaller(self) -> Iterator["Scenario"]:
        """Yields copies without some steps or objects: first without half of them, last without one."""
        size = (max(len(self.steps), len(self.objects)) + 1) // 2
        while size:
            yield from (self._without_steps(range(n, n + size)) for n in range(0, len(self.steps), size))
            yield from (self._without_objects(range(n, n + size)) for n in range(0, len(self.objects), size))
            size //= 2

    def _without_steps(self, indexes: range) -> "Scenario":
        return replace(self, steps=tuple(s for n, s in enumerate(self.steps) if n not in indexes))

    def _without_objects(self, indexes: range) -> "Scenario":
        """Returns a copy without these objects and their changes."""
        retained = tuple(obj for n, obj in enumerate(self.objects) if n not in indexes)
        existing = {identity(obj) for obj in retained}
        steps = (s for s in self.steps if not isinstance(s, Change) or identity(s.object) in existing)
        return replace(self, objects=retained, steps=tuple(steps))


def identity(obj: Manifest) -> tuple[str, str]:
    """Returns kind and name."""
    return obj["kind"], obj["metadata"]["name"]


def prefixed(scenario: Scenario, prefix: str) -> Scenario:
    """Returns a copy with the prefix on every name and reference; its namespace is the prefix."""
    return replace(
        scenario,
        objects=tuple(_renamed(obj, prefix) for obj in scenario.objects),
        steps=tuple(_step(step, prefix) for step in scenario.steps),
    )


def _step(step: Step, prefix: str) -> Step:
    if isinstance(step, Submit):
        return Submit(_renamed(step.workload, prefix))
    return Change(_renamed(step.object, prefix)) if isinstance(step, Change) else step


_NAMING = frozenset({"cohortName", "parentName", "clusterQueue", "queueName"})


def _renamed(obj: Manifest, prefix: str) -> dict[str, Any]:
    metadata = {**obj["metadata"], "name": f"{prefix}-{obj['metadata']['name']}"}
    if obj["kind"] in ("LocalQueue", "Workload"):
        metadata["namespace"] = prefix
    return {**obj, "metadata": metadata, "spec": _references(obj["spec"], prefix)}


def _references(value: Any, prefix: str, in_group: bool = False) -> Any:
    if isinstance(value, list):
        return [_references(item, prefix, in_group) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {}
    for key, item in value.items():
        if key in _NAMING or (in_group and key == "name"):
            renamed[key] = f"{prefix}-{item}"
        else:
            renamed[key] = _references(item, prefix, in_group=key == "flavors")
    return renamed
