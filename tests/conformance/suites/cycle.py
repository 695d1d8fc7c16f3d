"""Whole cycles: which workloads are admitted and with which flavors, preempted, or parked."""

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from itertools import cycle as cycle_through
from typing import Any

from muster import admission as core
from muster.admission.cycle.entry import Entry, EntryOutcome, cycle_order
from muster.admission.flavors.fungibility import Mode
from muster.admission.queueing.groups import queue_order
from muster.objects import kueue
from muster.translation import core_workload
from tests.conformance.board import Board, neutral, neutral_of, reason
from tests.conformance.case import Case, Data, NotApplicable, Replay
from tests.conformance.local_queues import LocalQueues
from tests.conformance.objects import view
from tests.conformance.rules import rules_of


def schedule(case: Case) -> None:
    board = Board(case, rules_of(case))
    heads = board.cycle()
    expected = case.expect
    compare("admissions", admissions(board), expected_admissions(expected["admissions"], heads))
    active, parked = board.pending_and_parked()
    compare("pending", unordered(active), unordered(expected["pending"]))
    compare("inadmissible", unordered(parked), unordered(expected["inadmissible"]))
    written = [] if case.config.get("statusPatchError") else heads
    compare_summary(board, written, expected["summary"])
    if "skippedPreemptions" in expected:
        reported = {queue: count for queue, count in expected["skippedPreemptions"].items() if count}
        compare("skipped preemptions", skipped_preemptions(heads), reported)


def admissions(board: Board) -> Data:
    """Returns all reserved admissions by workload."""
    return {
        key: neutral(core.Admission(of.node.name, tuple(of.pod_sets)))
        for key, of in sorted(board.held().items())
    }


def expected_admissions(expected: Mapping[str, Any] | None, heads: Iterable[Entry]) -> Data:
    """Returns expected admissions without replaced slices, which Kueue's cache keeps until they finish."""
    replaced = {head.replaced.workload.key for head in heads if head.replaced and head.admission}
    return {key: neutral_of(of) for key, of in sorted((expected or {}).items()) if key not in replaced}


def compare_summary(board: Board, heads: Iterable[Entry], expected: Data) -> None:
    """Compares what the heads' cycles wrote; of several entries of a head, the last counts."""
    last = {head.workload.key: head for head in heads}
    reserved = {key: head for key, head in last.items() if head.outcome is EntryOutcome.ADMITTED}
    expectation = expected["newlyQuotaReserved"]
    compare("newly reserved", sorted(reserved), sorted(expectation))
    admitted = {key: all_ready(head) for key, head in reserved.items()}
    compare("admitted", admitted, {key: of["admitted"] for key, of in expectation.items()})
    compare("preempted", board.preempted, {(of["workload"], of["reason"]) for of in expected["preempted"]})
    compare("evicted", {key for key, _ in board.preempted}, {of["workload"] for of in expected["evicted"]})
    waiting = {key: reason(head) for key, head in last.items() if key not in reserved}
    compare("waiting", waiting, {key: of["reason"] for key, of in expected["quotaReservedFalse"].items()})


def all_ready(head: Entry) -> bool:
    """Returns whether it is admitted immediately: all checks that its queue requires of its flavors, and all
    of its checks, are ready."""
    assert head.admission is not None
    used = {flavor for of in head.admission.pod_sets for flavor in of.flavors.values()}
    asked = (check.name for check in head.queue.checks if not check.flavors or check.flavors & used)
    states = [head.workload.checks.get(name) for name in asked]
    return all(state is core.CheckState.READY for state in (*states, *head.workload.checks.values()))


def skipped_preemptions(heads: Iterable[Entry]) -> Mapping[str, int]:
    """Returns the number of heads by queue whose preemption was skipped."""
    return Counter(
        head.queue.name
        for head in heads
        if head.outcome is EntryOutcome.OVERLAPPING
        or (head.outcome is EntryOutcome.CROWDED_OUT and head.assignment.mode is not Mode.FIT)
    )


