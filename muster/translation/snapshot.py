"""Converts Kubernetes objects to the core's snapshot, for all decisions and forecasts."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeVar

import msgspec

from muster import admission as core
from muster.admission.quantities import exact, parse
from muster.objects import kueue_checks, kueue_queues
from muster.objects.meta import Object
from muster.objects.names import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER
from muster.translation import unreadable
from muster.translation.budgets import budgets
from muster.translation.core_pod_set import tolerations
from muster.translation.devices import device_classes

USAGE_BASED = "UsageBasedAdmissionFairSharing"
SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")  # of a LabelSelector

K = TypeVar("K", bound=Object)
T = TypeVar("T")


def flavor(obj: kueue_queues.ResourceFlavor) -> core.Flavor:
    """Returns a ResourceFlavor with its labels, taints and tolerations."""
    spec = obj.spec
    return core.Flavor(
        name=obj.metadata.name,
        node_labels=spec.node_labels,
        taints=tuple(
            core.Taint(t.get("key", ""), t.get("value", ""), core.TaintEffect(t["effect"]))
            for t in spec.node_taints
        ),
        tolerations=tolerations(spec.tolerations),
        topology=spec.topology_name or None,
        node_sizes=_readable_node_sizes(obj.node_sizes),
    )


def node_sizes(annotation: str) -> tuple[Mapping[str, int], ...]:
    """Returns the sizes of a flavor's nodes; empty without the annotation. Raises: ValueError (including
    msgspec's errors and QuantityError)."""
    sizes = msgspec.json.decode(annotation, type=list[dict[str, str]]) if annotation else []
    return tuple({name: parse(name, quantity) for name, quantity in size.items()} for size in sizes)


def _readable_node_sizes(annotation: str) -> tuple[Mapping[str, int], ...]:
    """Returns `node_sizes`; empty for an unreadable annotation, which `muster doctor` reports."""
    try:
        return node_sizes(annotation)
    except ValueError:
        return ()


def cluster_queue(
    obj: kueue_queues.ClusterQueue, checks: Mapping[str, kueue_checks.AdmissionCheck] | None = None
) -> core.ClusterQueue:
    """Converts a ClusterQueue; `checks` are the AdmissionChecks by name. Raises: ValueError (AdmissionError
    for quotas) that names the field."""
    spec, scope = obj.spec, obj.spec.admission_scope
    queue = core.ClusterQueue(
        name=obj.metadata.name,
        cohort=spec.cohort_name or None,
        groups=_groups(f"ClusterQueue {obj.metadata.name}", spec.resource_groups),
        strategy=core.QueueingStrategy(spec.queueing_strategy),
        stop=core.StopPolicy(spec.stop_policy or "None"),
        within_queue=core.PreemptionPolicy(spec.preemption.within_cluster_queue),
        reclaim_within_cohort=core.PreemptionPolicy(spec.preemption.reclaim_within_cohort),
        when_can_borrow=_fungibility(spec.flavor_fungibility.when_can_borrow),
        when_can_preempt=_fungibility(spec.flavor_fungibility.when_can_preempt),
        borrow_within_cohort=_borrow_within_cohort(spec.preemption.borrow_within_cohort),
        preference=_preference(spec.flavor_fungibility.preference),
        weight=_weight(spec.fair_sharing),
        usage_based=scope is not None and scope.admission_mode == USAGE_BASED,
        namespaces=_namespaces(f"ClusterQueue {obj.metadata.name}", spec.namespace_selector),
        checks=tuple(
            core.Check(rule.name, frozenset(rule.on_flavors), _provisions((checks or {}).get(rule.name)))
            for rule in spec.admission_checks_strategy.admission_checks
        ),
        budgets=budgets(obj.metadata.annotations),
    )
    core.check_quotas(queue)
    return queue


def cohort(obj: kueue_queues.Cohort) -> core.Cohort:
    """Converts a Cohort. Raises: ValueError (AdmissionError for quotas) that names the field."""
    node = core.Cohort(
        name=obj.metadata.name,
        parent=obj.spec.parent_name or None,
        groups=_groups(f"Cohort {obj.metadata.name}", obj.spec.resource_groups),
        weight=_weight(obj.spec.fair_sharing),
        budgets=budgets(obj.metadata.annotations),
    )
    core.check_quotas(node)
    return node


def snapshot(
    flavors: Iterable[kueue_queues.ResourceFlavor],
    cohorts: Iterable[kueue_queues.Cohort],
    cluster_queues: Iterable[kueue_queues.ClusterQueue],
    workloads: Iterable[core.Workload],
    *,
    checks: Mapping[str, kueue_checks.AdmissionCheck] | None = None,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    deleted_queues: Mapping[str, frozenset[str]] | None = None,
    topologies: Mapping[str, core.Topology] | None = None,
    nodes: Mapping[str, core.Node] | None = None,
) -> core.Snapshot:
    """Returns the snapshot. `namespaces` are labels by namespace; `deleted_queues` are ClusterQueues in which
    gangs still hold quota, with the flavors of that quota. Unreadable flavors are skipped; of an unreadable
    ClusterQueue or Cohort the readable quotas count, and the ClusterQueue's `problem` describes the error."""
    all_cohorts = {c.metadata.name: readable_cohort(c) for c in cohorts}
    queues = {q.metadata.name: readable_cluster_queue(q, checks) for q in cluster_queues}
    deleted = {
        name: unreadable.deleted_queue(name, held_flavors, all_cohorts.values(), queues.values())
        for name, held_flavors in (deleted_queues or {}).items()
    }
    return core.Snapshot(
        flavors=_readable(flavor, flavors),
        cohorts=all_cohorts,
        cluster_queues=queues | deleted,
        workloads=tuple(workloads),
        namespaces=namespaces or {},
        topologies=topologies or {},
        nodes=nodes or {},
    )


