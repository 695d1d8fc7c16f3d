"""Flavor assignment: the places of its tests."""

from typing import Any

from tests.conformance.recorder import neutral
from tests.conformance.recorder.place import Parts, Place

FOLDER = "pkg/scheduler/flavorassigner"
FILE = f"{FOLDER}/flavorassigner_test.go"
PREEMPTION_MODES = ("NoFit", "NoPreemptionCandidates", "Preempt", "Reclaim", "Fit")
"""Kueue's preemptionMode by its number (flavorassigner.go)."""


def _assigned(parts: Parts) -> Parts:
    """Completes a case with a workload, the queues' usage and the answers of simulated preemptions."""
    inputs = parts["input"]
    inputs["resourceFlavors"] = neutral.by_name(inputs["resourceFlavors"])
    inputs["otherClusterQueues"] = neutral.present(inputs.get("otherClusterQueues"))
    inputs["preemptionOracle"] = [
        {
            "flavor": answer["key"]["flavor"],
            "resource": answer["key"]["resource"],
            "possibility": answer["value"]["preemptionPossiblity"],  # as Kueue spells it
            "borrowingAfter": answer["value"]["borrowingAfterSimulation"],
        }
        for answer in inputs.get("preemptionOracle") or ()
    ]
    if slice_ := inputs.pop("replacedWorkloadSlice", None):
        inputs["replacedWorkloadSlice"] = {"podSets": list(map(_replaced, slice_["totalRequests"]))}
    if assignment := parts["expect"].get("assignment"):
        parts["expect"]["assignment"] = _assignment(assignment)
    return parts


def _replaced(pod_set: Parts) -> Parts:
    return {
        "name": pod_set["name"],
        "count": pod_set["count"],
        "totalRequests": neutral.quantities(pod_set["requests"]),
        "flavors": pod_set["flavors"],
    }


def _assignment(recorded: Parts) -> Parts:
    form = {
        "podSets": list(map(_pod_set, recorded["podSets"] or ())),
        "borrowing": recorded["borrowing"],
        "usage": recorded["usage"]["quota"] or [],
    }
    return form | _without_empty(noFitReason=recorded["noFitReason"])


def _pod_set(recorded: Parts) -> Parts:
    flavors = {
        resource: {"name": flavor["name"], "mode": flavor["mode"]}
        | ({"triedFlavorIdx": flavor["triedFlavorIdx"]} if flavor["triedFlavorIdx"] else {})
        for resource, flavor in (recorded["flavors"] or {}).items()
    }
    form = {key: recorded[key] for key in ("name", "count")}
    form |= {"flavors": flavors, "requests": recorded["requests"] or {}}
    return form | _without_empty(
        reasons=recorded["status"]["reasons"],
        error=recorded["status"]["err"],
        flavorAttempts=list(map(_attempt, recorded["flavorAssignmentAttempts"] or ())),
    )


def _attempt(recorded: Parts) -> Parts:
    form = {key: recorded[key] for key in ("flavor", "mode", "borrow")}
    optional = ("preemptionPossibility", "reasons", "noFitReason")
    return form | _without_empty(**{key: recorded[key] for key in optional})


def _without_empty(**fields: Any) -> Parts:
    return {key: value for key, value in fields.items() if value}


def _grades(parts: Parts) -> Parts:
    for side in "ab":
        grade = parts["input"][side]
        mode = PREEMPTION_MODES[grade["preemptionMode"]]
        parts["input"][side] = {"mode": mode, "borrowingLevel": grade["borrowingLevel"]}
    return parts


def _usage(*queues: tuple[str, str]) -> str:
    """Returns Go's expression of usage by queue."""
    return "map[string]any{" + ", ".join(f"string({name}): {usage}" for name, usage in queues) + "}"


def _two_queues(function: str, cohorts: str) -> Place:
    return Place(
        FILE,
        function,
        input={
            "workload": "wlInfo.Obj",
            "clusterQueue": "testCq",
            "otherClusterQueues": "[]any{otherCq}",
            "cohorts": cohorts,
            "resourceFlavors": "resourceFlavors",
            "usage": _usage(
                ("testCq.Name", "tc.testClusterQueueUsage"), ("otherCq.Name", "tc.otherClusterQueueUsage")
            ),
            "preemptionOracle": "tc.simulationResult",
        },
        expect={"representativeMode": "tc.wantMode", "flavors": "tc.wantAssigment"},
        convert=_assigned,
    )


PLACES = (
    Place(
        FILE,
        "TestAssignFlavors",
        gates="tc.featureGates",
        config={"fairSharing": "tc.enableFairSharing"},
        input={
            "workload": "wlInfo.Obj",
            "clusterQueue": "tc.clusterQueue",
            "otherClusterQueues": "[]any{tc.secondaryClusterQueue}",
            "resourceFlavors": "resourceFlavors",
            "topologies": "tc.topologies",
            "usage": (
                "func() any { usage := " + _usage(("tc.clusterQueue.Name", "tc.clusterQueueUsage")) + "; "
                "if tc.secondaryClusterQueue != nil { "
                "usage[tc.secondaryClusterQueue.Name] = tc.secondaryClusterQueueUsage }; return usage }()"
            ),
            "preemptionOracle": "tc.simulationResult",
            "replacedWorkloadSlice": "tc.preemptWorkloadSlice",
        },
        expect={"representativeMode": "tc.wantRepMode", "assignment": "tc.wantAssignment"},
        convert=_assigned,
    ),
    Place(
        FILE,
        "TestDeletedFlavors",
        input={
            "workload": "wlInfo.Obj",
            "clusterQueue": "tc.clusterQueue",
            "resourceFlavors": "flavorMap",
        },
        expect={"representativeMode": "tc.wantRepMode", "assignment": "tc.wantAssignment"},
        convert=_assigned,
    ),
    Place(
        FILE,
        "TestAssignFlavorsWithAllowedFlavors",
        input={"workload": "wl", "clusterQueue": "cq", "resourceFlavors": "resourceFlavors"},
        expect={"representativeMode": "tc.wantRepMode", "flavor": "tc.wantFlavor"},
        convert=_assigned,
    ),
    _two_queues("TestReclaimBeforePriorityPreemption", "nil"),
    _two_queues("TestHierarchical", "cohorts"),
    Place(
        FILE,
        "TestIsNoFitDueToCapacityAndLimits",
        gates="tc.featureGates",
        input={
            "workload": "wl",
            "clusterQueue": "testCQ",
            "otherClusterQueues": "tc.siblingCQs",
            "resourceFlavors": "testFlavors",
            "topologies": "tc.topologies",
            "usage": (
                "func() any { usage := " + _usage(("testCQ.Name", "tc.cqUsage")) + "; "
                "for name, used := range tc.siblingCQUsage { usage[string(name)] = used }; return usage }()"
            ),
            "preemptionOracle": "tc.simulationResult",
            "replacedWorkloadSlice": "tc.replaceWl",
        },
        expect={"noFitReason": "tc.wantNoFitReason", "flavorNoFitReasons": "tc.wantFlavorAttempts"},
        convert=_assigned,
    ),
    Place(
        FILE,
        "TestIsPreferred",
        input={"a": "tc.a", "b": "tc.b", "flavorFungibility": "tc.config"},
        expect={"aPreferredOverB": "tc.wantPreferred"},
        convert=_grades,
    ),
    Place(
        f"{FOLDER}/podset_reducer_test.go",
        "TestSearch",
        input={"podSets": "tc.podSets", "totalCountLimit": "tc.countLimit"},
        expect={"found": "tc.wantFound", "totalCount": "tc.wantCount"},
    ),
)
