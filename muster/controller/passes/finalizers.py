"""Kueue's finalizer `resource-in-use`: keeps objects until the gangs that hold quota of them have ended.

Deleting a ClusterQueue would lose the usage of its gangs. Source: Kueue
pkg/controller/core/{clusterqueue,resourceflavor,admissioncheck}_controller.go.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, FLAVORS, Kind
from muster.kube.writes import MergePatch
from muster.objects.kueue import RESOURCE_IN_USE
from muster.objects.meta import Object

Used = Mapping[Kind[Any], set[str]]
"""The names of the objects of each kind that are in use."""


def finalizer_of(queue: str) -> Hashable:
    """Returns the guard of a ClusterQueue's finalizer: no quota is reserved before it exists
    (PlannedWrite.provides)."""
    return CLUSTER_QUEUES.name, queue


def finalizers(cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Adds missing finalizers, and removes them from objects that are being deleted and not in use.

    Written whatever was refused before: reservations wait for them."""
    kinds: tuple[tuple[Kind[Any], Mapping[str, Object]], ...] = (
        (CLUSTER_QUEUES, cluster.cluster_queues),
        (FLAVORS, cluster.flavors),
        (CHECKS, cluster.checks),
    )
    used: Used | None = None  # computed only if an object is being deleted, as this runs in each pass
    for kind, objects in kinds:
        for key, obj in objects.items():
            is_protected = RESOURCE_IN_USE in obj.metadata.finalizers
            if not obj.metadata.deletion_timestamp and not is_protected:
                provides = frozenset({finalizer_of(key)}) if kind is CLUSTER_QUEUES else frozenset()
                yield _step(kind, obj, (*obj.metadata.finalizers, RESOURCE_IN_USE), provides)
            elif obj.metadata.deletion_timestamp and is_protected:
                used = used or _used(cluster)
                if key not in used[kind]:
                    rest = tuple(name for name in obj.metadata.finalizers if name != RESOURCE_IN_USE)
                    yield _step(kind, obj, rest)


def _used(cluster: ClusterState) -> Used:
    """Returns the ClusterQueues and flavors whose quota is held, and what ClusterQueues name."""
    held = [
        w.status.admission
        for w in cluster.workloads.values()
        if w.status.admission and cluster.counts_against_quota(w)
    ]
    assigned = {f for a in held for pod_set in a.pod_set_assignments for f in pod_set.flavors.values()}
    specs = [queue.spec for queue in cluster.cluster_queues.values()]
    named = {flavor.name for spec in specs for group in spec.resource_groups for flavor in group.flavors}
    checks = {rule.name for spec in specs for rule in spec.admission_checks_strategy.admission_checks}
    queues = {admission.cluster_queue for admission in held}
    return {CLUSTER_QUEUES: queues, FLAVORS: named | assigned, CHECKS: checks}


def _step(
    kind: Kind[Any], obj: Object, names: tuple[str, ...], provides: frozenset[Hashable] = frozenset()
) -> PlannedWrite:
    patch = MergePatch(kind, obj.key, {"metadata": {"finalizers": names}}, obj.metadata.resource_version)
    return PlannedWrite(f"finalizers of {kind} {obj.key}", patch, provides=provides, deferrable=not provides)
