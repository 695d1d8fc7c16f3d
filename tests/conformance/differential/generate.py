"""Random scenarios, the same for the same seed; small ones, which find as many differences as large ones.

Steps with a nondeterministic outcome in Kueue are left out: several submissions at the same time, as it may
decide between any two of them; a step while it still decides on the previous one; changes of a flavor,
of a cohort's parent or of a queue's cohort, as it retries parked workloads or not, depending on the
order in which its caches receive the change.
"""

from random import Random
from typing import Any

from tests.conformance.differential.clusters import Cluster, cluster, cohort_spec, manifest, queue_spec
from tests.conformance.differential.scenario import (
    CLASSICAL,
    FAIR,
    Change,
    Finish,
    Manifest,
    Scenario,
    Step,
    Submit,
    Withdraw,
)

STEPS_MIN, STEPS_MAX = 8, 14
STEPS = {"submit": 62, "finish": 24, "withdraw": 6, "change": 8}  # relative frequencies
PRIORITIES = (0, 0, 100, 200)


def scenario(seed: int) -> Scenario:
    random = Random(seed)
    cluster_plan = cluster(random, (CLASSICAL, FAIR)[seed % 2])
    steps: list[Step] = [Submit(_workload(random, "w0", cluster_plan))]
    steps += [_step(random, f"w{n}", cluster_plan) for n in range(1, random.randint(STEPS_MIN, STEPS_MAX))]
    return Scenario(f"seed {seed}", cluster_plan.mode, cluster_plan.objects, tuple(steps))


def _step(random: Random, name: str, cluster_plan: Cluster) -> Step:
    kind = random.choices(tuple(STEPS), tuple(STEPS.values()))[0]
    if kind == "submit":
        return Submit(_workload(random, name, cluster_plan))
    if kind == "change":
        return Change(_changed(random, cluster_plan))
    return Finish(random.randrange(4)) if kind == "finish" else Withdraw(random.randrange(4))


def _changed(random: Random, cluster_plan: Cluster) -> Manifest:
    """Returns a queue or cohort with other quotas, limits and weights, or a stopped or resumed queue; its
    cohort stays the same."""
    obj = random.choice((*cluster_plan.cohorts, *cluster_plan.queues))
    name, spec = obj["metadata"]["name"], obj["spec"]
    if obj["kind"] == "Cohort":
        parent = {key: spec[key] for key in ("parentName",) if key in spec}
        return manifest("Cohort", name, {**cohort_spec(random, cluster_plan, bool(parent)), **parent})
    if random.random() < 0.4:
        return manifest("ClusterQueue", name, {**spec, "stopPolicy": random.choice(("Hold", "None"))})
    retained = {key: spec[key] for key in ("cohortName", "queueingStrategy") if key in spec}
    return manifest(
        "ClusterQueue", name, {**queue_spec(random, cluster_plan, "cohortName" in spec), **retained}
    )


def _workload(random: Random, name: str, cluster_plan: Cluster) -> Manifest:
    spec = {
        "queueName": f"l{random.randrange(len(cluster_plan.queues))}",
        "priority": random.choice(PRIORITIES),
        "active": True,
        "podSets": [_pod_set(random, f"p{n}", cluster_plan) for n in range(random.choice((1, 1, 1, 2, 3)))],
    }
    return manifest("Workload", name, spec)


def _pod_set(random: Random, name: str, cluster_plan: Cluster) -> dict[str, Any]:
    resources = [resource for group in cluster_plan.groups for resource in group.resources]
    requests = {resources[0]: str(random.randint(1, 3))}
    requests |= {resource: str(random.randint(1, 2)) for resource in resources[1:] if random.random() < 0.7}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    pod = {"restartPolicy": "Never", "containers": [container], **_placement(random, cluster_plan)}
    count = random.choice((1, 1, 2, 3))
    pod_set: dict[str, Any] = {"name": name, "count": count, "template": {"spec": pod}}
    if count > 1 and random.random() < 0.25 and name == "p0":  # one pod set only, as Kueue requires
        pod_set["minCount"] = random.randint(1, count - 1)
    return pod_set


def _placement(random: Random, cluster_plan: Cluster) -> dict[str, Any]:
    """Returns a node affinity to some flavors, and tolerations of taints."""
    placement: dict[str, Any] = {}
    chosen = random.choice(cluster_plan.flavors)["metadata"]["name"]
    how = random.random()
    if how < 0.1:
        placement["nodeSelector"] = {"pool": chosen}
    elif how < 0.2:
        terms = [{"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": [chosen]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        placement["affinity"] = {"nodeAffinity": required}
    if random.random() < 0.5:
        placement["tolerations"] = [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]
    return placement
