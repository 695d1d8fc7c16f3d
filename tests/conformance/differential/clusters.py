"""Random flavors, cohorts and queues of a scenario."""

from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from tests.conformance.differential.scenario import CLASSICAL, VERSION, Manifest

QUEUES_MAX = 4
CPU, GPU = "cpu", "nvidia.com/gpu"


class Group(NamedTuple):
    """A resource group, the same in all queues and cohorts."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True)
class Cluster:
    mode: str
    groups: tuple[Group, ...]
    flavors: tuple[Manifest, ...]
    cohorts: tuple[Manifest, ...] = ()
    queues: tuple[Manifest, ...] = ()

    @property
    def objects(self) -> tuple[Manifest, ...]:
        local_queues = (
            manifest("LocalQueue", f"l{n}", {"clusterQueue": queue["metadata"]["name"]})
            for n, queue in enumerate(self.queues)
        )
        return *self.flavors, *self.cohorts, *self.queues, *local_queues


def manifest(kind: str, name: str, spec: Manifest) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def cluster(random: Random, mode: str) -> Cluster:
    groups = _groups(random)
    names = [name for group in groups for name in group.flavors]
    cluster_plan = Cluster(mode, groups, tuple(_flavor(random, name) for name in names))
    cohorts = tuple(
        _cohort(random, cluster_plan, number) for number in range(random.choice((0, 1, 1, 1, 2, 3, 4)))
    )
    queues = []
    for number in range(random.randint(1, QUEUES_MAX)):
        shares = bool(cohorts) and random.random() < 0.85
        spec = queue_spec(random, cluster_plan, shares)
        if shares:
            spec["cohortName"] = random.choice(cohorts)["metadata"]["name"]
        queues.append(manifest("ClusterQueue", f"q{number}", spec))
    return Cluster(mode, groups, cluster_plan.flavors, cohorts, tuple(queues))


def _groups(random: Random) -> tuple[Group, ...]:
    """Returns up to three flavors for up to two resources, in one group or one group each."""
    names = tuple(f"f{n}" for n in range(random.choice((1, 1, 2, 2, 3))))
    if random.random() < 0.6:
        return (Group((CPU,), names),)
    if len(names) > 1 and random.random() < 0.4:
        return Group((CPU,), names[:-1]), Group((GPU,), names[-1:])
    return (Group((CPU, GPU), names),)


def _flavor(random: Random, name: str) -> Manifest:
    spec: dict[str, Any] = {"nodeLabels": {"pool": name}} if random.random() < 0.5 else {}
    if random.random() < 0.15:
        spec["nodeTaints"] = [{"key": "spot", "value": "true", "effect": "NoSchedule"}]
    return manifest("ResourceFlavor", name, spec)


def _cohort(random: Random, cluster_plan: Cluster, number: int) -> Manifest:
    """Returns a cohort below an earlier one, often the last, so that trees get deep."""
    spec = cohort_spec(random, cluster_plan, bool(number))
    if number:
        spec["parentName"] = f"c{random.choice((number - 1, random.randrange(number)))}"
    return manifest("Cohort", f"c{number}", spec)


def cohort_spec(random: Random, cluster_plan: Cluster, shares: bool) -> dict[str, Any]:
    """Returns a random Cohort's spec; `shares`: it has a parent to borrow from."""
    quotas = {"resourceGroups": _quotas(random, cluster_plan, shares)} if random.random() < 0.3 else {}
    return {**quotas, **_weight(random, cluster_plan.mode)}


def queue_spec(random: Random, cluster_plan: Cluster, shares: bool) -> dict[str, Any]:
    """Returns a random ClusterQueue's spec; `shares`: it is in a cohort."""
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "queueingStrategy": random.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        "resourceGroups": _quotas(random, cluster_plan, shares),
        "preemption": _preemption(random, cluster_plan.mode),
        **_weight(random, cluster_plan.mode),
    }
    if random.random() < 0.6:
        spec["flavorFungibility"] = _fungibility(random)
    return spec


def _weight(random: Random, mode: str) -> dict[str, Any]:
    if mode == CLASSICAL or random.random() < 0.5:
        return {}
    return {"fairSharing": {"weight": random.choice(("1", "2", "500m", "0"))}}


def _quotas(random: Random, cluster_plan: Cluster, shares: bool) -> list[dict[str, Any]]:
    def quota(resource: str) -> dict[str, Any]:
        nominal = random.randint(0, 6)
        amounts: dict[str, Any] = {"name": resource, "nominalQuota": str(nominal)}
        if shares and random.random() < 0.3:
            amounts["borrowingLimit"] = str(random.randint(0, 4))
        if shares and random.random() < 0.25:
            amounts["lendingLimit"] = str(random.randint(0, nominal))
        return amounts

    return [
        {
            "coveredResources": list(group.resources),
            "flavors": [
                {"name": name, "resources": [quota(r) for r in group.resources]} for name in group.flavors
            ],
        }
        for group in cluster_plan.groups
    ]


def _fungibility(random: Random) -> dict[str, Any]:
    """Returns a valid flavorFungibility: a preference requires TryNextFlavor for both."""
    policies = ("MayStopSearch", "TryNextFlavor")
    chosen = {"whenCanBorrow": random.choice(policies), "whenCanPreempt": random.choice(policies)}
    if set(chosen.values()) == {"TryNextFlavor"} and random.random() < 0.7:
        chosen["preference"] = random.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
    return chosen


def _preemption(random: Random, mode: str) -> dict[str, Any]:
    """Returns valid preemption policies: borrowWithinCohort requires reclaimWithinCohort."""
    within = random.choice(("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"))
    reclaim = random.choice(("Never", "LowerPriority", "Any", "Any"))
    chosen: dict[str, Any] = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if mode == CLASSICAL and reclaim != "Never" and random.random() < 0.35:
        borrow: dict[str, Any] = {"policy": "LowerPriority"}
        if random.random() < 0.6:
            borrow["maxPriorityThreshold"] = random.choice((0, 100, 200))
        chosen["borrowWithinCohort"] = borrow
    return chosen
