"""Placing pod sets on a topology: the places of its tests."""

from tests.conformance.recorder import neutral
from tests.conformance.recorder.place import Parts, Place

FILE = "pkg/cache/scheduler/tas_cache_test.go"
OPTIONAL = ("tolerations", "nodeSelector", "podSetGroupName")


def _placement(parts: Parts) -> Parts:
    inputs = parts["input"]
    inputs["topology"] = {"name": "default", "levels": inputs.pop("levels")}
    for key in ("priorOwnUsage", "priorFlavorUsage"):
        inputs[key] = [_usage(domain) for domain in inputs.get(key) or ()]
    tables = inputs["podSets"]
    inputs["podSets"] = list(map(_pod_set, tables))
    parts["expect"]["podSets"] = list(map(_answer, tables))
    return parts


def _usage(domain: Parts) -> Parts:
    requests = neutral.quantities(domain["singlePodRequests"])
    return {"values": domain["values"], "count": domain["count"], "singlePodRequests": requests}


def _pod_set(table: Parts) -> Parts:
    form = {"name": table["podSetName"], "count": table["count"]}
    form["singlePodRequests"] = neutral.quantities(table["requests"])
    form |= {key: table[key] for key in OPTIONAL if table.get(key)}
    if table.get("nodeAffinity"):
        form["affinity"] = {"nodeAffinity": table["nodeAffinity"]}
    if table.get("topologyRequest") is not None:
        form["topologyRequest"] = table["topologyRequest"]
    else:
        form["impliedTopologyRequest"] = True
    if table.get("previousAssignment"):
        form["previousAssignment"] = neutral.expanded(table["previousAssignment"])
    return form


def _answer(table: Parts) -> Parts:
    form = {"name": table["podSetName"]}
    if table["wantReason"]:
        form["failureReason"] = table["wantReason"]
    if table.get("wantAssignment"):
        form["topologyAssignment"] = table["wantAssignment"]
    return form


PLACES = (
    Place(
        FILE,
        "TestFindTopologyAssignments",
        gates="tc.featureGates",
        input={
            "nodes": "tc.nodes",
            "pods": "tc.pods",
            "levels": "tc.levels",
            "flavorNodeLabels": "tc.nodeLabels",
            "priorOwnUsage": "tc.priorOwnUsage",
            "priorFlavorUsage": "tc.priorFlavorUsage",
            "workload": "tc.workload",
            "podSets": "tc.podSets",
        },
        convert=_placement,
    ),
    Place(
        FILE,
        "TestFindTopologyAssignmentsMultiLayerReplacement",
        gates="tc.featureGates",
        input={
            "nodes": "tc.nodes",
            "pods": "tc.pods",
            "levels": "tcLevels",
            "priorFlavorUsage": "tc.priorFlavorUsage",
            "workload": "wl",
            "podSets": (
                '[]any{map[string]any{"podSetName": podSetName, "count": tc.count, '
                '"topologyRequest": tc.topologyRequest, "requests": flavorTASRequests[0].SinglePodRequests, '
                '"wantAssignment": tc.wantAssignment, "wantReason": tc.wantReason}}'
            ),
        },
        before="\t\t\tpsResult, ok := result[podSetName]",
        convert=_placement,
    ),
)
