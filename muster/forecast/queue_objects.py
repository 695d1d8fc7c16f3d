"""Reads queue configurations from objects of Kueue's API, as the controller would read them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from muster import admission as core
from muster.admission.lifecycle import Backoff
from muster.configuration.configuration import DEFAULT, Configuration, parse
from muster.forecast.configuration import ConfigurationError, QueueConfiguration
from muster.forecast.nodes import with_nodes
from muster.objects import kueue_checks, kueue_queues
from muster.objects.meta import Object
from muster.objects.names import KUEUE_API, KUEUE_GROUP
from muster.objects.topology import Node, Topology
from muster.translation import core_nodes, snapshot

T = TypeVar("T", bound=Object)

OLD_API = f"{KUEUE_GROUP}/v1beta1"


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
    topologies: Sequence[Topology] = ()
    nodes: Sequence[Node] = ()


def parse_controller(name: str, text: str) -> Configuration:
    """Parses the controller's configuration. Raises: ConfigurationError."""
    try:
        return parse(text)
    except ValueError as error:
        raise ConfigurationError(f"{name}: configuration of the controller: {error}") from error


def from_manifests(
    name: str, manifests: Iterable[Mapping[str, Any]], controller: Configuration = DEFAULT
) -> QueueConfiguration:
    """Reads the objects of Kueue's API, and the Nodes, among `manifests`; `controller` is the controller's
    configuration.

    Raises: ConfigurationError."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for manifest in manifests:
        version, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind"))
        if version.startswith(f"{KUEUE_GROUP}/") or (version, kind) == ("v1", "Node"):
            by_kind.setdefault(kind, []).append(manifest)
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
        topologies=_read(by_kind, "Topology", Topology),
        nodes=_read(by_kind, "Node", Node),
    )
    return from_objects(name, objects, controller)


def from_objects(name: str, objects: QueueObjects, controller: Configuration = DEFAULT) -> QueueConfiguration:
    """Returns the configuration for a trace, which has no namespaces; `controller` is the controller's
    configuration.

    Raises: ConfigurationError."""
    if not objects.cluster_queues:
        raise ConfigurationError(f"{name}: no ClusterQueue ({KUEUE_API}); a forecast needs at least one")
    for queue in objects.cluster_queues:
        if problem := snapshot.problem(queue):
            raise ConfigurationError(f"{name}: {problem}")
    checks = {check.key: check for check in objects.checks}
    declared = snapshot.snapshot(objects.flavors, objects.cohorts, objects.cluster_queues, (), checks=checks)
    configuration = with_snapshot(name, _without_namespaces(declared), objects, controller.rules)
    levels = {of.metadata.name: core_nodes.topology(of) for of in objects.topologies}
    topologies = {
        name: levels.get(flavor.topology, core.Topology(flavor.topology, ()))
        for name, flavor in declared.flavors.items()
        if flavor.topology
    }
    return with_nodes(replace(configuration, topologies=topologies), nodes_of(name, objects.nodes))


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
    for manifest in map(_converted, by_kind.get(kind, ())):
        # YAML may have times, and keys that are no text, where the API has text.
        try:
            objects.append(msgspec.convert(msgspec.to_builtins(manifest, str_keys=True), view))
        except (msgspec.MsgspecError, TypeError) as error:
            name = (manifest.get("metadata") or {}).get("name", "without a name")
            raise ConfigurationError(f"{kind} {name}: {error}") from error
    return objects


def _converted(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a ClusterQueue of v1beta1 with the names of v1beta2, as Kueue converts it; others as they are
    (Kueue: apis/kueue/v1beta1, clusterqueue_conversion.go)."""
    is_queue = (manifest.get("apiVersion"), manifest.get("kind")) == (OLD_API, "ClusterQueue")
    spec = manifest.get("spec")
    if not is_queue or not isinstance(spec, Mapping):
        return manifest
    converted = {key: value for key, value in spec.items() if key not in ("cohort", "admissionChecks")}
    if "cohort" in spec:
        converted["cohortName"] = spec["cohort"]
    if isinstance(checks := spec.get("admissionChecks"), list) and checks:
        rules = [{"name": name} for name in checks]
        converted["admissionChecksStrategy"] = {"admissionChecks": rules}
    return {**manifest, "spec": converted}


def read_nodes(name: str, manifests: Iterable[Mapping[str, Any]]) -> list[core.Node]:
    """Reads the Nodes among manifests. Raises: ConfigurationError."""
    nodes = [of for of in manifests if (of.get("apiVersion"), of.get("kind")) == ("v1", "Node")]
    return nodes_of(name, _read({"Node": nodes}, "Node", Node))


def nodes_of(name: str, nodes: Iterable[Node]) -> list[core.Node]:
    """Converts nodes without pods; `name` is that of their file or configuration. Raises:
    ConfigurationError."""
    converted = []
    for node in nodes:
        try:
            converted.append(core_nodes.node(node, {}))
        except ValueError as error:
            raise ConfigurationError(f"{name}: Node {node.metadata.name}: {error}") from error
    return converted


def _without_namespaces(objects: core.Snapshot) -> core.Snapshot:
    """Drops namespace selectors: a trace has no namespaces, and a LocalQueue implies that its namespace may
    use the queue."""
    queues = {
        name: replace(queue, namespaces=core.LabelSelector())
        for name, queue in objects.cluster_queues.items()
    }
    return replace(objects, cluster_queues=queues)


def provisioned_flavors(queue: core.ClusterQueue) -> frozenset[str]:
    """Returns the flavors whose nodes an admission check of the queue must provide."""
    every = frozenset(quotas.flavor for group in queue.groups for quotas in group.flavors)
    checks = (check for check in queue.checks if check.provisions)
    return frozenset().union(*(check.flavors or every for check in checks))
