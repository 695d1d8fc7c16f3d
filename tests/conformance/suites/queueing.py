"""Queues: their heads, requeuing of heads, and backoff."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from muster import admission as core
from muster.admission import quantities
from muster.admission.flavors.attempts import ScanProgress
from muster.admission.queueing.pending import PendingQueue
from muster.admission.queueing.requeue import RequeueReason
from muster.admission.queueing.usage import weighted
from muster.admission.state.state import WorkingState
from muster.objects import kueue
from muster.translation import core_workload
from tests.conformance.case import Case, Data, Replay
from tests.conformance.objects import snapshot_of, view

QUEUE = "cq"


def _queue(case: Case, strategy: str) -> PendingQueue:
    """Returns the only queue of the case, without workloads."""
    spec = {"queueingStrategy": strategy, "namespaceSelector": {}}
    inputs = case.input.get("clusterQueue") or {"metadata": {"name": QUEUE}, "spec": spec}
    state = WorkingState(snapshot_of({"clusterQueues": [inputs]}, core.Rules()))
    name = inputs["metadata"]["name"]
    return PendingQueue(state.queue(name), state.tree.queues[name], _local_usage(case))


def _local_usage(case: Case) -> Mapping[str, Fraction] | None:
    sharing = case.config.get("admissionFairSharing")
    if sharing is None:
        return None
    weights = {r: quantities.exact(r, str(w)) for r, w in (sharing.get("resourceWeights") or {}).items()}
    local_queues = {
        q["metadata"]["namespace"] + "/" + q["metadata"]["name"]: q for q in case.input["localQueues"]
    }
    return {
        key: weighted(
            {r: quantities.parse(r, amount) for r, amount in consumed.items()},
            weights,
            _weight(local_queues.get(key, {})),
        )
        for key, consumed in (case.input.get("localQueueConsumedResources") or {}).items()
    }


def _weight(local_queue: Data) -> Fraction:
    return quantities.exact(
        "weight", ((local_queue.get("spec") or {}).get("fairSharing") or {}).get("weight", 1)
    )


def _workload(case: Case, data: Data) -> core.Workload:
    rules = core.Rules(requeue_behind_others=case.config.get("podsReadyRequeuingTimestamp") != "Creation")
    obj = view(data, kueue.Workload)
    return core_workload.workload(obj, obj.status, QUEUE, rules)


def _head(case: Case) -> None:
    queue = _queue(case, case.config.get("queueingStrategy", "BestEffortFIFO"))
    for data in case.input["workloads"]:
        queue.put(_workload(case, data))
    queue.open()
    head = queue.head()
    name = head and head.key.rpartition("/")[2]
    assert name == case.expect["head"], f"the head is {name}, expected {case.expect['head']}"


def _requeue(case: Case) -> None:
    """Requeues the head; then a more urgent workload arrives, which must not overtake a sticky head."""
    queue = _queue(case, case.config["queueingStrategy"])
    reason = RequeueReason(case.input["requeueReason"])
    tried = ScanProgress(tuple(case.input.get("lastTriedFlavorIdx") or ()))
    workload = core.Workload("ns/w", "w", QUEUE, 0, 0, (core.PodSet("main", 1, {}),))
    queue.put(workload)
    queue.open()
    inadmissible = queue.requeue_head(reason, tried.pending)
    assert inadmissible == case.expect["inadmissible"], f"inadmissible: {inadmissible}"
    if "sticky" in case.expect:
        queue.remove(workload)
        waiting = replace(workload, preempting=reason is RequeueReason.PENDING_PREEMPTION)
        queue.put(waiting)
        queue.put(replace(workload, key="ns/urgent", uid="urgent", priority=1))
        queue.open()
        sticky = queue.head() is waiting
        assert sticky == case.expect["sticky"], f"sticky: {sticky}"


def _backoff(case: Case) -> None:
    expired = not _workload(case, case.input["workload"]).is_backing_off(case.now_ms)
    assert expired == case.expect["backoffExpired"], f"expired: {expired}"


SUITES: Mapping[str, Replay] = {
    "TestStrictFIFO": _head,
    "TestFsAdmission": _head,
    "TestStrictFIFORequeueIfNotPresent": _requeue,
    "TestBestEffortFIFORequeueIfNotPresent": _requeue,
    "TestBackoffWaitingTimeExpired": _backoff,
}
