"""Flavor assignment: which flavors a workload gets, in which mode, and why it does not get others."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from muster import admission as core
from muster.admission.flavors.assigner import FlavorAssigner
from muster.admission.flavors.assignment import Assignment, PodSetChoice
from muster.admission.flavors.attempts import FlavorAttempt, FlavorSearch, Obstacle, Shortage
from muster.admission.flavors.fungibility import Grade, Mode
from muster.admission.flavors.partial_admission import Counts, reduce_counts
from muster.admission.quantities import parse
from muster.admission.state.state import WorkingState
from muster.objects import kueue, kueue_queues
from muster.objects.topology import Topology
from muster.translation import core_pod_set, core_workload
from muster.translation.core_nodes import topology
from tests.conformance.case import Case, Data, Replay
from tests.conformance.objects import by_name, snapshot_of, usage, view, views
from tests.conformance.rules import rules_of

MODES = {Mode.NO_FIT: "NoFit", Mode.FIT: "Fit"}  # all other modes: Preempt
POSSIBILITIES = {"NoCandidates": Mode.NO_CANDIDATES, "Preempt": Mode.PREEMPT, "Reclaim": Mode.RECLAIM}
REASONS = {
    None: "",
    Obstacle.TOPOLOGY: "TopologyPlacementFailed",
    Obstacle.QUOTA: "WaitingForQuota",
    Obstacle.CAPACITY: "ExceedsMaxQuota",
    Obstacle.MISMATCH: "NoMatchingFlavor",
}
AMOUNTS = re.compile(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), previously considered podsets "
    r"requests \((?P<earlier>\S+)\) \+ current podset request \((?P<request>\S+)\) > maximum capacity "
    r"\((?P<capacity>\S+)\)"
    r"|insufficient unused quota for (?P<short>\S+) in flavor (?P<of>\S+), (?P<missing>\S+) more needed"
)
MISMATCH = re.compile(
    r"untolerated taint .* in flavor (\S+)|flavor (\S+) doesn't match node affinity"
    r"|could not assign (\S+) flavor since the original workload is assigned: .*|flavor (\S+) not found"
    r"|skipping flavor (\S+) .*|Flavor \"(\S+)\" .*"
)
UNPROVIDED = re.compile(r"flavor (\S+) does not provide resource (\S+)")
UNCOVERED = re.compile(r"resource (\S+) unavailable in ClusterQueue")

Groups = Sequence[tuple[AbstractSet[str], AbstractSet[str]]]
"""Flavors and resources of each resource group."""
Reason = tuple[str | int, ...]
"""The kind of a reason, and the names and amounts in it."""


def assigned(case: Case) -> Assignment:
    """Returns the assignment of the case's workload in the case's queue."""
    rules = rules_of(case)
    topologies = by_name(views(case.input.get("topologies"), Topology))
    snapshot = snapshot_of(
        case.input,
        rules,
        ("clusterQueue", "otherClusterQueues"),
        topologies={name: topology(of) for name, of in topologies.items()},
    )
    state = WorkingState(snapshot, rules)
    for name, used in case.input.get("usage", {}).items():
        state.tree.queues[name].add(usage(used))
    queue = state.queue(case.input["clusterQueue"]["metadata"]["name"])
    obj = view(case.input["workload"], kueue.Workload)
    return FlavorAssigner(
        state.flavors[queue.name],
        state.tree.queues[queue.name],
        core_workload.workload(obj, obj.status, queue.name, rules),
        _oracle(case.input.get("preemptionOracle") or ()),
        replaced=_replaced((case.input.get("replacedWorkloadSlice") or {}).get("podSets") or ()),
    ).assign()


def _oracle(values: Iterable[Data]) -> Any:
    answers = {
        core.FlavorResource(of["flavor"], of["resource"]): Grade(
            POSSIBILITIES[of["possibility"]], of["borrowingAfter"]
        )
        for of in values
    }
    return lambda fr, _: answers.get(fr, Grade(Mode.PREEMPT, 0))


def _replaced(pod_sets: Iterable[Data]) -> tuple[core.PodSetAssignment, ...]:
    return tuple(
        core.PodSetAssignment(
            of["name"], of["count"], of["flavors"], {r: parse(r, q) for r, q in of["totalRequests"].items()}
        )
        for of in pod_sets
    )


def _assign_flavors(case: Case) -> None:
    assignment = assigned(case)
    mode = MODES.get(assignment.mode, "Preempt")
    assert mode == case.expect["representativeMode"], f"mode {mode}"
    expected = case.expect["assignment"]
    assert len(assignment.pod_sets) == len(expected["podSets"]), (
        f"{len(assignment.pod_sets)} pod sets are assigned"
    )
    for choice, expectation in zip(assignment.pod_sets, expected["podSets"], strict=True):
        _compare(choice, expectation, _groups(case))
    assert assignment.borrowing == expected["borrowing"], f"borrows at level {assignment.borrowing}"
    assert assignment.usage == usage(expected["usage"]), f"uses {assignment.usage}"
    if not any("error" in expectation for expectation in expected["podSets"]):
        reason = REASONS[assignment.obstacle]
        assert reason == expected.get("noFitReason", ""), f"does not fit because of {reason}"


def _groups(case: Case) -> Groups:
    return [
        ({flavor["name"] for flavor in group["flavors"]}, set(group["coveredResources"]))
        for group in case.input["clusterQueue"]["spec"].get("resourceGroups") or ()
    ]


def _compare(choice: PodSetChoice, expected: Data, groups: Groups) -> None:
    chosen = {
        resource: {"name": flavor, "mode": MODES.get(choice.grades[resource].mode, "Preempt")}
        | ({"triedFlavorIdx": choice.tried[resource]} if choice.tried[resource] else {})
        for resource, flavor in choice.flavors.items()
    }
    requests = {
        resource: parse(resource, amount) for resource, amount in expected.get("requests", {}).items()
    }
    assert chosen == expected["flavors"], f"{choice.name}: flavors {chosen}"
    assert choice.count == expected["count"], f"{choice.name}: {choice.count} pods"
    assert choice.requests == requests, f"{choice.name}: requests {choice.requests}"
    if "error" in expected:
        assert choice.misplaced, f"{choice.name}: nothing is wrong"
        return
    reasons = _reasons(choice)
    assert reasons == _read(expected.get("reasons")), f"{choice.name}: reasons {reasons}"
    if "flavorAttempts" in expected:
        compare_attempts(choice, expected["flavorAttempts"], groups)


def compare_attempts(choice: PodSetChoice, expectation: Iterable[Data], groups: Groups) -> None:
    """Compares attempts. A case may list flavors after the fitting one, and one that was not tried for all
    resources."""
    expected = {of["flavor"]: {**of, "reasons": _read(of.get("reasons"))} for of in expectation}
    attempts = attempts_of(choice, groups)
    fitting = {flavor for flavor, of in attempts.items() if of["mode"] == "Fit"}
    if fitting:
        expected = {flavor: of for flavor, of in expected.items() if flavor in attempts}
        for flavor in fitting & expected.keys():
            if {reason[0] for reason in expected[flavor]["reasons"]} == {"unprovided"}:
                expected[flavor] = attempts[flavor]
    assert attempts == expected, f"{choice.name}: attempts {attempts}"


def _reasons(choice: PodSetChoice) -> set[Reason]:
    """Returns reasons of the failed search, or of all searches without a fit."""
    searches = [search for search in choice.searches if search.best is None] or [
        search for search in choice.searches if search.best and search.best.grade.mode is not Mode.FIT
    ]
    return {reason for search in searches for reason in _speaking_against(search)}


def _speaking_against(search: FlavorSearch) -> set[Reason]:
    if not search.covered:
        return {("uncovered", search.resource)}
    return {reason for attempt in search.attempts for reason in _of_attempt(attempt)}


def _of_attempt(attempt: FlavorAttempt) -> set[Reason]:
    mismatch: set[Reason] = {("mismatch", attempt.flavor)} if attempt.mismatch else set()
    return mismatch | {_of_shortage(shortage) for shortage in attempt.shortages}


def _of_shortage(shortage: Shortage) -> Reason:
    flavor, resource = shortage.flavor_resource
    if shortage.obstacle is Obstacle.CAPACITY:
        request = shortage.needed - shortage.earlier
        return "capacity", flavor, resource, shortage.earlier, request, shortage.headroom
    return "unused", flavor, resource, shortage.needed - shortage.headroom


def _read(texts: Iterable[str] | None) -> set[Reason]:
    """Parses Kueue's messages."""
    return {_reason(text) for text in texts or ()}


