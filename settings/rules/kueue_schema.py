"""Rules of the sizes that the API server accepts: limits in the CRDs of Kueue (settings/facts/)."""

from collections.abc import Iterator, Mapping, Sequence

from settings.facts.tables import table
from settings.model.queues.resource_groups import ResourceGroup
from settings.model.stack import Settings
from settings.problems import Finding, Path
from settings.rules.registry import rule

LIMITS: Mapping[str, int] = table("kueue_schema").facts


@rule("pools", "admission")
def flavors_have_few_labels(settings: Settings) -> Iterator[Finding]:
    """A ResourceFlavor has at most 8 node labels, GKE's own included (Kueue: ResourceFlavorSpec)."""
    most = LIMITS["node_labels"]
    if settings.admission.engine == "kai":
        return
    for i, pool in enumerate(settings.pools):
        own = len(pool.node_labels) - len(pool.labels)
        if len(pool.node_labels) > most:
            yield Finding(
                ("muster:pools", i, "labels"),
                f"at most {most - own} labels: with {own} others, by which the flavor selects the nodes, a "
                f"ResourceFlavor has at most {most} (Kueue: ResourceFlavorSpec)",
                "remove labels that no pod selects; cost labels belong to `muster:cluster.labels`",
            )


@rule("queues", "admission")
def quotas_fit_into_a_queue(settings: Settings) -> Iterator[Finding]:
    """A queue or cohort has at most 16 resource groups, with at most 64 flavors each and 256 in all (Kueue:
    ClusterQueueSpec, ResourceGroup)."""
    if settings.admission.engine == "kai":
        return
    groups = {
        "clusterQueues": [queue.resource_groups for queue in settings.queues.cluster_queues],
        "cohorts": [cohort.resource_groups for cohort in settings.queues.cohorts],
    }
    for key, owners in groups.items():
        for i, owned in enumerate(owners):
            yield from _oversized(("muster:queues", key, i, "quotas"), owned)


def _oversized(path: Path, groups: Sequence[ResourceGroup]) -> Iterator[Finding]:
    if len(groups) > LIMITS["resource_groups"]:
        yield Finding(
            path,
            f"at most {LIMITS['resource_groups']} groups of flavors that share no resource; these are "
            f"{len(groups)} (Kueue: ClusterQueueSpec)",
            "move quotas to another queue of the cohort",
        )
    total = sum(len(group.flavors) for group in groups)
    if total > LIMITS["flavors_of_queue"]:
        yield Finding(
            path,
            f"at most {LIMITS['flavors_of_queue']} flavors; these are {total} (Kueue: ClusterQueueSpec)",
            "move quotas to another queue of the cohort",
        )
    for group in groups:
        if len(group.flavors) > LIMITS["flavors_in_group"]:
            yield Finding(
                path,
                f"at most {LIMITS['flavors_in_group']} flavors that share resources; these are "
                f"{len(group.flavors)} (Kueue: ResourceGroup)",
                "move quotas to another queue of the cohort",
            )


@rule("queues", "pools", "admission")
def checks_fit_into_a_queue(settings: Settings) -> Iterator[Finding]:
    """A queue has at most 64 admission checks, the check of queued pools included (Kueue:
    AdmissionChecksStrategy)."""
    if settings.admission.engine == "kai":
        return
    queued = {pool.flavor_name for pool in settings.pools if pool.queued}
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i, "checks")
        most = LIMITS["checks_of_queue"] - bool(queued.intersection(queue.quotas))
        if len(queue.checks) > most:
            yield Finding(
                path,
                f"at most {most} checks; these are {len(queue.checks)} (Kueue: AdmissionChecksStrategy)",
                "remove some, or let one controller decide several",
            )


@rule("queues", "pools", "admission")
def checks_apply_to_few_flavors(settings: Settings) -> Iterator[Finding]:
    """An admission check applies to at most 64 flavors of a queue, that of queued pools too; a check that
    names none applies to all (Kueue: AdmissionCheckStrategyRule.onFlavors)."""
    if settings.admission.engine == "kai":
        return
    most = LIMITS["flavors_of_check"]
    pools = {pool.flavor_name for pool in settings.pools if pool.queued}
    for i, queue in enumerate(settings.queues.cluster_queues):
        path: Path = ("muster:queues", "clusterQueues", i)
        queued = pools.intersection(queue.quotas)
        if len(queued) > most:
            yield Finding(
                (*path, "quotas"),
                f"at most {most} flavors of queued pools, to which one check applies; these are "
                f"{len(queued)} (Kueue: AdmissionCheckStrategyRule)",
                "move quotas to another queue of the cohort",
            )
        for check, flavors in queue.checks.items():
            if len(flavors) > most:
                yield Finding(
                    (*path, "checks", check),
                    f"at most {most} flavors; these are {len(flavors)} (Kueue: AdmissionCheckStrategyRule)",
                    "write [] if the check applies to all, or move quotas to another queue of the cohort",
                )
