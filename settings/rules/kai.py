"""Rules of engine `kai`: what KAI can't do is refused, what it does in its own way is told.

Source, unless said otherwise: KAI-scheduler v0.12.0, docs/queues and docs/priority.
"""

from collections.abc import Iterator

from settings.model.operators.kai import COUNTED, LONE_QUEUES, PRIORITY_PREFIX
from settings.model.pools.gpus import GPU_RESOURCE
from settings.model.queues.queue import ClusterQueue
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.rules.names import unique

SOURCE = "KAI-scheduler v0.12.0, docs/queues and docs/priority"
# Kubernetes keeps values above for itself (PriorityClass, HighestUserDefinablePriority).
PRIORITY_MAX = 10**9
LABEL_LENGTH_MAX = 63


def kai_gets_nodes(settings: Settings) -> Iterator[Finding]:
    if settings.admission.engine != "kai":
        return
    for i, pool in enumerate(settings.pools):
        if pool.queued:
            yield Finding(
                ("muster:pools", i, "provisioning"),
                "nodes that come for pods or stand by (on-demand, spot, reserved, flex-start): KAI makes no "
                "ProvisioningRequests, so a queued pool would stay empty",
                "choose one of those, or engine: muster (or kueue)",
            )
    if not settings.cluster.serves_mutating_policies:
        yield Finding(
            ("muster:cluster",),
            "a cluster that serves MutatingAdmissionPolicy v1 (Kubernetes 1.36), by which Ray objects get "
            "KAI's labels",
            "raise its version, or choose engine: muster (or kueue)",
        )


def kai_keeps_queues_apart(settings: Settings) -> Iterator[Finding]:
    """Cohorts and cluster queues are of one kind there."""
    if settings.admission.engine != "kai":
        return
    cohorts = [cohort.name for cohort in settings.queues.cohorts]
    queues = [queue.name for queue in settings.queues.cluster_queues]
    names: list[tuple[Path, str]] = [((), LONE_QUEUES)]
    names += [(("muster:queues", "cohorts", i, "name"), name) for i, name in enumerate(cohorts)]
    names += [(("muster:queues", "clusterQueues", i, "name"), name) for i, name in enumerate(queues)]
    yield from unique(names, "queue name (cohorts and cluster queues are all Queues to KAI)")


def kai_does_what_queues_ask(settings: Settings) -> Iterator[Finding]:
    if settings.admission.engine != "kai":
        return
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i)
        for check in queue.checks:
            yield Finding(
                (*path, "checks", check),
                "no checks: KAI asks nobody before it starts a gang",
                "remove it, or choose engine: muster (or kueue)",
            )
        if queue.stop != "None":
            yield Finding(
                (*path, "stop"),
                "None: KAI has no queues that hold",
                "remove it and set the quotas to 0, or choose engine: muster (or kueue)",
            )
        for flavor, quotas in queue.quotas.items():
            for resource in quotas.keys() - COUNTED.keys():
                yield Finding(
                    (*path, "quotas", flavor, resource),
                    f"a resource that KAI counts: {', '.join(COUNTED)}",
                    "remove it, or choose engine: muster (or kueue)",
                )


def kai_takes_priorities(settings: Settings) -> Iterator[Finding]:
    """They become PriorityClasses, named in a label of each gang."""
    if settings.admission.engine != "kai":
        return
    for name, value in settings.admission.priorities.items():
        path: Path = ("muster:admission", "priorities", name)
        if value > PRIORITY_MAX:
            yield Finding(
                path, f"at most {PRIORITY_MAX}, as for every PriorityClass (Kubernetes)", "lower it"
            )
        if len(PRIORITY_PREFIX + name) > LABEL_LENGTH_MAX:
            most = LABEL_LENGTH_MAX - len(PRIORITY_PREFIX)
            yield Finding(path, f"a name of at most {most} letters with engine kai", "choose a shorter one")


def kai_shares_in_its_own_way(settings: Settings) -> Iterator[Doubt]:
    if settings.admission.engine != "kai":
        return
    for i, queue in enumerate(settings.queues.cluster_queues):
        for path, why in _otherwise(queue):
            yield Doubt(("muster:queues", "clusterQueues", i, *path), why, SOURCE)
    for i, pool in enumerate(settings.pools):
        if pool.declared_taints:
            keys = ", ".join(taint.key for taint in pool.declared_taints)
            why = f"KAI adds no tolerations: pods that may run there have to tolerate {keys} by themselves"
            yield Doubt(("muster:pools", i, "provisioning"), why, SOURCE)


def _otherwise(queue: ClusterQueue) -> Iterator[tuple[Path, str]]:
    gpus = [flavor for flavor, quotas in queue.quotas.items() if GPU_RESOURCE in quotas]
    if len(gpus) > 1:
        yield (
            ("quotas",),
            f"KAI counts GPUs of every kind alike: the quotas of {', '.join(gpus)} together are what the "
            "queue has of any of them",
        )
    for flavor, quotas in queue.quotas.items():
        for resource, quota in quotas.items():
            if quota.lending_limit is not None:
                yield (
                    ("quotas", flavor, resource, "lendingLimit"),
                    "KAI lends out all that a queue leaves idle, and takes it back when the queue asks",
                )
    if queue.preemption.within_cluster_queue != "LowerPriority":
        yield (
            ("preemption",),
            "withinClusterQueue is LowerPriority to KAI: a gang preempts those of lower priority in its "
            "queue, always and no others (the label kai.scheduler/preemptibility spares a gang)",
        )
    if queue.preemption.reclaim_within_cohort != "Any":
        yield (
            ("preemption",),
            "reclaimWithinCohort is Any to KAI: a queue takes its quota back from whoever borrowed it",
        )
    if queue.strategy == "StrictFIFO":
        yield ("strategy",), "KAI lets a smaller gang go ahead of one that does not fit yet"
    if queue.flavor_fungibility is not None:
        yield ("flavorFungibility",), "KAI has no flavors to choose from: pods go where they fit"
    if queue.namespaces:
        yield (
            ("namespaces",),
            "KAI takes pods of any namespace; the stack's own go by the queues of its tenants",
        )
