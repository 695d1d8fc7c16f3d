"""Whole cycles with nodes and topologies: placements, and replacements after node failures."""

from collections.abc import Iterable, Iterator
from typing import Any

from muster import admission as core
from muster.admission.cycle.entry import Entry, EntryOutcome
from tests.conformance.board import Board, neutral, neutral_of
from tests.conformance.case import Case, Data, NotApplicable, Replay
from tests.conformance.rules import rules_of
from tests.conformance.suites.cycle import all_ready, compare, compare_summary, unordered

Event = tuple[str, str, str]
"""Object, type and reason."""


def schedule(case: Case) -> None:
    if case.config.get("resourceTransformations"):
        raise NotApplicable("resources are not transformed for the quota")
    board = Board(case, rules_of(case))
    heads = board.cycle()
    expected = case.expect
    compare("admissions", admissions(board, case.input), expected_admissions(expected["admissions"]))
    active, parked = board.pending_and_parked()
    compare("pending", unordered(active), unordered(expected["pending"]))
    compare("inadmissible", unordered(parked), unordered(expected["inadmissible"]))
    compare("events", sorted(events(heads, case)), sorted(map(_event, expected["eventsObservabilityOff"])))
    if "summary" in expected:
        compare_summary(board, heads, expected["summary"])


def admissions(board: Board, data: Data) -> Data:
    """Returns admissions of workloads that were not admitted before, or have lost a node."""
    settled = {
        f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
        for obj in data["workloads"]
        if not obj.get("status", {}).get("unhealthyNodes")
        and any(
            condition["type"] == "Admitted" and condition["status"] == "True"
            for condition in obj.get("status", {}).get("conditions", ())
        )
    }
    return {
        key: with_places(core.Admission(of.node.name, tuple(of.pod_sets)))
        for key, of in sorted(board.held().items())
        if key not in settled
    }


def with_places(holding: core.Admission) -> Data:
    placed: dict[str, Any] = dict(neutral(holding))
    placed["places"] = {
        of.name: [(domain.values, domain.count) for domain in of.topology.domains] if of.topology else None
        for of in holding.pod_sets
    }
    placed["levels"] = {of.name: of.topology.levels for of in holding.pod_sets if of.topology}
    placed["delayed"] = {
        of.name: "Ready" if of.topology else "Pending" for of in holding.pod_sets if of.topology_delayed
    }
    return placed


def expected_admissions(expected: Data | None) -> Data:
    return {key: _expected_places(of) for key, of in sorted((expected or {}).items())}


def _expected_places(of: Data) -> Data:
    placed: dict[str, Any] = dict(neutral_of(of))
    assigned = {pod_set["name"]: pod_set.get("topologyAssignment") for pod_set in of["podSets"]}
    placed["places"] = {
        name: [(tuple(pod_set["values"]), pod_set["count"]) for pod_set in at["domains"]] if at else None
        for name, at in assigned.items()
    }
    placed["levels"] = {name: tuple(at["levels"]) for name, at in assigned.items() if at}
    states = {pod_set["name"]: pod_set.get("delayedTopologyRequest") for pod_set in of["podSets"]}
    placed["delayed"] = {name: state for name, state in states.items() if state}
    return placed


def _event(data: Data) -> Event:
    return data["object"], data["type"], data["reason"]


def events(heads: Iterable[Entry], case: Case) -> Iterator[Event]:
    """Yields Kueue's events of such a cycle."""
    for head in heads:
        key = head.workload.key
        again = head.workload.admission is not None
        if head.outcome is EntryOutcome.ADMITTED:
            if not again:
                yield key, "Normal", "QuotaReserved"
            if not head.workload.unhealthy_nodes and _is_admitted(head):
                yield key, "Normal", "Admitted"
            continue
        if head.outcome is EntryOutcome.PREEMPTING:
            for target in head.targets:
                if target.holding.workload.evicted:
                    continue  # it has had its events
                yield target.holding.workload.key, "Normal", "EvictedDueToPreempted"
                yield target.holding.workload.key, "Normal", "Preempted"
                yield key, "Normal", "PreemptedWorkload"
        if head.outcome is EntryOutcome.NOT_REPLACED and "statusPatchError" not in case.config:
            yield key, "Normal", "EvictedDueToNodeFailures"
        elif (
            head.outcome is not EntryOutcome.NOT_REPLACED
            or "not found" not in case.config["statusPatchError"]
        ):
            yield key, "Warning", "SecondPassFailed" if again else "Pending"


def _is_admitted(head: Entry) -> bool:
    assert head.admission is not None
    unplaced = any(of.topology_delayed and of.topology is None for of in head.admission.pod_sets)
    return all_ready(head) and not unplaced


SUITES: dict[str, Replay] = {
    "TestScheduleForTAS": schedule,
    "TestScheduleForTASPreemption": schedule,
    "TestScheduleForTASCohorts": schedule,
}
