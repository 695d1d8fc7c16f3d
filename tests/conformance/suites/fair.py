"""Quota trees and fair sharing: available quota, shares, preemption by shares, and the order of heads."""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from muster import admission as core
from muster.admission.cycle.tournament import Rank, rank
from muster.admission.preemption.fair import TargetQueues
from muster.admission.quota.share import DominantShare, Share, dominant_share
from muster.admission.quota.tree import QuotaNode
from muster.admission.state.state import WorkingState
from muster.objects import kueue
from muster.translation import core_workload
from tests.conformance.case import Case, Data, Replay
from tests.conformance.objects import UNLIMITED, Usage, snapshot_of, usage, view
from tests.conformance.rules import rules_of
from tests.conformance.suites.preemption import targets

_ELSEWHERE = core.FlavorResource("elsewhere", "cpu")


def fair_rules(case: Case) -> core.Rules:
    return rules_of(case, fair=True)


def _queues(case: Case) -> dict[str, QuotaNode]:
    """Returns the nodes of the case's queues, with the case's usage."""
    nodes = WorkingState(snapshot_of(case.input, fair_rules(case))).tree.queues
    for name, used in (case.input.get("usage") or {}).items():
        nodes[name].add(usage(used))
    return nodes


def _available(case: Case) -> None:
    nodes = _queues(case)
    _compare_amounts(nodes, case.expect["available"], QuotaNode.available)
    _compare_amounts(nodes, case.expect["potentiallyAvailable"], QuotaNode.potentially_available)
    for name, used in (case.input.get("usage") or {}).items():
        nodes[name].remove(usage(used))
    _compare_amounts(nodes, case.expect["potentiallyAvailable"], QuotaNode.available)


def _compare_amounts(
    nodes: Mapping[str, QuotaNode], expected: Data, of: Callable[[QuotaNode, core.FlavorResource], int]
) -> None:
    for name, amounts in expected.items():
        expectation = usage(amounts)
        actual = {fr: max(0, of(nodes[name], fr)) for fr in expectation}
        capped = {fr: min(amount, UNLIMITED) for fr, amount in actual.items()}
        assert capped == expectation, f"{of.__name__} to {name}: {actual}, expected {expectation}"


def _dominant_resource_share(case: Case) -> None:
    nodes = {("ClusterQueue", name): node for name, node in _queues(case).items()}
    for node in [ancestor for queue in nodes.values() for ancestor in queue.lineage[1:]]:
        nodes |= {("Cohort", cohort.name): cohort for cohort in _cohorts(node.root)}
    for node in nodes.values():
        for fr, amount in usage(case.input.get("extraRequest")).items():
            node.usage[fr] = node.usage.get(fr, 0) + amount
    for expected in case.expect["shares"]:
        share = dominant_share(nodes[expected["nodeType"], expected["node"]])
        weighted = UNLIMITED if share.share.weightless else math.ceil(share.share.value)
        answer = (weighted, share.resource, bool(share.borrowed))
        expectation = (expected["weightedShare"], expected["dominantResource"], expected["borrowing"])
        assert answer == expectation, f"{expected['node']}: {answer}, expected {expectation}"


def _cohorts(root: QuotaNode) -> Iterator[QuotaNode]:
    yield root
    for child in root.cohorts:
        yield from _cohorts(child)


def _is_borrowing_on(case: Case) -> None:
    share = dominant_share(_queues(case)["cq"])
    assert bool(share.borrowed) == case.expect["borrowing"]
    answer = share.borrows_any(usage(case.input.get("requested")))
    assert answer == case.expect["borrowingOnRequested"], f"answers {answer}, borrows {share.borrowed}"


def _fair_preemptions(case: Case) -> None:
    actual_targets = {
        (target.holding.workload.key, str(target.reason)) for target in targets(case, fair_rules(case))
    }
    expected = {(target["workload"].removeprefix("/"), target["reason"]) for target in case.expect["targets"]}
    assert actual_targets == expected, f"preempts {actual_targets}, expected {expected}"


def _cluster_queue_ordering(case: Case) -> None:
    state = WorkingState(snapshot_of(case.input, fair_rules(case)))
    own = state.tree.queues[case.input["preemptorClusterQueue"]]
    candidates = {
        state.tree.queues[name]: state.holdings[name].values()
        for name in case.input["candidateClusterQueues"]
    }
    queues = TargetQueues(own, candidates)
    actions = iter(case.input.get("actions") or ())
    order = []
    for queue in queues:
        order.append(queue.name)
        if next(actions, "pop") == "drop":
            queues.drop(queue)
        else:
            queues.pop(queue)
    assert order == (case.expect.get("order") or []), f"order {order}, expected {case.expect.get('order')}"


def _entry_comparer_less(case: Case) -> None:
    rules = fair_rules(case)
    a, b = (_rank(case.input[name], rules) for name in "ab")
    assert (a < b) == case.expect["aBeforeB"], f"a {a}, b {b}"


def _rank(entry: Data, rules: core.Rules) -> Rank:
    obj = view(entry["workload"], kueue.Workload)
    requested = usage(entry["requested"])
    return rank(
        core_workload.workload(obj, obj.status, "", rules),
        requested,
        DominantShare(_share(entry["weightedShare"]), "", _borrowed(entry, requested)),
        entry["isPreemptor"],
        rules,
    )


def _share(text: str) -> Share:
    weightless = text == "+Inf"
    return Share(weightless, Fraction(0 if weightless else text))


def _borrowed(entry: Data, requested: Usage) -> tuple[core.FlavorResource, ...]:
    """Returns borrowed columns for the case's flags: whether it borrows, and whether requested resources."""
    if entry["subtreeBorrowingOnRequested"]:
        return tuple(requested)
    return (_ELSEWHERE,) if entry["subtreeBorrowing"] else ()


SUITES: Mapping[str, Replay] = {
    "TestAvailable": _available,
    "TestDominantResourceShare": _dominant_resource_share,
    "TestIsBorrowingOn": _is_borrowing_on,
    "TestFairPreemptions": _fair_preemptions,
    "TestMakeClusterQueueOrdering": _cluster_queue_ordering,
    "TestEntryComparerLess": _entry_comparer_less,
}
