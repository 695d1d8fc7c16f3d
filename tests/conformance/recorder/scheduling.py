"""Whole cycles of Kueue's scheduler, without and with topologies: the places of their tests."""

from tests.conformance.recorder import neutral
from tests.conformance.recorder.place import Parts, Place

FOLDER = "pkg/scheduler"
RESULTS = {"pending": "tc.wantLeft", "inadmissible": "tc.wantInadmissibleLeft"}
TAS_INPUT = {
    key: f"tc.{key}"
    for key in ("workloads", "clusterQueues", "resourceFlavors", "topologies", "nodes", "pods")
}


def _cycle(parts: Parts) -> Parts:
    """Completes a case of one cycle: admissions, the summary, events."""
    inputs, expect = parts["input"], parts["expect"]
    before = {neutral.key_of(workload): workload for workload in inputs["workloads"]}
    expect["admissions"] = {
        key: {**neutral.admission(of), "new": not neutral.is_true(before.get(key, {}), "QuotaReserved")}
        for key, of in (expect["admissions"] or {}).items()
    }
    for key in ("pending", "inadmissible"):
        expect[key] = {queue: keys for queue, keys in (expect[key] or {}).items() if keys}
    if "workloads" in expect:
        expect["summary"] = neutral.summary(inputs["workloads"], expect["workloads"])
    if "eventsObservabilityOff" in expect:
        expect["eventsObservabilityOff"] = list(map(neutral.event, expect["eventsObservabilityOff"] or ()))
    parts["config"]["cycles"] = 1
    return parts


def _two_cycles(parts: Parts) -> Parts:
    inputs, expect = parts["input"], parts["expect"]
    inputs["deleteWorkloadsBetweenCycles"] = [
        f"{key['namespace']}/{key['name']}" for key in inputs["deleteWorkloadsBetweenCycles"] or ()
    ]
    after = expect.pop("workloads")
    expect["summaryAfterFirstCycle"] = neutral.summary(inputs["workloads"], after)
    expect["admissionsAfterSecondCycle"] = {
        key: neutral.admission(of) for key, of in expect["admissionsAfterSecondCycle"].items()
    }
    parts["config"]["cycles"] = 2
    return parts


def _fair_admission(parts: Parts) -> Parts:
    parts["input"]["localQueueConsumedResources"] = parts["input"]["localQueueConsumedResources"] or {}
    parts["expect"]["summary"] = neutral.summary(parts["input"]["workloads"], parts["expect"]["workloads"])
    return parts


def _entries(parts: Parts) -> Parts:
    parts["input"]["entries"] = [
        {
            "workload": entry["head"]["info"]["obj"],
            "isPreemptor": entry["head"]["isPreemptor"],
            "borrowing": entry["assignment"]["borrowing"],
        }
        for entry in parts["input"]["entries"]
    ]
    return parts


def _compared_entries(parts: Parts) -> Parts:
    for side in "ab":
        entry = parts["input"][side]
        parts["input"][side] = {
            "workload": entry["entry"]["head"]["info"]["obj"],
            "isPreemptor": entry["entry"]["head"]["isPreemptor"],
            "requested": entry["requested"] or [],
            "weightedShare": entry["weightedShare"],
            "subtreeBorrowing": entry["subtreeBorrowing"],
            "subtreeBorrowingOnRequested": entry["subtreeBorrowingOnRequested"],
        }
    return parts


def _compared(side: str) -> str:
    """Returns Go's expression of one of two entries, with its share in the cohort."""
    share = f"drsValues[drsKey{{parentCohort: cohort, workloadKey: workload.Key(tc.{side}.Obj)}}]"
    requested = f"tc.requestedFRs[workload.Key(tc.{side}.Obj)]"
    return (
        f'map[string]any{{"entry": tc.{side}, "requested": {requested}, '
        f'"weightedShare": {share}.PreciseWeightedShareSerialized(), '
        f'"subtreeBorrowing": {share}.IsBorrowing(), '
        f'"subtreeBorrowingOnRequested": {share}.IsBorrowingOn({requested})}}'
    )


