"""Placing the pod sets of one workload on one flavor's topology."""

from typing import Any

from muster import admission as core
from muster.admission.quantities import parse
from muster.admission.topology import PlacementRequest, Placements, Topologies, TopologyUsage
from muster.objects import kueue, topology
from muster.translation import core_nodes, core_pod_set, core_workload
from tests.conformance.case import Case, Data, Replay
from tests.conformance.objects import view, views
from tests.conformance.rules import rules_of

FLAVOR, SIBLING = "default", "sibling"  # the sibling selects the same nodes


def find_assignments(case: Case) -> None:
    topologies = _topologies(case)
    levels = tuple(case.input["topology"]["levels"])
    topologies.add(_placed(usage, FLAVOR, levels) for usage in case.input.get("priorOwnUsage") or ())
    topologies.add(_placed(usage, SIBLING, levels) for usage in case.input.get("priorFlavorUsage") or ())
    placements = topologies.place(**_arguments(case))
    for expected in case.expect["podSets"]:
        actual = _answer(placements, expected["name"])
        assert actual == expected, f"expected {expected}\nplaced {actual}"


def _topologies(case: Case) -> Topologies:
    levels = case.input["topology"]
    labels = case.input.get("flavorNodeLabels") or {}
    flavors = {name: core.Flavor(name, labels, topology=levels["name"]) for name in (FLAVOR, SIBLING)}
    topologies = {levels["name"]: core.Topology(levels["name"], tuple(levels["levels"]))}
    used = core_nodes.used_by_node(views(case.input.get("pods"), topology.BoundPod))
    nodes = {
        obj.metadata.name: core_nodes.node(obj, used.get(obj.metadata.name, {}))
        for obj in views(case.input["nodes"], topology.Node)
    }
    return Topologies(flavors, topologies, nodes, rules_of(case))


def _placed(usage: Data, flavor: str, levels: tuple[str, ...]) -> TopologyUsage:
    values = tuple(usage["values"])
    assignment = core.TopologyAssignment(
        levels[-len(values) :], (core.TopologyDomain(values, usage["count"]),)
    )
    return TopologyUsage(flavor, assignment, {r: parse(r, q) for r, q in usage["singlePodRequests"].items()})


def _arguments(case: Case) -> dict[str, Any]:
    """Returns the arguments of `place`."""
    current: dict[str, core.TopologyAssignment | None] = {}
    unhealthy: tuple[str, ...] = ()
    pinned = False
    if case.input.get("workload"):
        obj = view(case.input["workload"], kueue.Workload)
        workload = core_workload.workload(obj, obj.status, "")
        unhealthy, pinned = workload.unhealthy_nodes, workload.pinned
        if obj.status.admission:
            current = {
                held.name: held.topology for held in core_workload.admission(obj.status.admission).pod_sets
            }
    requests = [
        PlacementRequest(
            pod_set=_pod_set(data),
            count=data["count"],
            implied=data.get("impliedTopologyRequest", False),
            current=current.get(data["name"]),
            previous=_assignment(data.get("previousAssignment")),
        )
        for data in case.input["podSets"]
    ]
    return {"requests": {FLAVOR: requests}, "unhealthy": unhealthy, "pinned": pinned}


def _pod_set(data: Data) -> core.PodSet:
    spec = {key: data.get(key) for key in ("nodeSelector", "affinity", "tolerations")}
    spec["containers"] = [{"name": "c", "resources": {"requests": data["singlePodRequests"]}}]
    request = data.get("topologyRequest")
    if request is not None:
        request = {**request, "podSetGroupName": data.get("podSetGroupName")}
    obj = {**data, "template": {"spec": spec}, "topologyRequest": request}
    return core_pod_set.pod_set(view(obj, kueue.PodSet))


def _assignment(data: Data | None) -> core.TopologyAssignment | None:
    if data is None:
        return None
    domains = (core.TopologyDomain(tuple(domain["values"]), domain["count"]) for domain in data["domains"])
    return core.TopologyAssignment(tuple(data["levels"]), tuple(domains))


def _answer(placements: Placements, pod_set: str) -> Data:
    """Returns the placement in the form of cases."""
    refusal = placements.refusal
    if refusal is not None and pod_set in refusal.pod_sets:
        return {"name": pod_set, "failureReason": refusal.message}
    assignment = placements.assignments.get(pod_set)
    if assignment is None:
        return {"name": pod_set}
    domains = [{"values": list(domain.values), "count": domain.count} for domain in assignment.domains]
    return {"name": pod_set, "topologyAssignment": {"levels": list(assignment.levels), "domains": domains}}


SUITES: dict[str, Replay] = {
    "TestFindTopologyAssignments": find_assignments,
    "TestFindTopologyAssignmentsMultiLayerReplacement": find_assignments,
}