def _reason(text: str) -> Reason:
    if match := AMOUNTS.fullmatch(text):
        resource, flavor = match["resource"] or match["short"], match["flavor"] or match["of"]
        if match["short"]:
            return "unused", flavor, resource, parse(resource, match["missing"])
        amounts = (parse(resource, match[name]) for name in ("earlier", "request", "capacity"))
        return "capacity", flavor, resource, *amounts
    if match := MISMATCH.fullmatch(text):
        return "mismatch", next(name for name in match.groups() if name)
    if match := UNPROVIDED.fullmatch(text):
        return "unprovided", match[1], match[2]
    match = UNCOVERED.fullmatch(text)
    assert match, f"unknown reason: {text}"
    return "uncovered", match[1]


def attempts_of(choice: PodSetChoice, groups: Groups) -> dict[str, dict[str, Any]]:
    """Returns attempts by flavor, merged over resource groups as Kueue records them: without flavors that the
    annotation excludes; a flavor that was tried for an earlier resource, but not for a later one of a group
    that also has it, does not provide the later one (mergeFlavorAttemptsForResource)."""
    merged: dict[str, list[FlavorAttempt]] = {}
    unprovided: dict[str, set[Reason]] = {}
    for search in choice.searches:
        tried = {attempt.flavor: attempt for attempt in search.attempts if not attempt.excluded}
        for flavor, attempt in tried.items():
            merged.setdefault(flavor, []).append(attempt)
        flavors = next((names for names, covered in groups if search.resource in covered), set())
        for flavor in (merged.keys() & flavors) - tried.keys() if tried else ():
            unprovided.setdefault(flavor, set()).add(("unprovided", flavor, search.resource))
    attempts = {flavor: _attempt(flavor, of) for flavor, of in merged.items()}
    for flavor, reasons in unprovided.items():
        reasons |= attempts[flavor]["reasons"]
        attempts[flavor] |= {"mode": "NoFit", "reasons": reasons, "noFitReason": REASONS[Obstacle.MISMATCH]}
    if choice.misplaced and choice.mode is Mode.NO_FIT:
        for flavor in choice.flavors.values():
            attempts[flavor] |= {"mode": "NoFit", "noFitReason": REASONS[Obstacle.TOPOLOGY]}
    return attempts


