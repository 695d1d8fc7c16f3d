"""Queues of pending workloads: the places of their tests."""

from tests.conformance.recorder.place import Parts, Place

FILE = "pkg/cache/queue/cluster_queue_test.go"


def _requeued(parts: Parts) -> Parts:
    last = parts["input"].pop("lastAssignment", None)
    if last is not None:
        parts["input"]["lastTriedFlavorIdx"] = last["lastTriedFlavorIdx"]
    return parts


PLACES = (
    Place(
        FILE,
        "TestStrictFIFO",
        name="tt.name",
        now="t1",
        config={
            "queueingStrategy": "kueue.StrictFIFO",
            "podsReadyRequeuingTimestamp": "tt.workloadOrdering.PodsReadyRequeuingTimestamp",
        },
        input={"workloads": "[]any{tt.w1, tt.w2}"},
        expect={"head": "tt.expected"},
    ),
    Place(
        FILE,
        "TestFsAdmission",
        config={
            "admissionFairSharing": "tc.afsConfig",
            "podsReadyRequeuingTimestamp": "defaultOrdering.PodsReadyRequeuingTimestamp",
        },
        input={
            "clusterQueue": "tc.cq",
            "localQueues": "tc.lqs",
            "workloads": "tc.wls",
            "localQueueConsumedResources": "tc.initConsumedResources",
        },
        expect={"head": "tc.wantWl.Name"},
    ),
    Place(
        FILE,
        "TestStrictFIFORequeueIfNotPresent",
        name="string(reason)",
        config={"queueingStrategy": "kueue.StrictFIFO"},
        input={"requeueReason": "reason"},
        expect={"inadmissible": "test.wantInadmissible"},
    ),
    Place(
        FILE,
        "TestBestEffortFIFORequeueIfNotPresent",
        config={"queueingStrategy": "kueue.BestEffortFIFO"},
        input={"requeueReason": "tc.reason", "lastAssignment": "tc.lastAssignment"},
        expect={"inadmissible": "tc.wantInadmissible", "sticky": "tc.wantSticky"},
        convert=_requeued,
    ),
    Place(
        FILE,
        "TestBackoffWaitingTimeExpired",
        now="now",
        input={"workload": "tc.workloadInfo.Obj"},
        expect={"backoffExpired": "tc.want"},
    ),
)
