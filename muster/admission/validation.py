"""Validates a snapshot before decisions.

The CRDs' schemas and the Kubernetes API enforce the same rules, so a violation is a bug of the caller and
raises an error. Conditions that only make a queue unusable (a missing flavor, a cycle of cohorts)
are not errors: see WorkingState.inactive.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Protocol

from muster.admission.errors import NAME_LENGTH_MAX, SnapshotError
from muster.admission.model import (
    Budget,
    ClusterQueue,
    Cohort,
    PodSet,
    Quota,
    Requirement,
    Resources,
    Rules,
    Snapshot,
    TopologyRequest,
    Workload,
)
from muster.admission.quantities import MAX, units_max

_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def check(snapshot: Snapshot) -> None:
    """Raises SnapshotError at the first violation."""
    _check_names("ResourceFlavor", snapshot.flavors)
    _check_names("Cohort", snapshot.cohorts)
    _check_names("ClusterQueue", snapshot.cluster_queues)
    for cohort in snapshot.cohorts.values():
        check_quotas(cohort)
    for queue in snapshot.cluster_queues.values():
        check_quotas(queue)
        if queue.run_time_ms_min is not None:
            _check_run_time_min(f"ClusterQueue {queue.name}", queue.run_time_ms_min)
    _check_unique("snapshot", "workloads", (workload.key for workload in snapshot.workloads))
    for workload in snapshot.workloads:
        check_workload(workload)


def _check_names(kind: str, objects: Mapping[str, _Named]) -> None:
    for key, named in objects.items():
        if key != named.name:
            raise SnapshotError(f"{kind} {named.name}", "name", f"has the key {key!r}; expected its name")


def _check_unique(where: str, field: str, names: Iterable[str]) -> None:
    unique: set[str] = set()
    for name in names:
        if name in unique:
            raise SnapshotError(where, field, f"{name!r} occurs twice; expected unique names")
        unique.add(name)


def check_quotas(node: ClusterQueue | Cohort) -> None:
    """Raises SnapshotError that names the object and the invalid quota, weight or budget."""
    where = f"{type(node).__name__} {node.name}"
    if node.weight < 0:
        raise SnapshotError(where, "fair sharing weight", f"is {node.weight}; expected 0 or more")
    _check_unique(where, "resource groups", (name for group in node.groups for name in group.covered))
    for group in node.groups:
        _check_unique(where, "flavors", (flavor.flavor for flavor in group.flavors))
        for flavor in group.flavors:
            if flavor.quotas.keys() != set(group.covered):
                covered = ", ".join(sorted(group.covered))
                raise SnapshotError(
                    where, f"quota of flavor {flavor.flavor}", f"expected one for each of: {covered}"
                )
            for resource, quota in flavor.quotas.items():
                _check_quota(where, f"{resource} of flavor {flavor.flavor}", quota)
    for budget in node.budgets:
        _check_budget(where, budget)


def _check_budget(where: str, budget: Budget) -> None:
    field = f"budget of {budget.resource}"
    if budget.unit_ms < 0:
        raise SnapshotError(where, field, f"is {budget.unit_ms}; expected 0 or more")
    if budget.period_ms is not None and budget.period_ms <= 0:
        raise SnapshotError(where, field, f"has a period of {budget.period_ms} ms; expected more than 0")


def check_rules(rules: Rules) -> None:
    """Raises SnapshotError that names the invalid rule."""
    aging = rules.aging
    if aging is not None and (aging.period_ms <= 0 or aging.step < 0 or aging.boost_max < 0):
        raise SnapshotError(
            "Rules", "aging", f"is {aging}; expected a period of more than 0, and 0 or more otherwise"
        )
    _check_run_time_min("Rules", rules.run_time_ms_min)


def _check_run_time_min(where: str, run_time_ms_min: int) -> None:
    if run_time_ms_min < 0:
        raise SnapshotError(where, "run_time_ms_min", f"is {run_time_ms_min}; expected 0 or more")


def _check_quota(where: str, field: str, quota: Quota) -> None:
    limits = {"borrowing limit": quota.borrowing_limit, "lending limit": quota.lending_limit}
    for name, amount in {"nominal quota": quota.nominal, **limits}.items():
        if amount is not None and amount < 0:
            raise SnapshotError(where, f"{name} for {field}", f"is {amount}; expected 0 or more")


def check_workload(workload: Workload) -> None:
    """Raises SnapshotError that names the workload and the invalid field."""
    where = f"Workload {workload.key}"
    if not workload.pod_sets:
        raise SnapshotError(where, "pod sets", "expected at least one")
    if len(workload.pod_sets) > 1:
        _check_unique(where, "pod sets", (pod_set.name for pod_set in workload.pod_sets))
    for pod_set in workload.pod_sets:
        _check_pod_set(where, pod_set)
    for assigned in workload.admission.pod_sets if workload.admission else ():
        _check_amounts(where, f"usage of pod set {assigned.name}", assigned.usage)
    if workload.run_time_ms is not None and workload.run_time_ms <= 0:
        raise SnapshotError(where, "run_time_ms", f"is {workload.run_time_ms}; expected more than 0")
    for field in ("queued_at_ms", "reserved_at_ms", "requeue_at_ms"):
        at_ms = getattr(workload, field)
        if at_ms is not None and at_ms < 0:
            raise SnapshotError(where, field, f"is {at_ms}; expected milliseconds since the epoch")


def _check_pod_set(where: str, pod_set: PodSet) -> None:
    if pod_set.count < 0:
        raise SnapshotError(
            where, f"count of pod set {pod_set.name}", f"is {pod_set.count}; expected 0 or more"
        )
    for field in ("count_min", "reclaimable"):
        number = getattr(pod_set, field)
        if number is not None and not 0 <= number <= pod_set.count:
            expected = f"0 to its count, {pod_set.count}"
            raise SnapshotError(
                where, f"{field} of pod set {pod_set.name}", f"is {number}; expected {expected}"
            )
    if pod_set.topology is not None:
        _check_slices(where, f"slices of pod set {pod_set.name}", pod_set.topology)
    _check_amounts(where, f"requests of pod set {pod_set.name}", pod_set.requests)
    for resource, amount in pod_set.requests.items():
        if len(resource) > NAME_LENGTH_MAX:
            field = f"requests of pod set {pod_set.name}"
            problem = f"resource {resource[:40]}… has a name of more than {NAME_LENGTH_MAX} characters"
            raise SnapshotError(where, field, problem)
        total = amount * max(pod_set.count, 1)
        # The cheap comparison first: MAX is the smallest bound of all resources.
        if total > MAX and total > units_max(resource):
            field = f"requests of pod set {pod_set.name}"
            raise SnapshotError(
                where, field, f"{resource} of all its pods exceeds the maximum that can be counted"
            )
    for term in pod_set.affinity:
        for requirement in term:
            _check_requirement(where, f"node affinity of pod set {pod_set.name}", requirement)


def _check_slices(where: str, field: str, request: TopologyRequest) -> None:
    """Checks that each slice consists of whole slices of the next level (Kueue: validateTopologyRequest)."""
    sizes = [constraint.size for constraint in request.slices]
    if any(size < 1 for size in sizes):
        raise SnapshotError(where, field, f"sizes are {sizes}; expected 1 or more")
    if any(wide % narrow for wide, narrow in pairwise(sizes)):
        raise SnapshotError(where, field, f"sizes are {sizes}; expected each to be a multiple of the next")


def _check_amounts(where: str, field: str, amounts: Resources) -> None:
    for resource, amount in amounts.items():
        if amount < 0:
            raise SnapshotError(where, field, f"{resource} is {amount}; expected 0 or more")


def _check_requirement(where: str, field: str, requirement: Requirement) -> None:
    if requirement.operator not in _OPERATORS:
        expected = ", ".join(sorted(_OPERATORS))
        raise SnapshotError(where, field, f"operator {requirement.operator!r}; expected one of: {expected}")
    if requirement.operator in ("Gt", "Lt") and len(requirement.values) != 1:
        raise SnapshotError(where, field, f"{requirement.key} {requirement.operator}: expected one value")
