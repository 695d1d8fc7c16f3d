"""Rules of engine `kai`: unsupported features are refused, and differences are warnings.

Source, unless stated otherwise: KAI-scheduler v0.12.0, docs/queues and docs/priority.
"""

from collections.abc import Iterator

from settings.model.operators.kai import COUNTED, LONE_QUEUES, PRIORITY_PREFIX
from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.queues.queue import ClusterQueue
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.names import unique
from settings.rules.registry import doubt, rule

SOURCE = "KAI-scheduler v0.12.0, docs/queues and docs/priority"
# Kubernetes reserves values above (PriorityClass, HighestUserDefinablePriority).
PRIORITY_MAX = 10**9
LABEL_LENGTH_MAX = 63


@rule("cluster", "pools", "admission")
def kai_gets_nodes(settings: Settings) -> Iterator[Finding]:
    """Engine kai has no queued pools, for which it would create no ProvisioningRequests, and its cluster
    serves MutatingAdmissionPolicies (Kubernetes 1.36)."""
    if settings.admission.engine != "kai":
        return
    for i, pool in enumerate(settings.pools):
        if pool.queued:
            yield Finding(
                ("muster:pools", i, "provisioning"),
                "on-demand, spot, reserved or flex-start: KAI creates no ProvisioningRequests, so a queued "
                "pool would stay empty",
                "choose one of those, or engine: muster (or kueue)",
            )
    if not settings.cluster.serves_mutating_policies:
        yield Finding(
            ("muster:cluster",),
            "a cluster that serves MutatingAdmissionPolicy v1 (Kubernetes 1.36), which adds KAI's labels to "
            "Ray objects",
            "raise its version, or choose engine: muster (or kueue)",
        )


@rule("admission", "queues")
def kai_keeps_queues_apart(settings: Settings) -> Iterator[Finding]:
    """Names of cohorts and cluster queues differ with engine kai: both are Queues (KAI-scheduler,
    docs/queues)."""
    if settings.admission.engine != "kai":
        return
    cohorts = [cohort.name for cohort in settings.queues.cohorts]
    queues = [queue.name for queue in settings.queues.cluster_queues]
    names: list[tuple[Path, str]] = [((), LONE_QUEUES)]
    names += [(("muster:queues", "cohorts", i, "name"), name) for i, name in enumerate(cohorts)]
    names += [(("muster:queues", "clusterQueues", i, "name"), name) for i, name in enumerate(queues)]
    yield from unique(names, "queue name (cohorts and cluster queues are all Queues to KAI)")


@rule("admission", "queues")
def kai_does_what_queues_ask(settings: Settings) -> Iterator[Finding]:
    """Engine kai has no admission checks, stops no queues, and counts CPU, memory and GPUs only
    (KAI-scheduler, docs/queues)."""
    if settings.admission.engine != "kai":
        return
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i)
        for check in queue.checks:
            yield Finding(
                (*path, "checks", check),
                "no checks: KAI has no admission checks",
                "remove it, or choose engine: muster (or kueue)",
            )
        if queue.stop != "None":
            yield Finding(
                (*path, "stop"),
                "None: KAI cannot stop a queue",
                "remove it and set the quotas to 0, or choose engine: muster (or kueue)",
            )
        for flavor, quotas in queue.quotas.items():
            for resource in quotas.keys() - COUNTED.keys():
                yield Finding(
                    (*path, "quotas", flavor, resource),
                    f"a resource that KAI counts: {', '.join(COUNTED)}",
                    "remove it, or choose engine: muster (or kueue)",
                )


@rule("admission")
def kai_takes_priorities(settings: Settings) -> Iterator[Finding]:
    """A priority is a PriorityClass with engine kai, whose name is the value of a label on each gang and
    whose value is bounded (Kubernetes, PriorityClass)."""
    if settings.admission.engine != "kai":
        return
    for name, value in settings.admission.priorities.items():
        path: Path = ("muster:admission", "priorities", name)
        if value > PRIORITY_MAX:
            yield Finding(
                path, f"at most {PRIORITY_MAX}, the limit of a PriorityClass (Kubernetes)", "lower it"
            )
        if len(PRIORITY_PREFIX + name) > LABEL_LENGTH_MAX:
            most = LABEL_LENGTH_MAX - len(PRIORITY_PREFIX)
            yield Finding(
                path, f"a name of at most {most} characters with engine kai", "choose a shorter one"
            )


@doubt("pools", "admission", "queues")
def kai_shares_in_its_own_way(settings: Settings) -> Iterator[Doubt]:
    """Engine kai lends, preempts and orders in its own way (KAI-scheduler, docs/queues and docs/priority)."""
    if settings.admission.engine != "kai":
        return
    for i, queue in enumerate(settings.queues.cluster_queues):
        for path, why in _otherwise(queue):
            yield Doubt(("muster:queues", "clusterQueues", i, *path), why, SOURCE)
    for i, pool in enumerate(settings.pools):
        if pool.declared_taints:
            keys = ", ".join(taint.key for taint in pool.declared_taints)
            why = f"KAI adds no tolerations: pods that may run there must tolerate {keys} themselves"
            yield Doubt(("muster:pools", i, "provisioning"), why, SOURCE)


def _otherwise(queue: ClusterQueue) -> Iterator[tuple[Path, str]]:
    gpus = [flavor for flavor, quotas in queue.quotas.items() if GPU_RESOURCE in quotas]
    if len(gpus) > 1:
        yield (
            ("quotas",),
            f"KAI does not distinguish types of GPUs: the queue may use the sum of its quotas of "
            f"{', '.join(gpus)} on any of them",
        )
    for flavor, quotas in queue.quotas.items():
        for resource, quota in quotas.items():
            if quota.lending_limit is not None:
                yield (
                    ("quotas", flavor, resource, "lendingLimit"),
                    "KAI lends all of a queue's idle quota, and reclaims it when the queue needs it",
                )
    if queue.preemption.within_cluster_queue != "LowerPriority":
        yield (
            ("preemption",),
            "KAI always behaves as with withinClusterQueue: LowerPriority (the label "
            "kai.scheduler/preemptibility exempts a gang)",
        )
    if queue.preemption.reclaim_within_cohort != "Any":
        yield (
            ("preemption",),
            "KAI always behaves as with reclaimWithinCohort: Any",
        )
    if queue.strategy == "StrictFIFO":
        yield ("strategy",), "KAI schedules gangs that fit ahead of an earlier one that does not"
    if queue.flavor_fungibility is not None:
        yield ("flavorFungibility",), "KAI does not choose flavors: pods are placed wherever they fit"
    if queue.namespaces:
        yield (
            ("namespaces",),
            "KAI schedules pods of any namespace; only tenants' namespaces are assigned to queues",
        )