PLACES = (
    Place(
        f"{FOLDER}/scheduler_test.go",
        "runScheduleTestCases",
        suites=(
            "TestSchedule",
            "TestScheduleForFairSharing",
            "TestScheduleConcurrentAdmission",
            "TestScheduleRecomputePreemptionTargets",
        ),
        gates="tc.featureGates",
        now="cfg.fakeClock.Now()",
        config={"fairSharing": "tc.enableFairSharing", "statusPatchError": "tc.admissionError"},
        input={
            "workloads": "tc.workloads",
            "localQueues": "allQueues",
            "clusterQueues": "allClusterQueues",
            "cohorts": "tc.cohorts",
            "resourceFlavors": "cfg.resourceFlavors",
            "objects": "musterrecorder.Stored(cl, &corev1.NamespaceList{}, &corev1.LimitRangeList{})",
        },
        expect={
            **RESULTS,
            "admissions": "tc.wantAssignments",
            "workloads": "tc.wantWorkloads",
            "skippedPreemptions": "tc.wantSkippedPreemptions",
        },
        convert=_cycle,
    ),
    Place(
        f"{FOLDER}/scheduler_tas_test.go",
        "TestScheduleForTAS",
        gates="tc.featureGates",
        now="now",
        config={
            "resourceTransformations": "tc.resourceTransformations",
            "statusPatchError": "tc.patchStatusErr",
        },
        input={**TAS_INPUT, "localQueues": "queues", "admissionChecks": "tc.admissionChecks"},
        expect={
            **RESULTS,
            "admissions": "tc.wantNewAssignments",
            "eventsObservabilityOff": "wantEvents",
        },
        convert=_cycle,
    ),
    Place(
        f"{FOLDER}/scheduler_tas_test.go",
        "runTASScheduleTestCases",
        suites=("TestScheduleForTASPreemption", "TestScheduleForTASCohorts"),
        gates="tc.featureGates",
        now="cfg.now",
        input={**TAS_INPUT, "localQueues": "cfg.queues", "cohorts": "tc.cohorts"},
        expect={
            **RESULTS,
            "admissions": "tc.wantNewAssignments",
            "workloads": "tc.wantWorkloads",
            "eventsObservabilityOff": "wantEvents",
        },
        convert=_cycle,
    ),
    Place(
        f"{FOLDER}/scheduler_test.go",
        "TestLastSchedulingContext",
        name="tc.name",
        now="now",
        input={
            "workloads": "tc.workloads",
            "clusterQueues": "tc.cqs",
            "localQueues": "queues",
            "resourceFlavors": "resourceFlavors",
            "deleteWorkloadsBetweenCycles": "tc.deleteWorkloads",
        },
        expect={
            "workloads": "tc.wantWorkloads",
            "admissionsAfterSecondCycle": "tc.wantAdmissionsOnSecondSchedule",
        },
        convert=_two_cycles,
    ),
    Place(
        f"{FOLDER}/scheduler_preserve_flavor_scan_progress_test.go",
        "TestScheduleForPreserveFlavorScanProgress",
        now="now",
        config={
            "fairSharing": "true",
            "cycles": "preserveProgressCycles",
            "flipSecondFlavorQuotaEveryCycle": "!tc.noChurn",
        },
        input={
            "workloads": "[]any{blocker, pending}",
            "clusterQueues": "[]any{clusterQueue}",
            "localQueues": "queues",
            "resourceFlavors": "resourceFlavors",
            "topologies": "[]any{singleLevelTopology}",
            "nodes": "nodes",
        },
        expect={
            "assignedFlavor": 'map[string]any{"default/blocker": "tas-flavor-1", '
            '"default/pending": tc.wantPendingFlavor}'
        },
    ),
    Place(
        f"{FOLDER}/scheduler_afs_test.go",
        "TestScheduleForAFS",
        gates="tc.featureGates",
        now="now",
        config={
            "fairSharing": "preemptionFairSharing != nil",
            "admissionFairSharing": "afsConfig",
            "cycles": "len(tc.workloads)",
            "deletedLocalQueue": "tc.deleteQueue",
        },
        input={
            "workloads": "tc.workloads",
            "clusterQueues": "clusterQueues",
            "localQueues": "queues",
            "resourceFlavors": "resourceFlavors",
            "localQueueConsumedResources": "tc.initialUsage",
        },
        expect={"workloads": "tc.wantWorkloads"},
        convert=_fair_admission,
    ),
    Place(
        f"{FOLDER}/scheduler_test.go",
        "TestEntryOrdering",
        name="tc.name",
        gates="tc.featureGates",
        now="now",
        config={"podsReadyRequeuingTimestamp": "tc.workloadOrdering.PodsReadyRequeuingTimestamp"},
        input={"entries": "tc.input"},
        expect={"order": "tc.wantOrder"},
        before="iter := makeIterator(",  # which sorts them
        convert=_entries,
    ),
    Place(
        f"{FOLDER}/scheduler_test.go",
        "TestEntryComparerLess",
        name="tc.name",
        gates="tc.featureGates",
        now="now",
        input={"a": _compared("a"), "b": _compared("b")},
        expect={"aBeforeB": "tc.wantLess"},
        convert=_compared_entries,
    ),
)
