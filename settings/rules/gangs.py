"""Rules of gangs: whether those that the quotas allow can ever run, and run well.

The smallest gang of each flavor of each queue goes through the admission core and a placement on the declared
nodes, in `settings/proof/`.
"""

from collections.abc import Iterator

from muster.cluster.jobs.added_containers import SUBMITTER_RESOURCES
from muster.forecast.assumptions import Assumptions
from settings.model.base import amount
from settings.model.pools.pool import Pool
from settings.model.pools.tpus import TPU_RESOURCE
from settings.model.queues.admission import WEEK_SECONDS
from settings.model.queues.queue import ClusterQueue
from settings.model.stack import Settings
from settings.problems import Doubt, Finding, Path
from settings.proof.gangs import LEAST, Gang, Outcome, Proof, smallest_gang
from settings.rules.engines import engine_section
from settings.rules.queues import flavors_of_queues
from settings.rules.registry import doubt, rule

USUAL = Assumptions()
SHORT_RUN_S = 600


@rule("cluster", "pools", "queues", "admission", "tenants", last=True)
def smallest_gangs_run(settings: Settings) -> Iterator[Finding]:
    """The smallest gang of each flavor of a queue, a pod with one device or the machines of a TPU slice, is
    admitted in an empty cluster, and all of its resources come from the same nodes (Kueue:
    ClusterQueueSpec.resourceGroups; proven by the admission core)."""
    for path, queue, pool, outcome in _failures(settings):
        if not _is_off(queue, pool):
            yield _never_runs(path, pool, smallest_gang(pool, queue), outcome)


@doubt("cluster", "pools", "queues", "admission", "tenants")
def flavors_may_be_off(settings: Settings) -> Iterator[Doubt]:
    """A quota of 0 devices that no cohort lends turns a flavor off in its queue (Kueue:
    ClusterQueueSpec.resourceGroups; proven by the admission core)."""
    for path, queue, pool, _ in _failures(settings):
        if _is_off(queue, pool):
            yield Doubt(
                path,
                f"no gang of queue {queue.name} can use pool {pool.name}: the quota of its devices is 0, and "
                "no cohort lends any",
                "Kueue: resourceGroups",
            )


def _failures(settings: Settings) -> Iterator[tuple[Path, ClusterQueue, Pool, Outcome]]:
    """Yields the flavors of queues on which the smallest gang never runs; engine kai has no flavors."""
    if settings.admission.engine != "kai":
        proof = Proof(settings)
        for path, queue, pool in flavors_of_queues(settings):
            if (outcome := proof.outcome(queue.name, smallest_gang(pool, queue))).why:
                yield path, queue, pool, outcome


def _is_off(queue: ClusterQueue, pool: Pool) -> bool:
    """Returns whether the queue has no devices of the pool by itself."""
    quotas = queue.quotas[pool.flavor_name]
    return any(
        resource in quotas and not amount(quotas[resource].nominal)
        for resource in pool.capacity
        if "/" in resource
    )


def _never_runs(path: Path, pool: Pool, gang: Gang, outcome: Outcome) -> Finding:
    if outcome.elsewhere:
        resources, others = " and ".join(outcome.elsewhere), ", ".join(sorted({*outcome.elsewhere.values()}))
        return Finding(
            path,
            f"quota of {resources} in this flavor too: pods would get theirs from flavor {others}, whose "
            f"nodes are not those of pool {pool.name}, so no gang ever starts (Kueue: resourceGroups)",
            f"add {' and '.join(f'`{resource}`' for resource in outcome.elsewhere)}",
        )
    return Finding(
        path,
        f"quotas that admit a gang in an empty cluster; the smallest one for pool {pool.name}, {gang}, is "
        f"never admitted: {outcome.why}",
        "raise the quotas or what the cohort lends, or remove the flavor from this queue",
    )


@rule("pools", "admission", "queues")
def gangs_have_as_many_pods_as_a_slice(settings: Settings) -> Iterator[Finding]:
    """`maxPods` lets a gang have a worker on each host of a TPU slice (GKE, Plan TPUs)."""
    for _, queue, pool in flavors_of_queues(settings):
        if pool.slice_nodes > settings.admission.max_pods:
            yield Finding(
                ("muster:admission", "maxPods"),
                f"at least {pool.slice_nodes}, the hosts of a slice of pool {pool.name}: queue {queue.name} "
                "has quota of it, and no gang could use it",
                "raise it",
            )
            return


@doubt("pools", "admission")
def nodes_may_end_too_soon(settings: Settings) -> Iterator[Doubt]:
    """Nodes that stop after a few minutes run no gang to its end (GKE API: NodeConfig.maxRunDuration)."""
    limits: list[tuple[Path, int | None]] = [
        (("muster:pools", i, "maxRunSeconds"), pool.max_run_seconds) for i, pool in enumerate(settings.pools)
    ]
    requested = settings.admission.queued_provisioning.max_run_seconds
    limits.append((("muster:admission", "queuedProvisioning", "maxRunSeconds"), requested))
    for path, seconds in limits:
        if seconds is not None and seconds < SHORT_RUN_S:
            yield Doubt(
                path,
                f"nodes stop {seconds} seconds after their creation, also in use: GPU drivers, images "
                "and Ray take minutes of it",
                "GKE API: NodeConfig.maxRunDuration",
            )


