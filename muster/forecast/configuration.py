"""A queue configuration: the objects that decide about jobs, as the controller would read them from a
cluster."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from muster import admission as core
from muster.admission.lifecycle import Backoff
from muster.configuration.configuration import DEFAULT, Configuration, parse
from muster.objects import kueue_checks, kueue_queues
from muster.objects.meta import Object
from muster.objects.names import KUEUE_API, KUEUE_GROUP
from muster.translation import snapshot

T = TypeVar("T", bound=Object)


class ConfigurationError(ValueError):
    """A configuration that cannot be simulated. The message names the problem, its place, and the expected
    value."""


@dataclass(frozen=True, slots=True)
class QueueConfiguration:
    """The queues and rules that decide about jobs."""

    name: str
    snapshot: core.Snapshot  # without workloads
    rules: core.Rules
    local_queues: Mapping[str, str]  # ClusterQueue by namespace/name
    priorities: Mapping[str, int]  # by class
    provisioned: Mapping[str, frozenset[str]]  # by ClusterQueue: flavors with nodes from an admission check
    retry: Backoff = Backoff(60, 1800)  # noqa: RUF009 - frozen; between ProvisioningRequests
    retries_max: int = 3
    # Flavors whose nodes the cluster autoscaler adds and removes, with the accelerators of their minimum
    # size.
    autoscaled: Mapping[str, int] = field(default_factory=dict)
    reserved: Mapping[str, int] = field(default_factory=dict)  # accelerators of reservations, by flavor
    spot: frozenset[str] = frozenset()  # flavors of spot nodes, which the cloud may reclaim
    # Seconds after which the cloud deletes a node, by flavor; simulations do not delete it.
    node_life_s: Mapping[str, int] = field(default_factory=dict)
    topologies: Mapping[str, str] = field(default_factory=dict)  # that simulations ignore, by flavor
    # Queues of added teams that the objects lack, with the queue that each is a copy of.
    assumed_queues: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueObjects:
    """The objects that make up a queue configuration."""

    cluster_queues: Sequence[kueue_queues.ClusterQueue]
    cohorts: Sequence[kueue_queues.Cohort] = ()
    flavors: Sequence[kueue_queues.ResourceFlavor] = ()
    local_queues: Sequence[kueue_queues.LocalQueue] = ()
    priorities: Sequence[kueue_queues.WorkloadPriorityClass] = ()
    checks: Sequence[kueue_checks.AdmissionCheck] = ()
    provisioning_configs: Sequence[kueue_checks.ProvisioningRequestConfig] = ()


def parse_controller(name: str, text: str) -> Configuration:
    """Parses the controller's configuration. Raises: ConfigurationError."""
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{name}: configuration of the controller: {error}") from error


def from_manifests(
    name: str, manifests: Iterable[Mapping[str, Any]], controller: Configuration = DEFAULT
) -> QueueConfiguration:
    """Reads the objects of Kueue's API among `manifests`; `controller` is the controller's configuration.

    Raises: ConfigurationError."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for manifest in manifests:
        if str(manifest.get("apiVersion", "")).startswith(f"{KUEUE_GROUP}/"):
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


def from_objects(name: str, objects: QueueObjects, controller: Configuration = DEFAULT) -> QueueConfiguration:
    """Returns the configuration for a trace, which has neither namespaces nor nodes; `controller` is the
    controller's configuration.

    Raises: ConfigurationError."""
    if not objects.cluster_queues:
        raise ConfigurationError(f"{name}: no ClusterQueue ({KUEUE_API}); a forecast needs at least one")
    for queue in objects.cluster_queues:
        if problem := snapshot.problem(queue):
            raise ConfigurationError(f"{name}: {problem}")
    checks = {check.key: check for check in objects.checks}
    declared = snapshot.snapshot(objects.flavors, objects.cohorts, objects.cluster_queues, (), checks=checks)
    configuration = with_snapshot(name, _without_namespaces_and_nodes(declared), objects, controller.rules)
    topologies = {name: flavor.topology for name, flavor in declared.flavors.items() if flavor.topology}
    return replace(configuration, topologies=topologies)


def with_snapshot(
    name: str, core_snapshot: core.Snapshot, objects: QueueObjects, rules: core.Rules
) -> QueueConfiguration:
    """Returns the configuration that decides on this snapshot of the objects."""
    configs = objects.provisioning_configs
    retry = configs[0].spec.retry_strategy if configs else kueue_checks.RetryStrategy()
    return QueueConfiguration(
        name=name,
        snapshot=core_snapshot,
        rules=rules,
        local_queues={queue.key: queue.spec.cluster_queue for queue in objects.local_queues},
        priorities={priority.metadata.name: priority.value for priority in objects.priorities},
        provisioned={
            queue.name: provisioned_flavors(queue) for queue in core_snapshot.cluster_queues.values()
        },
        retry=Backoff(retry.backoff_base_seconds, retry.backoff_max_seconds),
        retries_max=retry.backoff_limit_count,
    )


def _read(by_kind: Mapping[str, list[Mapping[str, Any]]], kind: str, view: type[T]) -> list[T]:
    objects = []
    for manifest in by_kind.get(kind, ()):
        # YAML may have times, and keys that are no text, where the API has text.
        try:
            objects.append(msgspec.convert(msgspec.to_builtins(manifest, str_keys=True), view))
        except (msgspec.MsgspecError, TypeError) as error:
            name = (manifest.get("metadata") or {}).get("name", "without a name")
            raise ConfigurationError(f"{kind} {name}: {error}") from error
    return objects


def _without_namespaces_and_nodes(objects: core.Snapshot) -> core.Snapshot:
    """Drops namespace selectors and topologies: a trace has neither namespaces nor nodes, and a LocalQueue
    implies that its namespace may use the queue."""
    queues = {
        name: replace(queue, namespaces=core.LabelSelector())
        for name, queue in objects.cluster_queues.items()
    }
    flavors = {name: replace(flavor, topology=None) for name, flavor in objects.flavors.items()}
    return replace(objects, cluster_queues=queues, flavors=flavors)


def provisioned_flavors(queue: core.ClusterQueue) -> frozenset[str]:
    """Returns the flavors whose nodes an admission check of the queue must provide."""
    every = frozenset(quotas.flavor for group in queue.groups for quotas in group.flavors)
    checks = (check for check in queue.checks if check.provisions)
    return frozenset().union(*(check.flavors or every for check in checks))
