"""Finds cases with objects that Kueue's webhooks refuse: no cluster can have them.

Kueue's tests create objects in code. The rules are those of pkg/webhooks at v0.19.2 that a case can violate
on creation, after the API server's defaults. A limit without a cohort is left out: it has no effect, and most
cases of TestSchedule share a queue with one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.admission.quantities import exact
from tests.conformance.case import Case

Body = Mapping[str, Any]


def refused(case: Case) -> str:
    """Returns the first rule that an object of the case violates, or an empty string."""
    return next(_problems(case), "")


def _problems(case: Case) -> Iterator[str]:
    inputs = case.input
    for queue in _listed(inputs, "clusterQueues", "clusterQueue", "otherClusterQueues"):
        where = f"ClusterQueue {queue['metadata'].get('name', '')}"
        yield from (f"{where}: {problem}" for problem in _queue(queue.get("spec") or {}))
    for cohort in _listed(inputs, "cohorts"):
        spec = cohort.get("spec") or {}
        problems = _groups(spec, lends_all=True)
        yield from (f"Cohort {cohort['metadata']['name']}: {problem}" for problem in problems)
    for workload in _listed(inputs, "workloads", "workload", "incoming"):
        where = f"Workload {workload['metadata'].get('name', '')}"
        yield from (f"{where}: {problem}" for problem in _workload(workload.get("spec") or {}))


def _listed(values: Body, *keys: str) -> Iterator[Body]:
    for key in keys:
        items = values.get(key) or ()
        yield from items if isinstance(items, list) else [items] if items else []


def _queue(spec: Body) -> Iterator[str]:
    """Source: validateClusterQueueSpec and validateAdmissionCheckOnFlavors in clusterqueue_webhook.go."""
    yield from _groups(spec, lends_all=False)
    preemption = spec.get("preemption") or {}
    borrows = (preemption.get("borrowWithinCohort") or {}).get("policy", "Never")
    if borrows != "Never" and preemption.get("reclaimWithinCohort", "Never") == "Never":
        yield "borrowWithinCohort without reclaimWithinCohort"
    fungibility = spec.get("flavorFungibility") or {}
    searches = [fungibility.get(name) for name in ("whenCanBorrow", "whenCanPreempt")]
    if fungibility.get("preference") and searches != ["TryNextFlavor"] * 2:
        yield "a preference, but the search for flavors ends at the first"
    groups = spec.get("resourceGroups") or ()
    named = {flavor["name"] for group in groups for flavor in group.get("flavors") or ()}
    strategy = spec.get("admissionChecksStrategy") or {}
    for check in strategy.get("admissionChecks") or ():
        unknown = sorted({*(check.get("onFlavors") or ())} - named)
        if unknown:
            yield f"AdmissionCheck {check['name']} on flavors that the queue does not have: {unknown}"


def _groups(spec: Body, *, lends_all: bool) -> Iterator[str]:
    """Source: validateResourceGroups; `lends_all`: the lending limit may exceed the quota, as in a cohort."""
    groups = spec.get("resourceGroups") or ()
    yield from _twice("resource", (name for group in groups for name in group.get("coveredResources") or ()))
    yield from _twice("flavor", (flavor["name"] for group in groups for flavor in group.get("flavors") or ()))
    for group in groups:
        for flavor in group.get("flavors") or ():
            resources = flavor.get("resources") or ()
            if [of["name"] for of in resources] != list(group.get("coveredResources") or ()):
                yield f"flavor {flavor['name']} has quota for other resources than the group covers"
            for of in resources:
                yield from _quota(f"{of['name']} of flavor {flavor['name']}", of, lends_all)


def _quota(where: str, of: Body, lends_all: bool) -> Iterator[str]:
    amounts = {key: exact(key, value) for key, value in of.items() if key != "name" and value is not None}
    if any(amount < 0 for amount in amounts.values()):
        yield f"a negative quantity for {where}"
    if not lends_all and amounts.get("lendingLimit", 0) > amounts.get("nominalQuota", 0):
        yield f"a lending limit above the quota for {where}"


def _workload(spec: Body) -> Iterator[str]:
    """Source: ValidateWorkload in workload_webhook.go."""
    pod_sets: Sequence[Body] = spec.get("podSets") or ()
    yield from _twice("pod set", (pod_set["name"] for pod_set in pod_sets))
    if sum(pod_set.get("minCount") is not None for pod_set in pod_sets) > 1:
        yield "several pod sets with a minCount"
    for pod_set in pod_sets:
        pods = (pod_set.get("template") or {}).get("spec") or {}
        for container in (*(pods.get("initContainers") or ()), *(pods.get("containers") or ())):
            if "pods" in ((container.get("resources") or {}).get("requests") or {}):
                yield f"pod set {pod_set['name']} requests pods, which Kueue counts itself"


def _twice(what: str, names: Iterable[str]) -> Iterator[str]:
    visited: set[str] = set()
    for name in names:
        if name in visited:
            yield f"{what} {name} twice"
        visited.add(name)
