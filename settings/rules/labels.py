"""Rules of labels: keys that GKE and Kubernetes own, and values that others must match."""

from collections.abc import Iterable, Iterator

from settings.model.stack import Settings
from settings.model.tenants.tenant import Tenant
from settings.problems import Doubt, Finding, Path, did_you_mean
from settings.rules.registry import doubt, rule

# Domains of labels that are set by Kubernetes, GKE, Kueue and this stack.
OWNED = ("cloud.google.com", "gke.io", "k8s.io", "kubernetes.io", "muster.dev", "x-k8s.io")
# Kubernetes, NodeRestriction: labels that administrators set and kubelets cannot.
FREE = "node-restriction.kubernetes.io"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
LABEL_LENGTH_MAX = 63


@rule("pools")
def pool_labels_are_free(settings: Settings) -> Iterator[Finding]:
    """A pool's labels are in no domain of GKE, Kubernetes or this stack, which set such labels themselves
    (GKE API: NodeConfig.labels; Kubernetes, well-known labels)."""
    for i, pool in enumerate(settings.pools):
        for key in pool.labels:
            if owner := owning_domain(key):
                yield Finding(
                    ("muster:pools", i, "labels", key),
                    f"a label outside {owner}, whose labels are set by GKE, Kubernetes or this stack (GKE "
                    "API: NodeConfig.labels)",
                    "remove it, or choose a key of your own, such as example.com/purpose",
                )


def owning_domain(key: str) -> str | None:
    """Returns the domain of GKE, Kubernetes or this stack that owns the label; None for any other."""
    domain = key.rpartition("/")[0]
    if domain == FREE:
        return None
    return next((owned for owned in OWNED if domain == owned or domain.endswith(f".{owned}")), None)


@rule("pools", "admission", "queues")
def names_fit_in_labels(settings: Settings) -> Iterator[Finding]:
    """Names of queues, cohorts, flavors and priorities are values of labels on jobs, pods and metrics: they
    have at most 63 characters (Kubernetes, labels; Kueue, pkg/controller/constants)."""
    yield from _fit_in_labels(_names_in_labels(settings))


@rule("tenants")
def local_queues_fit_in_labels(settings: Settings) -> Iterator[Finding]:
    """Names of local queues are values of labels on jobs, so they have at most 63 characters (Kubernetes,
    labels; Kueue, pkg/controller/constants)."""
    yield from _fit_in_labels(
        (("muster:tenants", i, "queues", local), local)
        for i, tenant in enumerate(settings.tenants)
        for local in tenant.queues
    )


def _fit_in_labels(names: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    for path, name in names:
        if len(name) > LABEL_LENGTH_MAX:
            yield Finding(
                path,
                f"a name of at most {LABEL_LENGTH_MAX} characters, which is the value of a label "
                f"(Kubernetes, labels); this one has {len(name)}",
                "choose a shorter one",
            )


def _names_in_labels(settings: Settings) -> Iterator[tuple[Path, str]]:
    for name in settings.admission.priorities:
        yield ("muster:admission", "priorities", name), name
    for i, cohort in enumerate(settings.queues.cohorts):
        yield ("muster:queues", "cohorts", i, "name"), cohort.name
    for i, queue in enumerate(settings.queues.cluster_queues):
        yield ("muster:queues", "clusterQueues", i, "name"), queue.name
    for i, pool in enumerate(settings.pools):
        if pool.flavor:
            yield ("muster:pools", i, "flavor"), pool.flavor


@rule("queues", "tenants")
def queues_admit_their_tenants(settings: Settings) -> Iterator[Finding]:
    """A queue's `namespaces` match the namespaces of the tenants that use it, and of one tenant at least:
    otherwise their workloads are inadmissible (Kueue: ClusterQueueSpec.namespaceSelector)."""
    for i, queue in enumerate(settings.queues.cluster_queues):
        users = [tenant for tenant in settings.tenants if queue.name in tenant.queues.values()]
        for tenant in users or settings.tenants[:1]:
            labels = _labels(tenant)
            wrong = [key for key, value in queue.namespaces.items() if labels.get(key) != value]
            if not wrong or (not users and _matches_any(settings, queue.namespaces)):
                continue
            key, path = wrong[0], ("muster:queues", "clusterQueues", i, "namespaces")
            yield Finding(
                (*path, key),
                f"a label of {tenant.namespace}, the namespace of a tenant: "
                f"{', '.join(f'{name}: {value}' for name, value in labels.items())} (Kueue: "
                "namespaceSelector)",
                f"write {labels[key]}" if key in labels else did_you_mean(key, labels),
            )
            break


@doubt("kueue", "admission", "tenants")
def managed_namespaces_may_be_none(settings: Settings) -> Iterator[Doubt]:
    """The selector of managed namespaces matches a tenant's: otherwise no Pod, Deployment or StatefulSet of
    the stack's tenants is queued (Kueue: managedJobsNamespaceSelector)."""
    selector = settings.kueue.managed_namespaces
    if settings.admission.engine != "kueue" or not selector or not settings.tenants:
        return
    if not _matches_any(settings, selector):
        yield Doubt(
            ("muster:kueue", "managedNamespaces"),
            "no tenant's namespace has these labels, so Kueue queues none of their Pods, Deployments and "
            "StatefulSets; tenants' namespaces have muster.dev/tenant: true",
            "Kueue: managedJobsNamespaceSelector",
        )


def _labels(tenant: Tenant) -> dict[str, str]:
    return {NAMESPACE_NAME: tenant.namespace, **tenant.namespace_labels}


def _matches_any(settings: Settings, selector: dict[str, str]) -> bool:
    return any(selector.items() <= _labels(tenant).items() for tenant in settings.tenants)