@doubt("admission", "queues")
def rayjobs_may_not_fit(settings: Settings) -> Iterator[Doubt]:
    """A queue that cannot borrow has CPUs and memory for a head, a worker and the submitter that KubeRay adds
    (KubeRay, common/job.go: GetDefaultSubmitterTemplate)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        for resource, least in LEAST.items():
            nominal = [amount(q[resource].nominal) for q in queue.quotas.values() if resource in q]
            submitter = SUBMITTER_RESOURCES["requests"][resource]
            if nominal and queue.cohort is None and sum(nominal) < amount(submitter) + 2 * amount(least):
                yield Doubt(
                    ("muster:queues", "clusterQueues", i, "quotas"),
                    f"no RayJob fits: its submitter alone requests {submitter} of {resource}, next to head "
                    "and worker",
                    "KubeRay, GetDefaultSubmitterTemplate",
                )


@doubt("pools", "queues")
def slices_may_leave_quota_unused(settings: Settings) -> Iterator[Doubt]:
    """A TPU gang takes whole slices: what a quota grants beyond them is used only with borrowed quota (GKE,
    Plan TPUs)."""
    for path, queue, pool in flavors_of_queues(settings):
        quota, chips = queue.quotas[pool.flavor_name].get(TPU_RESOURCE), pool.tpu.chips if pool.tpu else 0
        if quota and chips and amount(quota.nominal) % chips:
            yield Doubt(
                (*path, TPU_RESOURCE),
                f"slices of pool {pool.name} have {chips} chips: {amount(quota.nominal) % chips} of these "
                "can be used only together with borrowed ones",
                "GKE, Plan TPUs",
            )


@doubt("admission", "queues")
def preemption_may_have_no_effect(settings: Settings) -> Iterator[Doubt]:
    """`LowerPriority` preempts nothing if all priorities are equal (Kueue: ClusterQueuePreemption)."""
    if len({*settings.admission.priorities.values()}) > 1:
        return
    for i, queue in enumerate(settings.queues.cluster_queues):
        if queue.preemption.within_cluster_queue == "LowerPriority":
            yield Doubt(
                ("muster:queues", "clusterQueues", i, "preemption", "withinClusterQueue"),
                "all gangs have the same priority: `priorities` has fewer than two values, so none is lower, "
                "and nothing is preempted in this queue",
                "Kueue: ClusterQueuePreemption",
            )


@doubt("pools", "admission")
def nodes_may_end_before_their_requests(settings: Settings) -> Iterator[Doubt]:
    """Nodes of a queued pool with a shorter `maxRunSeconds` than its requests stop before the time that gangs
    were given (GKE, queued provisioning: maxRunDurationSeconds)."""
    requested = settings.admission.queued_provisioning.max_run_seconds or WEEK_SECONDS
    for i, pool in enumerate(settings.pools):
        if pool.queued and pool.max_run_seconds is not None and pool.max_run_seconds < requested:
            yield Doubt(
                ("muster:pools", i, "maxRunSeconds"),
                f"requests for these nodes are for {requested} seconds "
                "(muster:admission.queuedProvisioning.maxRunSeconds): GKE stops the nodes, and the gangs on "
                "them, earlier",
                "GKE, queued provisioning",
            )


@doubt("pools", "kueue", "controller", "admission")
def pods_may_not_be_ready_in_time(settings: Settings) -> Iterator[Doubt]:
    """With `waitForPodsReady`, a gang is evicted while it waits for nodes that the autoscaler adds, and on a
    flex-start pool for hours; queued pools have their nodes before pods start (Kueue: waitForPodsReady; GKE,
    flex-start)."""
    key, section = engine_section(settings) or ("", None)
    if section is None or section.wait_for_pods_ready is None:
        return
    waits = section.wait_for_pods_ready
    timeout_s, least_s = waits.timeout_seconds, USUAL.start_up_s
    if waits.recovery_timeout_seconds is not None and waits.recovery_timeout_seconds < USUAL.start_up_s:
        yield Doubt(
            (key, "waitForPodsReady", "recoveryTimeoutSeconds"),
            f"the successor of a failed pod usually needs {USUAL.start_up_s:g} seconds until it is ready: "
            "the gang would be evicted before",
            "docs/forecast.md, assumptions",
        )
    if any(not pool.queued and not (pool.nodes and pool.nodes.min) for pool in settings.pools):
        least_s += USUAL.scale_up_s
    if timeout_s < least_s:
        yield Doubt(
            (key, "waitForPodsReady", "timeoutSeconds"),
            f"gangs usually need {least_s:g} seconds until their pods are ready, with nodes that are added, "
            "images that are pulled and Ray's start: most would be evicted before",
            "docs/forecast.md, assumptions",
        )
    for i, pool in enumerate(settings.pools):
        if pool.provisioning == "flex-start":
            yield Doubt(
                ("muster:pools", i, "provisioning"),
                f"flex-start nodes may take hours, but {key}.waitForPodsReady evicts a gang whose pods are "
                f"not ready after {timeout_s} seconds, so that it may never start; queued pools wait before "
                "pods start",
                "GKE, flex-start",
            )


@doubt("pools", "queues")
def heads_may_be_preempted(settings: Settings) -> Iterator[Doubt]:
    """A queue whose only CPUs without accelerators are of spot nodes loses the whole gang with a head (GKE,
    Spot VMs)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        heads = [
            p for _, q, p in flavors_of_queues(settings) if q is queue and "cpu" in q.quotas[p.flavor_name]
        ]
        heads = [pool for pool in heads if not pool.queued]
        if heads and all(pool.provisioning == "spot" for pool in heads):
            yield Doubt(
                ("muster:queues", "clusterQueues", i, "quotas"),
                "Ray's heads get their CPUs from spot nodes only: when Google Cloud takes one, its gang "
                "starts again from the beginning; a flavor of on-demand CPUs avoids this",
                "GKE, Spot VMs",
            )