def unordered(by_queue: Data) -> Data:
    return {queue: sorted(keys) for queue, keys in sorted(by_queue.items())}


def compare(what: str, result: object, expected: object) -> None:
    assert result == expected, f"{what}: {result}\n  expected {expected}"


def entry_ordering(case: Case) -> None:
    rules = replace(
        rules_of(case),
        requeue_behind_others=case.config.get("podsReadyRequeuingTimestamp") != "Creation",
    )
    # Without the last two keys, which only break ties; Kueue has no order for these.
    ranks = {
        entry["workload"]["metadata"]["name"]: cycle_order(
            rules,
            queue_order(gang := _gang(entry["workload"], rules)),
            gang.admission is not None,
            entry["isPreemptor"],
            entry["borrowing"],
        )[:-2]
        for entry in case.input["entries"]
    }
    compare("order", sorted(ranks.values()), [ranks[name] for name in case.expect["order"]])


def _gang(data: Data, rules: core.Rules) -> core.Workload:
    obj = view(data, kueue.Workload)
    return core_workload.workload(obj, obj.status, "", rules)


def last_scheduling_context(case: Case) -> None:
    board = Board(case, rules_of(case))
    heads = board.cycle()
    compare_summary(board, heads, case.expect["summaryAfterFirstCycle"])
    board.finish(case.input.get("deleteWorkloadsBetweenCycles") or ())
    board.cycle()
    expected = expected_admissions(case.expect["admissionsAfterSecondCycle"], ())
    compare("admissions after the second cycle", admissions(board), expected)


def preserved_scan_progress(case: Case) -> None:
    """Changes the second flavor's quota after each cycle, which lets the queue retry its flavors."""
    board = Board(case, rules_of(case))
    quotas = cycle_through(("5", "4"))
    for _ in range(case.config["cycles"]):
        board.cycle()
        if case.config["flipSecondFlavorQuotaEveryCycle"]:
            board.requote(_with_second_quota(case.input, next(quotas)))
    held = {key: next(iter(of.pod_sets[0].flavors.values())) for key, of in board.held().items()}
    expected = case.expect["assignedFlavor"]
    compare("flavors", {key: held.get(key, "") for key in expected}, expected)


def _with_second_quota(data: Data, quota: str) -> Data:
    changed = deepcopy(data)
    for queue in changed["clusterQueues"]:
        queue["spec"]["resourceGroups"][0]["flavors"][1]["resources"][0]["nominalQuota"] = quota
    return changed


def admission_fair_sharing(case: Case) -> None:
    """Runs a cycle for each workload; those of the LocalQueue with less usage come first in their queue."""
    used = LocalQueues(case) if case.gate("AdmissionFairSharing", True) else None
    board = Board(case, rules_of(case), used.usage if used else None)
    heads = []
    for _ in range(case.config["cycles"]):
        turn = board.cycle()
        heads += turn
        if used is not None:
            used.penalize(
                head for head in turn if head.outcome is EntryOutcome.ADMITTED and head.queue.usage_based
            )
            board.reorder()
    summary = case.expect["summary"]
    tried = {*summary["newlyQuotaReserved"], *summary["quotaReservedFalse"]}
    # Kueue parks equal workloads of a queue together, Muster only those of a LocalQueue.
    compare_summary(board, (head for head in heads if head.workload.key in tried), summary)


def concurrent_admission(case: Case) -> None:
    raise NotApplicable("workloads have no variants that are admitted in place of each other")


SUITES: Mapping[str, Replay] = {
    "TestSchedule": schedule,
    "TestScheduleForFairSharing": schedule,
    "TestScheduleRecomputePreemptionTargets": schedule,
    "TestScheduleForAFS": admission_fair_sharing,
    "TestScheduleConcurrentAdmission": concurrent_admission,
    "TestEntryOrdering": entry_ordering,
    "TestLastSchedulingContext": last_scheduling_context,
    "TestScheduleForPreserveFlavorScanProgress": preserved_scan_progress,
}
