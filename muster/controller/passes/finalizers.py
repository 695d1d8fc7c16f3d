"""Kueue's finalizer `resource-in-use`: keeps objects until the gangs that hold quota of them have ended.

Deleting a ClusterQueue would lose the usage of its gangs. Source: Kueue
pkg/controller/core/{clusterqueue,resourceflavor,admissioncheck}_controller.go.
"""

from collections.abc import Container, Hashable, Iterator, Mapping
from itertools import chain
from typing import Any

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, FLAVORS, Kind
from muster.kube.writes import MergePatch
from muster.objects.kueue import RESOURCE_IN_USE
from muster.objects.meta import Object


def finalizer_of(queue: str) -> Hashable:
    """Returns the guard of a ClusterQueue's finalizer: no quota is reserved before it exists
    (PlannedWrite.provides)."""
    return CLUSTER_QUEUES.name, queue


def finalizers(cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Adds missing finalizers, and removes them from objects that are being deleted and not in use.

    Written whatever was refused before: reservations wait for them."""
    queues = cluster.cluster_queues.values()
    used_queues, assigned = _used(cluster) if _any_is_being_deleted(cluster) else (set[str](), set[str]())
    named = {flavor.name for q in queues for group in q.spec.resource_groups for flavor in group.flavors}
    checks = {rule.name for q in queues for rule in q.spec.admission_checks_strategy.admission_checks}
    yield from _of_kind(CLUSTER_QUEUES, cluster.cluster_queues, used_queues)
    yield from _of_kind(FLAVORS, cluster.flavors, named | assigned)
    yield from _of_kind(CHECKS, cluster.checks, checks)


def _any_is_being_deleted(cluster: ClusterState) -> bool:
    objects: chain[Object] = chain(cluster.cluster_queues.values(), cluster.flavors.values())
    return any(obj.metadata.deletion_timestamp for obj in objects)


def _used(cluster: ClusterState) -> tuple[set[str], set[str]]:
    """Returns the ClusterQueues and flavors whose quota is held."""
    held = [
        w.status.admission
        for w in cluster.workloads.values()
        if w.status.admission and cluster.counts_against_quota(w)
    ]
    flavors = {f for a in held for pod_set in a.pod_set_assignments for f in pod_set.flavors.values()}
    return {admission.cluster_queue for admission in held}, flavors


def _of_kind(kind: Kind[Any], objects: Mapping[str, Object], used: Container[str]) -> Iterator[PlannedWrite]:
    for key, obj in objects.items():
        before = obj.metadata.finalizers
        if not obj.metadata.deletion_timestamp and RESOURCE_IN_USE not in before:
            provides = frozenset({finalizer_of(key)}) if kind is CLUSTER_QUEUES else frozenset()
            yield _step(kind, obj, (*before, RESOURCE_IN_USE), provides)
        elif obj.metadata.deletion_timestamp and RESOURCE_IN_USE in before and key not in used:
            yield _step(kind, obj, tuple(f for f in before if f != RESOURCE_IN_USE))


def _step(
    kind: Kind[Any], obj: Object, names: tuple[str, ...], provides: frozenset[Hashable] = frozenset()
) -> PlannedWrite:
    patch = MergePatch(kind, obj.key, {"metadata": {"finalizers": names}}, obj.metadata.resource_version)
    return PlannedWrite(f"finalizers of {kind} {obj.key}", patch, provides=provides, deferrable=not provides)
