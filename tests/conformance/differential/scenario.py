"""A small cluster and what happens in it, as data: what a seed makes, and what a found case keeps."""

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
    """Of the workloads that hold quota, by name: the one at this place, counted round and round."""

    place: int


@dataclass(frozen=True)
class Withdraw:
    """Of the workloads that wait, by name: the one at this place is deleted."""

    place: int


@dataclass(frozen=True)
class Change:
    """A ClusterQueue or Cohort of the scenario gets another spec."""

    object: Manifest


Step = Submit | Finish | Withdraw | Change


@dataclass(frozen=True)
class Scenario:
    """Names are its own: `prefixed` gives each of many scenarios on one API server a space for itself."""

    name: str
    mode: str  # CLASSICAL | FAIR
    objects: tuple[Manifest, ...]  # flavors, cohorts and queues; all of kind and metadata.name
    steps: tuple[Step, ...]

    def until(self, step: int) -> "Scenario":
        return replace(self, steps=self.steps[: step + 1])

    def smaller(self) -> Iterator["Scenario"]:
        """The same without some of its steps or objects: first without half of them, at last without one."""
        size = (max(len(self.steps), len(self.objects)) + 1) // 2
        while size:
            yield from (self._without_steps(range(n, n + size)) for n in range(0, len(self.steps), size))
            yield from (self._without_objects(range(n, n + size)) for n in range(0, len(self.objects), size))
            size //= 2

    def _without_steps(self, indexes: range) -> "Scenario":
        return replace(self, steps=tuple(s for n, s in enumerate(self.steps) if n not in indexes))

    def _without_objects(self, indexes: range) -> "Scenario":
        """Nor the changes of these objects."""
        kept = tuple(obj for n, obj in enumerate(self.objects) if n not in indexes)
        known = {identity(obj) for obj in kept}
        steps = (s for s in self.steps if not isinstance(s, Change) or identity(s.object) in known)
        return replace(self, objects=kept, steps=tuple(steps))


def identity(obj: Manifest) -> tuple[str, str]:
    """Kind and name."""
    return obj["kind"], obj["metadata"]["name"]


def prefixed(scenario: Scenario, prefix: str) -> Scenario:
    """Every name that the scenario gives or refers to, with the prefix; its namespace is the prefix."""
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
