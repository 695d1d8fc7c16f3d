"""Random Ray objects: a small valid one, and some settings of fields."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from random import Random
from typing import Any

from components.admission.fields.schema import KINDS, FieldAddress, addresses, recorded
from components.admission.fields.table import Row, row_of, table
from tests.field_fuzzing.values import CPUS, GPU, subtree_of, value_of
from tests.stacks.ray_fields import Schema, changed

Manifest = dict[str, Any]
Setting = tuple[str, Any]
"""A path in the kind, and the value set there."""

QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
# How often a setting is of this owner's fields. Pods have most of the fields, but KubeRay acts on the others.
WEIGHTS = {"Container": 2, "PodTemplateSpec": 4, "RayClusterSpec": 5, "Service": 3, "kind": 5}
REFUSED_WEIGHT = 0.3  # of a row that is refused anyway
SETTINGS_MAX, EDITS_MAX = 5, 3


@dataclass(frozen=True)
class Subject:
    """A new Ray object, by its settings beyond a valid base."""

    base: Manifest
    settings: tuple[Setting, ...]

    @property
    def kind(self) -> str:
        return str(self.base["kind"])

    @property
    def name(self) -> str:
        return str(self.base["metadata"]["name"])

    def manifest(self, schemas: Mapping[str, Schema]) -> Manifest:
        return with_settings(self.base, self.settings, schemas)

    def renamed(self, name: str) -> "Subject":
        return replace(self, base={**self.base, "metadata": {**self.base["metadata"], "name": name}})

    def without(self, index: int) -> "Subject":
        return replace(self, settings=self.settings[:index] + self.settings[index + 1 :])


def with_settings(manifest: Manifest, settings: Sequence[Setting], schemas: Mapping[str, Schema]) -> Manifest:
    """Returns the object with these values, in their order."""
    for path, value in settings:
        manifest = changed(manifest, schemas[str(manifest["kind"])], path, copy.deepcopy(value))
    return manifest


class Subjects:
    """Draws objects and edits. Each field of the schema has a chance."""

    def __init__(self, random: Random, namespace: str) -> None:
        self._random, self._namespace = random, namespace
        rows = table()
        self._fields: dict[str, dict[Row, list[FieldAddress]]] = {kind: {} for kind in KINDS}
        for address in addresses(recorded()):
            row = row_of(address, rows)
            assert row is not None
            self._fields[address.within[0][0]].setdefault(row, []).append(address)

    def subject(self, name: str) -> Subject:
        kind = self._random.choice(KINDS)
        count = self._random.randrange(SETTINGS_MAX + 1)
        return Subject(self._base(kind, name), tuple(self._setting(kind) for _ in range(count)))

    def edits(self, kind: str) -> tuple[Setting, ...]:
        return tuple(self._setting(kind) for _ in range(self._random.randrange(1, EDITS_MAX + 1)))

    def _setting(self, kind: str) -> Setting:
        rows = [row for row in self._fields[kind] if row.path not in ("apiVersion", "kind", "status")]
        weights = [self._weight(row, kind) for row in rows]
        (row,) = self._random.choices(rows, weights)
        address = self._random.choice(self._fields[kind][row])
        subtree = subtree_of(address)
        if subtree is not None:
            path, generator = subtree
            return path, generator(self._random)
        return address.within[0][1], value_of(address.field, self._random)

    def _weight(self, row: Row, kind: str) -> float:
        """Returns how often a row is drawn: one of many fields more often, but less than once a field."""
        weight = WEIGHTS.get(row.owner, WEIGHTS["kind"]) * (REFUSED_WEIGHT if row.effect == "refused" else 1)
        return weight * (1 + log2(len(self._fields[kind][row])))

    def _base(self, kind: str, name: str) -> Manifest:
        random = self._random
        priority = random.choice(("dev-priority", "training", "prod-priority"))
        metadata = {
            "name": name,
            "namespace": self._namespace,
            "labels": {QUEUE: "user-queue", PRIORITY: priority},
            "annotations": {"sandbox.muster.dev/run-seconds": random.choice(("3", "600"))},
        }
        cluster = {
            "rayVersion": "2.52.0",
            "headGroupSpec": {"rayStartParams": {}, "template": self._template("head")},
            "workerGroupSpecs": [self._group(index) for index in range(random.randrange(3))],
        }
        specs: dict[str, Manifest] = {
            "RayJob": {
                "entrypoint": "python job.py",
                "shutdownAfterJobFinishes": True,
                "submissionMode": random.choice(("K8sJobMode", "HTTPMode", "SidecarMode")),
                "rayClusterSpec": cluster,
            },
            "RayCluster": cluster,
            "RayService": {
                "upgradeStrategy": {"type": "None"},
                "serveConfigV2": "applications: []",
                "rayClusterConfig": cluster,
            },
        }
        return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": specs[kind]}

    def _group(self, index: int) -> Manifest:
        replicas = self._random.randrange(3)
        return {
            "groupName": f"group-{index}",
            "replicas": replicas,
            "minReplicas": 0,
            "maxReplicas": max(replicas, 1),
            "rayStartParams": {},
            "template": self._template("worker"),
        }

    def _template(self, container: str) -> Manifest:
        requests = {"cpu": self._random.choice(CPUS[:3]), "memory": "64Mi"}
        gpus = {"limits": {GPU: "1"}} if container == "worker" and self._random.random() < 0.25 else {}
        resources = {"requests": requests, **gpus}
        containers = [{"name": container, "image": "rayproject/ray:2.52.0", "resources": resources}]
        return {"spec": {"containers": containers}}
