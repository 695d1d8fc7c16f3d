"""Manages Kueue's finalizer `resource-in-use`, which keeps objects until gangs no longer hold their quota.

Deleting a ClusterQueue would lose the usage of its gangs. Source: Kueue
pkg/controller/core/{clusterqueue,resourceflavor,admissioncheck}_controller.go.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from muster.cluster.cluster_state import ClusterState
from muster.controller.gangs.planned_write import PlannedWrite
from muster.kube.kinds import CHECKS, CLUSTER_QUEUES, FLAVORS, Kind
from muster.kube.writes import MergePatch
from muster.objects.meta import Object
from muster.objects.names import RESOURCE_IN_USE

Used = Mapping[Kind[Any], set[str]]
"""The names of the objects in use, by kind."""


def finalizer_of(queue: str) -> Hashable:
    """Returns the dependency that the write of a ClusterQueue's finalizer provides to reservations
    (PlannedWrite.provides)."""
    return CLUSTER_QUEUES.name, queue


def finalizers(cluster: ClusterState) -> Iterator[PlannedWrite]:
    """Yields writes that add missing finalizers, and remove them from unused objects that are being deleted.

    These writes ignore back-offs, as reservations depend on them."""
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
                yield _write(kind, obj, (*obj.metadata.finalizers, RESOURCE_IN_USE), provides)
            elif obj.metadata.deletion_timestamp and is_protected:
                used = used or _used(cluster)
                if key not in used[kind]:
                    others = tuple(name for name in obj.metadata.finalizers if name != RESOURCE_IN_USE)
                    yield _write(kind, obj, others)


def _used(cluster: ClusterState) -> Used:
    """Returns the ClusterQueues and flavors with reserved quota, and the flavors and checks that
    ClusterQueues refer to."""
    admissions = [
        w.status.admission
        for w in cluster.workloads.values()
        if w.status.admission and cluster.counts_against_quota(w)
    ]
    assigned = {f for a in admissions for pod_set in a.pod_set_assignments for f in pod_set.flavors.values()}
    specs = [queue.spec for queue in cluster.cluster_queues.values()]
    referenced = {flavor.name for spec in specs for group in spec.resource_groups for flavor in group.flavors}
    checks = {rule.name for spec in specs for rule in spec.admission_checks_strategy.admission_checks}
    queues = {admission.cluster_queue for admission in admissions}
    return {CLUSTER_QUEUES: queues, FLAVORS: referenced | assigned, CHECKS: checks}


def _write(
    kind: Kind[Any], obj: Object, names: tuple[str, ...], provides: frozenset[Hashable] = frozenset()
) -> PlannedWrite:
    patch = MergePatch(kind, obj.key, {"metadata": {"finalizers": names}}, obj.metadata.resource_version)
    return PlannedWrite(f"finalizers of {kind} {obj.key}", patch, provides=provides, deferrable=not provides)
