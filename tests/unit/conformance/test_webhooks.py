"""Objects that Kueue's webhooks refuse are found, with the rule that they violate."""

from typing import Any

import pytest

from tests.conformance.case import Case
from tests.conformance.webhooks import refused

Body = dict[str, Any]


def quota(name: str = "cpu", **amounts: str) -> Body:
    return {"name": name, "nominalQuota": "4", **amounts}


def group(*resources: Body, flavor: str = "l4", covered: tuple[str, ...] = ("cpu",)) -> Body:
    return {"coveredResources": list(covered), "flavors": [{"name": flavor, "resources": list(resources)}]}


def queue(*groups: Body, **spec: Any) -> Body:
    return {"clusterQueues": [{"metadata": {"name": "q"}, "spec": {"resourceGroups": list(groups), **spec}}]}


def cohort(*groups: Body) -> Body:
    return {"cohorts": [{"metadata": {"name": "c"}, "spec": {"resourceGroups": list(groups)}}]}


def workload(*pod_sets: Body) -> Body:
    return {"workloads": [{"metadata": {"name": "w"}, "spec": {"podSets": list(pod_sets)}}]}


def asks(**requests: str) -> Body:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


ONE = group(quota())
BORROWS = {"borrowWithinCohort": {"policy": "LowerPriority"}}
FINE: dict[str, Body] = {
    "nothing": {},
    "a queue": queue(ONE, group(quota("memory"), flavor="t4", covered=("memory",))),
    "a limit without a cohort, which has no effect": queue(group(quota(borrowingLimit="0"))),
    "borrowing by preemption": queue(ONE, preemption={**BORROWS, "reclaimWithinCohort": "Any"}),
    "a cohort that lends more than its quota": cohort(group(quota(lendingLimit="9"))),
    "one pod set with a minCount": workload(
        {"name": "a", "minCount": 1}, {"name": "b", "template": asks(cpu="1")}
    ),
}
WRONG: dict[str, tuple[Body, str]] = {
    "a resource in two groups": (
        queue(ONE, group(quota(), flavor="t4")),
        "ClusterQueue q: resource cpu twice",
    ),
    "a flavor in two groups": (
        queue(ONE, group(quota("memory"), covered=("memory",))),
        "ClusterQueue q: flavor l4 twice",
    ),
    "resources that are not covered": (
        queue(group(quota("memory"))),
        "ClusterQueue q: flavor l4 has quota for other resources than the group covers",
    ),
    "less than nothing": (
        cohort(group(quota(nominalQuota="-1"))),
        "Cohort c: a negative quantity for cpu of flavor l4",
    ),
    "a lending limit above the quota": (
        queue(group(quota(lendingLimit="5"))),
        "ClusterQueue q: a lending limit above the quota for cpu of flavor l4",
    ),
    "borrowing without reclaiming": (
        queue(ONE, preemption=BORROWS),
        "ClusterQueue q: borrowWithinCohort without reclaimWithinCohort",
    ),
    "a preference without effect": (
        queue(ONE, flavorFungibility={"preference": "BorrowingOverPreemption", "whenCanBorrow": "Borrow"}),
        "ClusterQueue q: a preference, but the search for flavors ends at the first",
    ),
    "a check on an unknown flavor": (
        queue(ONE, admissionChecksStrategy={"admissionChecks": [{"name": "dws", "onFlavors": ["t4"]}]}),
        "ClusterQueue q: AdmissionCheck dws on flavors that the queue does not have: ['t4']",
    ),
    "two pod sets with one name": (workload({"name": "a"}, {"name": "a"}), "Workload w: pod set a twice"),
    "two pod sets with a minCount": (
        workload({"name": "a", "minCount": 1}, {"name": "b", "minCount": 1}),
        "Workload w: several pod sets with a minCount",
    ),
    "pods as a request": (
        workload({"name": "a", "template": asks(pods="1")}),
        "Workload w: pod set a requests pods, which Kueue counts itself",
    ),
}


def of(objects: Body) -> Case:
    return Case("suite", "name", objects, {}, {}, {}, now_ms=0)


@pytest.mark.parametrize("objects", FINE.values(), ids=FINE)
def test_valid_objects_are_accepted(objects: Body) -> None:
    assert refused(of(objects)) == ""


@pytest.mark.parametrize(("objects", "rule"), WRONG.values(), ids=WRONG)
def test_the_violated_rule_is_named(objects: Body, rule: str) -> None:
    assert refused(of(objects)) == rule
