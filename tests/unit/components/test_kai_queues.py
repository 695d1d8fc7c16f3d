"""KAI's objects from the settings: queues, priorities, and the policies that translate labels."""

from typing import Any

import pytest

from components.queues.kai_policies import KaiNames, kai_mutations, kai_validations
from components.queues.kai_specs import kai_queues
from settings.model.queues.queue import Queues
from tests.unit.components.harness import Declarations, declare_platform
from tests.unit.settings.builders import EXISTING, with_engine

Shares = dict[str, tuple[float, float]]

GPU = "nvidia.com/gpu"


def queues(*cluster_queues: dict[str, Any], cohorts: tuple[dict[str, Any], ...] = ()) -> Queues:
    return Queues.model_validate({"cohorts": cohorts, "clusterQueues": cluster_queues}, strict=False)


def queue(name: str, cohort: str | None = None, **flavors: dict[str, Any]) -> dict[str, Any]:
    quotas = {f: {k.replace("gpu", GPU): v for k, v in q.items()} for f, q in flavors.items()}
    return {"name": name, "quotas": quotas} | ({"cohort": cohort} if cohort else {})


NONE = {"nominal": 4, "borrowingLimit": 0}
TWO = {"nominal": 4, "borrowingLimit": 2}

# Settings -> queue -> its parent, and quota and limit of each resource.
TREES: dict[str, tuple[Queues, dict[str, tuple[str, Shares]]]] = {
    "millicores, and 10^6 bytes": (
        queues(queue("a", cpu={"cpu": "1500m", "memory": "1Gi"})),
        {
            "muster-no-cohort": ("", {"cpu": (1500, 1500), "memory": (1073.741824, 1073.741824)}),
            "a": ("muster-no-cohort", {"cpu": (1500, 1500), "memory": (1073.741824, 1073.741824)}),
        },
    ),
    "borrowing without a limit": (
        queues(queue("a", "ml", l4={"gpu": 4}), queue("b", "ml", l4={"gpu": 2}), cohorts=({"name": "ml"},)),
        {"ml": ("", {"gpu": (6, 6)}), "a": ("ml", {"gpu": (4, -1)}), "b": ("ml", {"gpu": (2, -1)})},
    ),
    "borrowing up to a limit": (
        queues(queue("a", "ml", l4={"gpu": TWO}), cohorts=({"name": "ml"},)),
        {"ml": ("", {"gpu": (4, 4)}), "a": ("ml", {"gpu": (4, 6)})},
    ),
    "flavors are added up": (
        queues(queue("a", "ml", l4={"gpu": TWO}, h100={"gpu": NONE}), cohorts=({"name": "ml"},)),
        {"ml": ("", {"gpu": (8, 8)}), "a": ("ml", {"gpu": (8, 10)})},
    ),
    "one unlimited flavor makes the sum unlimited": (
        queues(queue("a", "ml", l4={"gpu": 4}, h100={"gpu": NONE}), cohorts=({"name": "ml"},)),
        {"ml": ("", {"gpu": (8, 8)}), "a": ("ml", {"gpu": (8, -1)})},
    ),
    "a cohort below a cohort, with its own quota": (
        queues(
            queue("a", "team", l4={"gpu": 4}),
            cohorts=(
                {"name": "team", "parent": "all", "quotas": {"l4": {GPU: TWO}}},
                {"name": "all"},
            ),
        ),
        {"all": ("", {"gpu": (8, 8)}), "team": ("all", {"gpu": (8, 10)}), "a": ("team", {"gpu": (4, -1)})},
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_quotas_and_limits_add_up_over_flavors(name: str) -> None:
    settings, expected = TREES[name]
    results: dict[str, tuple[str, Shares]] = {}
    for queue in kai_queues(settings):
        assert queue.spec.get("parentQueue", "") == queue.parent
        assert not queue.parent or queue.parent in results, "parents come first"
        shares = {r: (s["quota"], s["limit"]) for r, s in queue.spec["resources"].items()}
        resources = expected[queue.name][1]
        results[queue.name] = queue.parent, {r: s for r, s in shares.items() if r in resources}
    assert results == expected


def test_a_resource_without_quota_is_limited_to_zero() -> None:
    (_, child) = kai_queues(queues(queue("a", "ml", l4={"gpu": 4}), cohorts=({"name": "ml"},)))
    assert child.spec["resources"]["cpu"] == {"quota": 0, "limit": 0, "overQuotaWeight": 1}


def test_weights_become_over_quota_weights() -> None:
    weighed = {**queue("a", "ml", l4={"gpu": 4}), "weight": "2.5"}
    (_, child) = kai_queues(queues(weighed, cohorts=({"name": "ml"},)))
    assert {share["overQuotaWeight"] for share in child.spec["resources"].values()} == {2.5}


@pytest.fixture(scope="module")
def declared() -> Declarations:
    return declare_platform({**with_engine("kai"), "muster:cluster": EXISTING}, with_policies=True)


def test_only_kais_objects_are_declared(declared: Declarations) -> None:
    """Neither Kueue's objects, which nothing would read, nor Muster's controller."""
    assert declared.kinds("Queue") == ["Queue/ml", "Queue/team-a"]
    assert declared.kinds("PriorityClass") == [
        "PriorityClass/muster-dev-priority",
        "PriorityClass/muster-prod-priority",
    ]
    absent = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass", "Deployment")
    assert declared.kinds(*absent) == []


def test_queues_depend_on_their_parents_and_values_are_replaced(declared: Declarations) -> None:
    assert {"Queue/ml", "Release/kai-scheduler"} <= declared["Queue/team-a"].depends_on
    assert "Release/kai-scheduler" in declared["Queue/ml"].depends_on
    priority = declared["PriorityClass/muster-prod-priority"]
    assert priority.inputs["value"] == 1000
    assert (priority.replace_on_changes, priority.delete_before_replace) == (("value",), True)


def test_labels_are_translated_on_create_and_update(declared: Declarations) -> None:
    policy = declared.spec("MutatingAdmissionPolicy/muster-queued-ray-to-kai")
    (rule,) = policy["matchConstraints"]["resourceRules"]
    assert set(rule["resources"]) == {"rayjobs", "rayclusters", "rayservices"}
    assert rule["operations"] == ["CREATE", "UPDATE"]
    assert "MutatingAdmissionPolicy/muster-suspend-queued-ray" not in declared


NAMES = KaiNames({"team-a/user-queue": "team-a"}, ("train",))


def test_kueues_labels_become_kais_labels() -> None:
    """tests/sandbox/test_scenario.py runs these policies in an API server."""
    labels, submission = kai_mutations(NAMES).values()
    assert '"kai.scheduler/queue": {"team-a/user-queue": "team-a"}' in labels.applied
    assert '.optMap(name, "muster-" + name)' in labels.applied
    assert '.orValue("preemptible")' in labels.applied
    assert submission.requests["resources"] == ("rayjobs",)
    assert '"HTTPMode"' in submission.applied


def test_unknown_queues_and_priorities_are_refused() -> None:
    by_field, by_label, *_ = kai_validations(NAMES)
    assert list(by_field.rules.values()) == [
        "no such queue: kueue.x-k8s.io/queue-name must name a queue of this namespace (as namespace/queue, "
        "one of team-a/user-queue)",
        "no such priority: kueue.x-k8s.io/priority-class must be one of train",
    ]
    assert list(by_label.rules.values()) == [
        "kai.scheduler/queue is derived from kueue.x-k8s.io/queue-name: set kueue.x-k8s.io/queue-name instead"
    ]
