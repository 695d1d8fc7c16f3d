"""Scenarios: unique names on one API server, and smaller copies."""

from tests.conformance.differential.scenario import Change, Finish, Submit, Withdraw, prefixed
from tests.unit.conformance.differential import cluster_queue, scenario, workload


def test_every_name_has_the_prefix() -> None:
    in_cohort = cluster_queue("q0", "3")
    in_cohort["spec"]["cohortName"] = "c0"
    named = prefixed(scenario(Submit(workload("w0")), Change(in_cohort), Finish(1), Withdraw(2)), "r1")
    assert [obj["metadata"] for obj in named.objects] == [
        {"name": "r1-f0"},
        {"name": "r1-c0"},
        {"name": "r1-q0"},
        {"name": "r1-l0", "namespace": "r1"},
    ]
    submit, change, *others = named.steps
    assert isinstance(submit, Submit)
    assert submit.workload["metadata"] == {"name": "r1-w0", "namespace": "r1"}
    assert submit.workload["spec"]["queueName"] == "r1-l0"
    assert isinstance(change, Change)
    assert change.object["metadata"] == {"name": "r1-q0"}
    assert change.object["spec"]["cohortName"] == "r1-c0"
    assert others == [Finish(1), Withdraw(2)]


def test_only_references_have_the_prefix() -> None:
    named = prefixed(scenario(Submit(workload("w0"))), "r1")
    group = named.objects[2]["spec"]["resourceGroups"][0]
    quota = {"name": "cpu", "nominalQuota": "2"}
    assert group == {"coveredResources": ["cpu"], "flavors": [{"name": "r1-f0", "resources": [quota]}]}
    submit = named.steps[0]
    assert isinstance(submit, Submit)
    assert submit.workload["spec"]["podSets"] == workload("w0")["spec"]["podSets"]


def test_prefixing_does_not_change_the_scenario() -> None:
    original = scenario(Submit(workload("w0")))
    prefixed(original, "r1")
    assert original == scenario(Submit(workload("w0")))


def test_a_scenario_can_be_cut_at_a_step() -> None:
    steps = Finish(0), Finish(1), Finish(2)
    assert scenario(*steps).until(1) == scenario(*steps[:2])


def test_smaller_copies_lack_half_first_and_one_last() -> None:
    whole = scenario(Finish(0), Finish(1), Finish(2), Finish(3))
    smaller = list(whole.smaller())
    lacking = [(4 - len(copy.steps), 4 - len(copy.objects)) for copy in smaller]
    assert lacking == [(2, 0)] * 2 + [(0, 2)] * 2 + [(1, 0)] * 4 + [(0, 1)] * 4
    assert smaller[0].steps == (Finish(2), Finish(3))
    assert [copy.steps for copy in smaller[4:8]] == [
        tuple(Finish(n) for n in range(4) if n != step_index) for step_index in range(4)
    ]


def test_removing_an_object_removes_its_changes() -> None:
    changed = Change(cluster_queue("q0", "3"))
    without = [copy for copy in scenario(changed, Finish(0)).smaller() if len(copy.objects) == 3]
    assert [copy.steps for copy in without] == [
        (Finish(0),) if "ClusterQueue" not in {obj["kind"] for obj in copy.objects} else (changed, Finish(0))
        for copy in without
    ]
    assert sum(copy.steps == (Finish(0),) for copy in without) == 1