def _attempt(flavor: str, attempts: list[FlavorAttempt]) -> dict[str, Any]:
    worst = min(attempt.grade.mode for attempt in attempts)
    obstacle = max((of for attempt in attempts if (of := attempt.obstacle)), default=None)
    possibility = {mode: name for name, mode in POSSIBILITIES.items()}.get(worst)
    return {
        "flavor": flavor,
        "mode": MODES.get(worst, "Preempt"),
        "borrow": max(attempt.borrowing for attempt in attempts),
        "reasons": {reason for attempt in attempts for reason in _of_attempt(attempt)},
        **({"preemptionPossibility": possibility} if possibility else {}),
        **({"noFitReason": REASONS[obstacle]} if obstacle else {}),
    }


def _allowed(case: Case) -> None:
    assignment = assigned(case)
    mode = MODES.get(assignment.mode, "Preempt")
    assert mode == case.expect["representativeMode"], f"mode {mode}"
    flavors = set(assignment.pod_sets[0].flavors.values())
    assert flavors == ({case.expect["flavor"]} - {""}), f"flavors {flavors}"


def _flavors_only(case: Case) -> None:
    assignment = assigned(case)
    mode = MODES.get(assignment.mode, "Preempt")
    assert mode == case.expect["representativeMode"], f"mode {mode}"
    flavors = dict(assignment.pod_sets[0].flavors)
    assert flavors == case.expect["flavors"], f"flavors {flavors}"


def _no_fit(case: Case) -> None:
    assignment = assigned(case)
    reason = REASONS[assignment.obstacle]
    assert reason == case.expect["noFitReason"], f"does not fit because of {reason}"
    groups = _groups(case)
    attempts = {
        name: of for choice in assignment.pod_sets for name, of in attempts_of(choice, groups).items()
    }
    for flavor, expected in (case.expect.get("flavorNoFitReasons") or {}).items():
        if flavor in attempts:
            reason = attempts[flavor].get("noFitReason", "")
            assert reason == expected, f"{flavor} is refused because of {reason}"


def _is_preferred(case: Case) -> None:
    fungibility = view(case.input["flavorFungibility"], kueue_queues.FlavorFungibility)
    preference = core.FungibilityPreference(fungibility.preference) if fungibility.preference else None
    a, b = (_grade(case.input[name]) for name in ("a", "b"))
    answer = a.preferred_to(b, preference)
    assert answer == case.expect["aPreferredOverB"], f"answers {answer}"


def _grade(values: Data) -> Grade:
    named = {mode.name.replace("_", "").lower(): mode for mode in Mode} | {
        "nopreemptioncandidates": Mode.NO_CANDIDATES
    }
    return Grade(named[values["mode"].lower()], values["borrowingLevel"])


def _search(case: Case) -> None:
    pod_sets = [core_pod_set.pod_set(view(of, kueue.PodSet)) for of in case.input["podSets"]]
    limit = case.input["totalCountLimit"]

    def attempt(counts: Counts) -> int | None:
        return sum(counts) if sum(counts) <= limit else None

    total = reduce_counts(pod_sets, attempt)
    assert (total is not None) == case.expect["found"], f"finds {total}"
    assert (total or 0) == case.expect["totalCount"], f"finds {total}"


SUITES: Mapping[str, Replay] = {
    "TestAssignFlavors": _assign_flavors,
    "TestDeletedFlavors": _assign_flavors,
    "TestAssignFlavorsWithAllowedFlavors": _allowed,
    "TestReclaimBeforePriorityPreemption": _flavors_only,
    "TestHierarchical": _flavors_only,
    "TestIsNoFitDueToCapacityAndLimits": _no_fit,
    "TestIsPreferred": _is_preferred,
    "TestSearch": _search,
}
