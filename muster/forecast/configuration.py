"""A queue configuration: what decides about jobs, as the controller would read it from a cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from muster import admission as core
from muster.admission.lifecycle import Backoff
from muster.configuration.configuration import parse
from muster.objects import kueue_checks, kueue_queues
from muster.objects.meta import Object
from muster.translation import snapshot

GROUP = "kueue.x-k8s.io/"
T = TypeVar("T", bound=Object)


class ConfigurationError(ValueError):
    """A configuration that no forecast can use: what, where, what is expected."""


@dataclass(frozen=True, slots=True)
class QueueConfiguration:
    """`snapshot` has no workloads. `local_queues` maps `namespace/name` to a ClusterQueue, `priorities` a
    class to its value. `provisioned` are the flavors by ClusterQueue whose nodes an admission check has to
    provide first; `retry` is its back-off, of at most `retries_max` retries. `autoscaled` are flavors whose
    nodes the cluster autoscaler makes and removes, with the accelerators that it always keeps."""

    name: str
    snapshot: core.Snapshot
    rules: core.Rules
    local_queues: Mapping[str, str]
    priorities: Mapping[str, int]
    provisioned: Mapping[str, frozenset[str]]
    retry: Backoff = Backoff(60, 1800)  # noqa: RUF009 - a frozen value
    retries_max: int = 3
    autoscaled: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueObjects:
    """The objects that a queue configuration is made of."""

    cluster_queues: Sequence[kueue_queues.ClusterQueue]
    cohorts: Sequence[kueue_queues.Cohort] = ()
    flavors: Sequence[kueue_queues.ResourceFlavor] = ()
    local_queues: Sequence[kueue_queues.LocalQueue] = ()
    priorities: Sequence[kueue_queues.WorkloadPriorityClass] = ()
    checks: Sequence[kueue_checks.AdmissionCheck] = ()
    provisioning_configs: Sequence[kueue_checks.ProvisioningRequestConfig] = ()


def from_manifests(
    name: str, manifests: Iterable[Mapping[str, Any]], controller: str = "{}"
) -> QueueConfiguration:
    """Reads the objects of Kueue's API among `manifests`; `controller` is the controller's configuration.

    Raises: ConfigurationError."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for manifest in manifests:
        if str(manifest.get("apiVersion", "")).startswith(GROUP):
            by_kind.setdefault(str(manifest.get("kind")), []).append(manifest)
    objects = QueueObjects(
        cluster_queues=_read(by_kind, "ClusterQueue", kueue_queues.ClusterQueue),
        cohorts=_read(by_kind, "Cohort", kueue_queues.Cohort),
        flavors=_read(by_kind, "ResourceFlavor", kueue_queues.ResourceFlavor),
        local_queues=_read(by_kind, "LocalQueue", kueue_queues.LocalQueue),
        priorities=_read(by_kind, "WorkloadPriorityClass", kueue_queues.WorkloadPriorityClass),
        checks=_read(by_kind, "AdmissionCheck", kueue_checks.AdmissionCheck),
        provisioning_configs=_read(
            by_kind, "ProvisioningRequestConfig", kueue_checks.ProvisioningRequestConfig
        ),
    )
    return from_objects(name, objects, controller)


def from_objects(name: str, objects: QueueObjects, controller: str = "{}") -> QueueConfiguration:
    """Returns the configuration for a trace, which has neither namespaces nor nodes; `controller` is the
    controller's configuration.

    Raises: ConfigurationError."""
    if not objects.cluster_queues:
        raise ConfigurationError(f"{name}: no ClusterQueue ({GROUP}v1beta2); a forecast needs at least one")
    for queue in objects.cluster_queues:
        if problem := snapshot.problem(queue):
            raise ConfigurationError(f"{name}: {problem}")
    try:
        rules = parse(controller).rules
    except ValueError as error:
        raise ConfigurationError(f"{name}: the controller's configuration: {error}") from error
    checks = {check.key: check for check in objects.checks}
    found = snapshot.snapshot(objects.flavors, objects.cohorts, objects.cluster_queues, (), checks=checks)
    return with_snapshot(name, _of_quotas_alone(found), objects, rules)


def with_snapshot(
    name: str, found: core.Snapshot, objects: QueueObjects, rules: core.Rules
) -> QueueConfiguration:
    """Returns the configuration that decides on this snapshot of the objects."""
    configs = objects.provisioning_configs
    retry = configs[0].spec.retry_strategy if configs else kueue_checks.RetryStrategy()
    return QueueConfiguration(
        name=name,
        snapshot=found,
        rules=rules,
        local_queues={queue.key: queue.spec.cluster_queue for queue in objects.local_queues},
        priorities={one.metadata.name: one.value for one in objects.priorities},
        provisioned={queue.name: provisioned_flavors(queue) for queue in found.cluster_queues.values()},
        retry=Backoff(retry.backoff_base_seconds, retry.backoff_max_seconds),
        retries_max=retry.backoff_limit_count,
    )


def _read(by_kind: Mapping[str, list[Mapping[str, Any]]], kind: str, view: type[T]) -> list[T]:
    found = []
    for manifest in by_kind.get(kind, ()):
        # Pod templates and others are kept as received bytes, which only JSON has.
        try:
            found.append(msgspec.json.decode(msgspec.json.encode(manifest), type=view))
        except (msgspec.MsgspecError, TypeError) as error:
            called = (manifest.get("metadata") or {}).get("name", "without a name")
            raise ConfigurationError(f"{kind} {called}: {error}") from error
    return found


def _of_quotas_alone(objects: core.Snapshot) -> core.Snapshot:
    """Ignores namespace selectors and topologies: a trace has no nodes and no namespaces, and a LocalQueue
    shows that its namespace may use the queue."""
    queues = {
        name: replace(queue, namespaces=core.LabelSelector())
        for name, queue in objects.cluster_queues.items()
    }
    flavors = {name: replace(flavor, topology=None) for name, flavor in objects.flavors.items()}
    return replace(objects, cluster_queues=queues, flavors=flavors)


def provisioned_flavors(queue: core.ClusterQueue) -> frozenset[str]:
    """Returns the flavors whose nodes an admission check of the queue has to provide."""
    every = frozenset(quotas.flavor for group in queue.groups for quotas in group.flavors)
    checks = (check for check in queue.checks if check.provisions)
    return frozenset().union(*(check.flavors or every for check in checks))
