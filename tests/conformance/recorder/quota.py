"""Quota trees and fair shares: the places of their tests."""

from tests.conformance.recorder import neutral
from tests.conformance.recorder.place import Parts, Place

FOLDER = "pkg/cache/scheduler"


def _flavors(*names: str) -> str:
    return "[]any{" + ", ".join(f'utiltestingapi.MakeResourceFlavor("{name}").Obj()' for name in names) + "}"


def _shares(parts: Parts) -> Parts:
    parts["input"]["clusterQueues"] = neutral.present(parts["input"]["clusterQueues"])
    parts["expect"]["shares"] = [
        {
            "node": share["name"],
            "nodeType": "Cohort" if share["nodeType"] else "ClusterQueue",
            "weightedShare": share["drValue"],
            "dominantResource": share["drName"],
            "borrowing": share["borrowing"],
        }
        for share in parts["expect"]["shares"]
    ]
    return parts


PLACES = (
    Place(
        f"{FOLDER}/resource_test.go",
        "TestAvailable",
        input={
            "clusterQueues": "tc.clusterQueues",
            "cohorts": "tc.cohorts",
            "resourceFlavors": _flavors("red", "blue"),
            "usage": "tc.usage",
        },
        expect={"available": "tc.wantAvailable", "potentiallyAvailable": "tc.wantPotentiallyAvailable"},
    ),
    Place(
        f"{FOLDER}/fair_sharing_test.go",
        "TestDominantResourceShare",
        now="now",
        config={"fairSharing": "true"},
        input={
            "clusterQueues": "[]any{tc.clusterQueue, tc.lendingClusterQueue}",
            "cohorts": "tc.cohorts",
            "resourceFlavors": _flavors("default", "on-demand", "spot"),
            "usage": 'map[string]any{"cq": tc.usage}',
            "extraRequest": "tc.flvResQ",
        },
        expect={"shares": "tc.want"},
        convert=_shares,
    ),
    Place(
        f"{FOLDER}/fair_sharing_test.go",
        "TestIsBorrowingOn",
        now="now",
        config={"fairSharing": "true"},
        input={
            "clusterQueues": "[]any{cq, lendingCQ}",
            "resourceFlavors": _flavors("default"),
            "usage": 'map[string]any{"cq": tc.usage}',
            "requested": "tc.requestedFRs",
        },
        expect={"borrowing": "tc.wantBorrowing", "borrowingOnRequested": "tc.wantBorrowingOnRequested"},
    ),
)
