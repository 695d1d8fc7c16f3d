"""Classical preemption: the victims of a workload with given flavors, and the order of candidates."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from muster import admission as core
from muster.admission.flavors.demand import PODS, requests_of
from muster.admission.preemption.ordering import ordered, own_queue_last, satisfies
from muster.admission.preemption.preemptor import Preemptor
from muster.admission.preemption.search import Target
from muster.admission.state.holdings import Holding
from muster.admission.state.state import WorkingState
from muster.objects import kueue
from muster.translation import core_workload
from tests.conformance.case import Case, Data, Replay
from tests.conformance.objects import snapshot_of, view
from tests.conformance.rules import rules_of


def targets(case: Case, rules: core.Rules) -> list[Target]:
    """Returns the incoming workload's victims, for the case's flavors and contested resources."""
    state = WorkingState(snapshot_of(case.input, rules))
    queue = state.queue(case.input["targetClusterQueue"])
    incoming = _workload(case.input["incoming"], rules, queue.name)
    needs: dict[core.FlavorResource, int] = {}
    contested = set()
    for pod_set, assignment in zip(incoming.pod_sets, case.input["assignment"]["podSets"], strict=True):
        counted = replace(pod_set, count=assignment["count"])
        requests = requests_of(counted, counted.count) | {PODS: counted.count}
        for resource, amount in requests.items():
            flavor = assignment["flavors"].get(resource)
            if flavor is None:
                assert resource == PODS or amount == 0, f"the case gives no flavor for {resource}"
                continue
            expected = core.FlavorResource(flavor["name"], resource)
            needs[expected] = needs.get(expected, 0) + amount
        contested |= {
            core.FlavorResource(flavor["name"], resource)
            for resource, flavor in assignment["flavors"].items()
            if flavor["mode"] == "Preempt"
        }
    preemptor = Preemptor(state, incoming, queue, state.tree.queues[queue.name], rules)
    return preemptor.targets(needs, contested)


def _workload(data: Data, rules: core.Rules, queue: str = "") -> core.Workload:
    obj = view(data, kueue.Workload)
    return core_workload.workload(obj, obj.status, queue, rules)


def _preemption(case: Case) -> None:
    actual = {
        target.holding.workload.key: str(target.reason)
        for target in targets(case, rules_of(case, fair=False))
    }
    expected = {target["workload"].removeprefix("/"): target["reason"] for target in case.expect["targets"]}
    assert actual == expected, f"preempts {actual}, expected {expected}"
    assert len(actual) == case.expect["preemptedCount"]


def _candidates_ordering(case: Case) -> None:
    rules = rules_of(case, fair=False)
    names = [case.input["preemptorClusterQueue"], *(c["clusterQueue"] for c in case.input["candidates"])]
    tree = WorkingState(core.Snapshot({}, {}, {name: core.ClusterQueue(name) for name in names}, ())).tree
    usage: dict[str, Fraction] = {}
    holdings = []
    for candidate in case.input["candidates"]:
        workload = _workload(candidate["workload"], rules)
        if "localQueueFairShareUsage" in candidate and case.config.get("admissionFairSharing"):
            usage[workload.local_queue] = Fraction(str(candidate["localQueueFairShareUsage"]))
        node = tree.queues[candidate["clusterQueue"]]
        reserved_at_ms = workload.reserved_at_ms if workload.admission else case.now_ms
        holdings.append(Holding(workload, node, {}, reserved_at_ms, workload.evicted))

    def usage_of(holding: Holding) -> Fraction | None:
        return usage.get(holding.workload.local_queue)

    own = tree.queues[case.input["preemptorClusterQueue"]]
    for entry in (holdings, holdings[::-1]):
        order = [
            held.workload.key.rpartition("/")[2] for held in ordered(entry, own_queue_last(own), usage_of)
        ]
        assert order == case.expect["order"], f"order {order}, expected {case.expect['order']}"


def _satisfies_preemption_policy(case: Case) -> None:
    rules = rules_of(case, fair=False)
    preemptor, candidate = (_workload(case.input[name], rules) for name in ("preemptor", "candidate"))
    policy = core.PreemptionPolicy(case.input["policy"])
    answer = satisfies(policy, preemptor, candidate, rules.preemption_buffer_ms)
    assert answer == case.expect["satisfies"], f"answers {answer}"


SUITES: Mapping[str, Replay] = {
    "TestPreemption": _preemption,
    "TestHierarchicalPreemptions": _preemption,
    "TestCandidatesOrdering": _candidates_ordering,
    "TestSatisfiesPreemptionPolicy": _satisfies_preemption_policy,
}
