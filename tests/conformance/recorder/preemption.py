"""Preemption: the places of the tests of victims, their order, and the policies."""

from tests.conformance.recorder import neutral
from tests.conformance.recorder.place import Parts, Place

FOLDER = "pkg/scheduler/preemption"
TARGETS = (
    "func() []any { keys := []any{}; for _, target := range targets { keys = append(keys, "
    'map[string]any{"workload": workload.Key(target.WorkloadInfo.Obj), "reason": target.Reason}) }; '
    "return keys }()"
)
"""Go's expression of the chosen victims, without the snapshot that they point to."""
INPUT = {
    "workloads": "tc.admitted",
    "clusterQueues": "tc.clusterQueues",
    "cohorts": "tc.cohorts",
    "incoming": "tc.incoming",
    "targetClusterQueue": "tc.targetCQ",
}


def _classical(parts: Parts) -> Parts:
    parts["input"]["assignment"] = _flavors(parts["input"]["assignment"])
    parts["expect"]["summary"] = neutral.summary(parts["input"]["workloads"], parts["expect"]["workloads"])
    return _with_full_keys(parts)


def _flavors(assignment: Parts) -> Parts:
    """Returns the flavors and modes of an assignment, without the reasons."""
    return {
        "podSets": [
            {
                "name": pod_set["name"],
                "count": pod_set["count"],
                "flavors": {
                    resource: {"name": flavor["name"], "mode": flavor["mode"]}
                    for resource, flavor in (pod_set["flavors"] or {}).items()
                },
            }
            for pod_set in assignment["podSets"] or ()
        ]
    }


def _fair(parts: Parts) -> Parts:
    flavor = {"name": parts["input"].pop("flavor"), "mode": "Preempt"}
    pod_set = {"name": "main", "count": 1, "flavors": {"cpu": flavor}}
    parts["input"]["assignment"] = {"podSets": [pod_set]}
    return _with_full_keys(parts)


def _with_full_keys(parts: Parts) -> Parts:
    """Adds the slash that Kueue's keys lack without a namespace."""
    for target in parts["expect"]["targets"]:
        namespace, _, name = target["workload"].rpartition("/")
        target["workload"] = f"{namespace}/{name}"
    return parts


def _candidates(parts: Parts) -> Parts:
    parts["input"]["candidates"] = [
        {
            "clusterQueue": candidate["clusterQueue"],
            "workload": candidate["obj"],
            **(
                {"localQueueFairShareUsage": candidate["localQueueFSUsage"]}
                if candidate.get("localQueueFSUsage") is not None
                else {}
            ),
        }
        for candidate in parts["input"]["candidates"]
    ]
    return parts


def _classical_place(file: str, function: str) -> Place:
    return Place(
        f"{FOLDER}/{file}",
        function,
        now="now",
        config={"fairSharing": "false"},
        input={**INPUT, "assignment": "tc.assignment", "resourceFlavors": "flavors"},
        expect={"preemptedCount": "tc.wantPreempted", "workloads": "tc.wantWorkloads", "targets": TARGETS},
        convert=_classical,
    )


PLACES = (
    _classical_place("preemption_test.go", "TestPreemption"),
    _classical_place("preemption_hierarchical_test.go", "TestHierarchicalPreemptions"),
    Place(
        f"{FOLDER}/preemption_fair_test.go",
        "TestFairPreemptions",
        now="now",
        config={"fairSharing": "true", "fairSharingPreemptionStrategies": "tc.strategies"},
        input={**INPUT, "flavor": "flavorName", "resourceFlavors": "flvs"},
        expect={"targets": TARGETS},
        convert=_fair,
    ),
    Place(
        f"{FOLDER}/preemption_test.go",
        "TestCandidatesOrdering",
        gates="tc.featureGates",
        now="now",
        config={"admissionFairSharing": "tc.featureGates[features.AdmissionFairSharing]"},
        input={"candidates": "tc.candidates", "preemptorClusterQueue": "preemptorCq"},
        expect={"order": "tc.wantCandidates"},
        before="\t\tslices.SortFunc(tc.candidates",
        changes={"for _, tc := range cases {": "for name, tc := range cases {"},
        convert=_candidates,
    ),
    Place(
        f"{FOLDER}/common/preemption_policy_test.go",
        "TestSatisfiesPreemptionPolicy",
        gates="tc.featureGates",
        now="now",
        input={"preemptor": "tc.preemptor", "candidate": "tc.candidate", "policy": "tc.policy"},
        expect={"satisfies": "tc.want"},
    ),
    Place(
        f"{FOLDER}/fairsharing/ordering_test.go",
        "TestMakeClusterQueueOrdering",
        now="now",
        config={"fairSharing": "true"},
        input={
            "workloads": "tc.admitted",
            "clusterQueues": "tc.clusterQueues",
            "cohorts": "tc.cohorts",
            "resourceFlavors": '[]any{utiltestingapi.MakeResourceFlavor("default").Obj()}',
            "preemptorClusterQueue": "tc.preemptorCQ",
            "candidateClusterQueues": "tc.candidateCQs",
            "actions": "tc.actions",
        },
        expect={"order": "tc.wantOrder"},
    ),
)