def readable_cluster_queue(
    obj: kueue_queues.ClusterQueue, checks: Mapping[str, kueue_checks.AdmissionCheck] | None = None
) -> core.ClusterQueue:
    """Converts a ClusterQueue; of an unreadable one, only the readable parts."""
    try:
        return cluster_queue(obj, checks)
    except ValueError as error:
        return unreadable.cluster_queue(obj, str(error).removeprefix(f"ClusterQueue {obj.key}: "))


def readable_cohort(obj: kueue_queues.Cohort) -> core.Cohort:
    """Converts a Cohort; of an unreadable one, only the readable parts."""
    try:
        return cohort(obj)
    except ValueError:
        return unreadable.cohort(obj)


def problem(queue: kueue_queues.ClusterQueue) -> str | None:
    """Returns why the queue cannot admit, naming the field; None if it is valid."""
    try:
        cluster_queue(queue)
        device_classes(queue.metadata.annotations)
    except ValueError as error:
        return str(error)
    return None


def _readable(convert: Callable[[K], T], objects: Iterable[K]) -> dict[str, T]:
    by_name: dict[str, T] = {}
    for obj in objects:
        with suppress(ValueError):
            by_name[obj.metadata.name] = convert(obj)
    return by_name


def _groups(where: str, groups: Iterable[kueue_queues.ResourceGroup]) -> tuple[core.ResourceGroup, ...]:
    return tuple(
        core.ResourceGroup(
            covered=g.covered_resources,
            flavors=tuple(
                core.FlavorQuotas(f.name, {r.name: _quota(where, f.name, r) for r in f.resources})
                for f in g.flavors
            ),
        )
        for g in groups
    )


def _quota(where: str, flavor: str, obj: kueue_queues.ResourceQuota) -> core.Quota:
    def amount(field: str, text: str | int) -> int:
        try:
            return parse(obj.name, text)
        except core.QuantityError as error:
            field = f"{field} for {obj.name} of flavor {flavor}"
            raise core.SnapshotError(where, field, str(error)) from error

    def limit(field: str, text: str | int | None) -> int | None:
        return None if text is None else amount(field, text)

    return core.Quota(
        amount("nominal quota", obj.nominal_quota),
        limit("borrowing limit", obj.borrowing_limit),
        limit("lending limit", obj.lending_limit),
    )


def _fungibility(text: str) -> core.FungibilityPolicy:
    """Converts a policy; Kueue's deprecated names mean MayStopSearch (clusterqueue_types.go)."""
    stops = text in ("Borrow", "Preempt", "MayStopSearch")
    return core.FungibilityPolicy.MAY_STOP_SEARCH if stops else core.FungibilityPolicy.TRY_NEXT_FLAVOR


def _preference(text: str | None) -> core.FungibilityPreference | None:
    return core.FungibilityPreference(text) if text else None


def _borrow_within_cohort(obj: kueue_queues.BorrowWithinCohort | None) -> core.BorrowWithinCohort | None:
    if obj is None or obj.policy != core.PreemptionPolicy.LOWER_PRIORITY:
        return None
    return core.BorrowWithinCohort(obj.max_priority_threshold)


def _weight(sharing: kueue_queues.FairSharing | None) -> Fraction:
    if sharing is None or sharing.weight is None:
        return Fraction(1)
    return exact("fairSharing.weight", sharing.weight)


def _provisions(check: kueue_checks.AdmissionCheck | None) -> bool:
    return check is not None and check.spec.controller_name in (
        PROVISIONING_CONTROLLER,
        MULTIKUEUE_CONTROLLER,
    )


def _namespaces(where: str, selector: Mapping[str, Any] | None) -> core.LabelSelector | None:
    """Converts a selector; None selects nothing, an empty selector everything."""
    if selector is None:
        return None
    for expression in selector.get("matchExpressions") or ():
        if expression["operator"] not in SELECTOR_OPERATORS:
            expected = ", ".join(SELECTOR_OPERATORS)
            problem = f"operator {expression['operator']!r}; expected one of: {expected}"
            raise core.SnapshotError(where, "namespaceSelector", problem)
    labels = (selector.get("matchLabels") or {}).items()
    return core.LabelSelector(
        (
            *(core.Requirement(key, "In", (value,)) for key, value in labels),
            *(
                core.Requirement(e["key"], e["operator"], tuple(e.get("values") or ()))
                for e in selector.get("matchExpressions") or ()
            ),
        )
    )
