"""Rules of queues: their names and their tree."""

from collections.abc import Iterator

from settings.model.stack import Settings
from settings.problems import Finding, Path, did_you_mean
from settings.rules.names import unique


def queue_names_are_unique(settings: Settings) -> Iterator[Finding]:
    """Cohorts, cluster queues and namespaces each have unique names (Kubernetes, object names)."""
    queues = settings.queues
    cohorts = ((("muster:queues", "cohorts", i, "name"), c.name) for i, c in enumerate(queues.cohorts))
    yield from unique(cohorts, "cohort name")
    cluster_queues = (
        (("muster:queues", "clusterQueues", i, "name"), q.name) for i, q in enumerate(queues.cluster_queues)
    )
    yield from unique(cluster_queues, "cluster queue name")
    tenants = ((("muster:tenants", i, "namespace"), t.namespace) for i, t in enumerate(settings.tenants))
    yield from unique(tenants, "namespace")


def cohorts_form_trees(settings: Settings) -> Iterator[Finding]:
    """A cohort has a parent in the file, and cohorts form trees (Kueue: Cohort.spec.parentName)."""
    reported: set[str] = set()
    parents = {cohort.name: cohort.parent for cohort in settings.queues.cohorts}
    for i, cohort in enumerate(settings.queues.cohorts):
        path: Path = ("muster:queues", "cohorts", i, "parent")
        if cohort.parent is not None and cohort.parent not in parents:
            yield Finding(path, "the name of a cohort in this file", did_you_mean(cohort.parent, parents))
            continue
        chain, above = [cohort.name], cohort.parent
        while above is not None and above not in chain:
            chain.append(above)
            above = parents.get(above)
        if above == cohort.name and above not in reported:
            reported.update(chain)
            yield Finding(
                path,
                f"a tree; this is a cycle: {' -> '.join([*chain, above])}",
                "remove `parent` from one of them",
            )


def cluster_queues_name_cohorts(settings: Settings) -> Iterator[Finding]:
    """The cohort of a cluster queue is in the file: a misspelt one would be a cohort of its own (Kueue:
    ClusterQueueSpec.cohortName)."""
    cohorts = [cohort.name for cohort in settings.queues.cohorts]
    for i, queue in enumerate(settings.queues.cluster_queues):
        if queue.cohort is not None and queue.cohort not in cohorts:
            yield Finding(
                ("muster:queues", "clusterQueues", i, "cohort"),
                "the name of a cohort in this file",
                did_you_mean(queue.cohort, cohorts),
            )
