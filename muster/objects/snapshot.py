"""From Kubernetes objects to the core's snapshot: one builder for whoever decides or forecasts."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from muster import admission as core
from muster.admission.quantities import parse
from muster.objects import kueue
from muster.objects.meta import Object
from muster.objects.pods import PodTemplate, pod_requests, read_template

K = TypeVar("K", bound=Object)
T = TypeVar("T")


def flavor(obj: kueue.ResourceFlavor) -> core.Flavor:
    spec = obj.spec
    return core.Flavor(
        name=obj.metadata.name,
        node_labels=spec.node_labels,
        taints=tuple(
            core.Taint(t.get("key", ""), t.get("value", ""), core.TaintEffect(t["effect"]))
            for t in spec.node_taints
        ),
        tolerations=_tolerations(spec.tolerations),
    )


def cluster_queue(obj: kueue.ClusterQueue) -> core.ClusterQueue:
    """Raises: ValueError (AdmissionError, for quotas) naming what is wrong."""
    spec = obj.spec
    queue = core.ClusterQueue(
        name=obj.metadata.name,
        cohort=spec.cohort_name or None,
        groups=_groups(spec.resource_groups),
        strategy=core.QueueingStrategy(spec.queueing_strategy),
        stop=core.StopPolicy(spec.stop_policy or "None"),
        within_queue=core.PreemptionPolicy(spec.preemption.within_cluster_queue),
        reclaim_within_cohort=core.PreemptionPolicy(spec.preemption.reclaim_within_cohort),
        when_can_borrow=_fungibility(spec.flavor_fungibility.when_can_borrow),
        when_can_preempt=_fungibility(spec.flavor_fungibility.when_can_preempt),
    )
    core.check_quotas(queue)
    return queue


def cohort(obj: kueue.Cohort) -> core.Cohort:
    """Raises: AdmissionError naming the quota that is wrong."""
    node = core.Cohort(
        name=obj.metadata.name,
        parent=obj.spec.parent_name or None,
        groups=_groups(obj.spec.resource_groups),
    )
    core.check_quotas(node)
    return node


def pod_set(obj: kueue.PodSet) -> core.PodSet:
    """Raises: ValueError (QuantityError for a request) naming what can't be read."""
    template = read_template(obj.template)
    return core.PodSet(
        name=obj.name,
        count=obj.count,
        requests=pod_requests(obj.template),
        node_selector=template.spec.node_selector,
        affinity=_affinity(template),
        tolerations=_tolerations(template.spec.tolerations),
    )


def admission(obj: kueue.Admission) -> core.Admission:
    return core.Admission(
        cluster_queue=obj.cluster_queue,
        pod_sets=tuple(
            core.PodSetAssignment(
                name=a.name,
                count=a.count or 0,
                flavors=a.flavors,
                usage={r: parse(r, q) for r, q in a.resource_usage.items()},
            )
            for a in obj.pod_set_assignments
        ),
    )


def snapshot(
    flavors: Iterable[kueue.ResourceFlavor],
    cohorts: Iterable[kueue.Cohort],
    cluster_queues: Iterable[kueue.ClusterQueue],
    workloads: Iterable[core.Workload],
) -> core.Snapshot:
    """An object that can't be read is left out, as if it were not there, and the rest goes on:
    `problem` says what is wrong with it."""
    return core.Snapshot(
        flavors=_readable(flavor, flavors),
        cohorts=_readable(cohort, cohorts),
        cluster_queues=_readable(cluster_queue, cluster_queues),
        workloads=tuple(workloads),
    )


def problem(queue: kueue.ClusterQueue) -> str | None:
    """Why nothing can be decided for this queue, naming the field; None if all is well."""
    try:
        cluster_queue(queue)
    except ValueError as error:
        return str(error)
    return None


def _readable(convert: Callable[[K], T], objects: Iterable[K]) -> dict[str, T]:
    found: dict[str, T] = {}
    for obj in objects:
        with suppress(ValueError):
            found[obj.metadata.name] = convert(obj)
    return found


def _groups(groups: Iterable[kueue.ResourceGroup]) -> tuple[core.ResourceGroup, ...]:
    return tuple(
        core.ResourceGroup(
            covered=g.covered_resources,
            flavors=tuple(
                core.FlavorQuotas(f.name, {r.name: _quota(r) for r in f.resources}) for f in g.flavors
            ),
        )
        for g in groups
    )


def _quota(obj: kueue.ResourceQuota) -> core.Quota:
    def limit(text: str | int | None) -> int | None:
        return None if text is None else parse(obj.name, text)

    return core.Quota(
        parse(obj.name, obj.nominal_quota), limit(obj.borrowing_limit), limit(obj.lending_limit)
    )


def _fungibility(text: str) -> core.FungibilityPolicy:
    """Kueue's older names of these policies mean the first of the new ones (clusterqueue_types.go)."""
    stops = text in ("Borrow", "Preempt", "MayStopSearch")
    return core.FungibilityPolicy.MAY_STOP_SEARCH if stops else core.FungibilityPolicy.TRY_NEXT_FLAVOR


def _tolerations(raw: Iterable[Mapping[str, Any]]) -> tuple[core.Toleration, ...]:
    return tuple(
        core.Toleration(
            key=t.get("key", ""),
            operator=t.get("operator") or "Equal",
            value=t.get("value", ""),
            effect=core.TaintEffect(t["effect"]) if t.get("effect") else None,
        )
        for t in raw
    )


def _affinity(template: PodTemplate) -> tuple[tuple[core.Requirement, ...], ...]:
    node = template.spec.affinity.get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(
        tuple(
            core.Requirement(e["key"], e["operator"], tuple(e.get("values") or ()))
            for e in term.get("matchExpressions") or ()
        )
        for term in required.get("nodeSelectorTerms") or ()
    )
