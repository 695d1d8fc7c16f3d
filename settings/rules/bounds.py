"""Rules of the bounds of tenants: LimitRanges and ResourceQuotas."""

from collections.abc import Iterator

from muster.cluster.jobs.added_containers import SUBMITTER_RESOURCES
from settings.model.base import amount
from settings.model.pools.pool import Pool
from settings.model.queues.queue import ClusterQueue
from settings.model.stack import Settings
from settings.model.tenants.limits import Limits
from settings.model.tenants.tenant import STORAGE, Tenant
from settings.problems import Doubt, Finding, Path, did_you_mean
from settings.proof.gangs import smallest_gang
from settings.rules.queues import flavors_of_queues
from settings.rules.registry import doubt, rule
from settings.rules.tenants import tenants_of

# Bounds of a LimitRange in ascending order (kubernetes.io/docs/concepts/policy/limit-range).
ASCENDING = ("min", "defaultRequest", "default", "max")
VENDORS = ("nvidia.com/", "google.com/")
PARTITIONED = "nvidia.com/mig-"


@rule("tenants")
def limits_are_in_order(settings: Settings) -> Iterator[Finding]:
    """Bounds of a LimitRange are in order: min, defaultRequest, default, max (k8s.io/kubernetes,
    pkg/apis/core/validation)."""
    for path, tenant in tenants_of(settings):
        if tenant.limits is None:
            continue
        limits = tenant.limits.model_dump(by_alias=True)
        for place, lower in enumerate(ASCENDING):
            for higher in ASCENDING[place + 1 :]:
                for resource in limits[lower].keys() & limits[higher].keys():
                    if amount(limits[lower][resource]) > amount(limits[higher][resource]):
                        yield Finding(
                            (*path, "limits", lower, resource),
                            f"at most `{higher}`, which is {limits[higher][resource]}",
                            f"lower `{lower}` or raise `{higher}`",
                        )


@rule("pools", "tenants")
def bounds_are_of_resources_that_nodes_have(settings: Settings) -> Iterator[Finding]:
    """Bounds on devices name a resource that nodes of the stack have: any other one bounds nothing
    (Kubernetes, resource quotas for extended resources)."""
    resources = sorted({resource for pool in settings.pools for resource in pool.capacity if "/" in resource})
    for path, tenant in tenants_of(settings):
        bounds: list[tuple[Path, str]] = [
            (("resourceQuota", key), key.removeprefix("requests.")) for key in tenant.resource_quota
        ]
        for bound, amounts in tenant.limits.model_dump(by_alias=True).items() if tenant.limits else ():
            bounds += [(("limits", bound, resource), resource) for resource in amounts]
        for place, resource in bounds:
            whole_devices = resource.startswith(VENDORS) and not resource.startswith(PARTITIONED)
            if whole_devices and resource not in resources:
                prefix = "requests." if place[0] == "resourceQuota" else ""
                yield Finding(
                    (*path, *place),
                    f"a resource that nodes of the stack have: {', '.join(resources) or 'none are devices'}",
                    did_you_mean(str(place[-1]), [f"{prefix}{name}" for name in resources]),
                )


@rule("queues", "tenants")
def quotas_let_gangs_in(settings: Settings) -> Iterator[Finding]:
    """A ResourceQuota is at least the nominal quota of the tenant's queues: a gang that these admit and the
    ResourceQuota does not would start only partially (Kubernetes, resource quotas)."""
    queues = {queue.name: queue for queue in settings.queues.cluster_queues}
    for path, tenant in tenants_of(settings):
        targets = [queues[name] for name in dict.fromkeys(tenant.queues.values()) if name in queues]
        for key, hard in tenant.resource_quota.items():
            resource = key.removeprefix("requests.")
            nominal = [
                quotas[resource].nominal
                for queue in targets
                for quotas in queue.quotas.values()
                if resource in quotas
            ]
            if amount(hard) < sum(map(amount, nominal)):
                yield Finding(
                    (*path, "resourceQuota", key),
                    f"at least the nominal quota of its queues, {' + '.join(nominal)}: otherwise a gang "
                    "that they admit may start only partially",
                    "raise it, or lower the queues' quotas",
                )


@rule("pools", "queues", "tenants")
def limits_let_gangs_in(settings: Settings) -> Iterator[Finding]:
    """A LimitRange lets in the containers of the smallest gang of one flavor of the tenant's queues
    (Kubernetes, LimitRange)."""
    for path, tenant in tenants_of(settings):
        gangs = [smallest_gang(pool, queue) for queue, pool in _flavors_of(tenant, settings)]
        for resource, most in tenant.limits.max.items() if tenant.limits else ():
            needed = [amount(gang.requests.get(resource, "0")) for gang in gangs]
            if needed and min(needed) > amount(most):
                yield Finding(
                    (*path, "limits", "max", resource),
                    f"bounds within which a gang of its queues runs, such as {gangs[0]} (Kubernetes, "
                    "LimitRange)",
                    "raise it",
                )


@rule("pools", "queues", "tenants")
def quotas_let_all_pods_in(settings: Settings) -> Iterator[Finding]:
    """A ResourceQuota lets in the pods of a tenant's smallest RayJob: its head, its submitter, and a worker
    or the hosts of a TPU slice (Kubernetes, object count quota)."""
    for path, tenant in tenants_of(settings):
        workers = min((pool.slice_nodes for _, pool in _flavors_of(tenant, settings)), default=1)
        for key in ("pods", "count/pods"):
            hard = tenant.resource_quota.get(key)
            if hard is not None and amount(hard) < workers + 2:
                yield Finding(
                    (*path, "resourceQuota", key),
                    f"at least {workers + 2}, the pods of the smallest RayJob of its queues: otherwise a "
                    "gang that they admit starts only partially",
                    "raise it, or remove it",
                )


@doubt("pools", "queues", "tenants")
def devices_may_be_refused(settings: Settings) -> Iterator[Doubt]:
    """A LimitRange lets in a container with one device of each flavor of the tenant's queues (Kubernetes,
    LimitRange). `limits_let_gangs_in` refuses bounds that let in no gang of any flavor."""
    for path, tenant in tenants_of(settings):
        gangs = [smallest_gang(pool, queue) for queue, pool in _flavors_of(tenant, settings)]
        for resource, most in tenant.limits.max.items() if tenant.limits else ():
            refused = [
                gang.flavor
                for gang in gangs
                if "/" in resource and amount(gang.requests.get(resource, "0")) > amount(most)
            ]
            if refused:
                yield Doubt(
                    (*path, "limits", "max", resource),
                    f"no worker may have a device of flavor {' or '.join(refused)}, of which its queues have "
                    "quota",
                    "Kubernetes, LimitRange",
                )


@doubt("tenants")
def submitters_may_be_refused(settings: Settings) -> Iterator[Doubt]:
    """A LimitRange lets in the submitter that KubeRay adds to a RayJob, unless each job configures its own
    (KubeRay, common/job.go: GetDefaultSubmitterTemplate; Kubernetes, LimitRange)."""
    for path, tenant in tenants_of(settings):
        bounds = tenant.limits or Limits()
        for resource in ("cpu", "memory"):
            requests, limits = (SUBMITTER_RESOURCES[key][resource] for key in ("requests", "limits"))
            least, most = bounds.min.get(resource), bounds.max.get(resource)
            if least is not None and amount(least) > amount(requests):
                yield _refuses((*path, "limits", "min", resource), f"requests {requests} of {resource}")
            if most is not None and amount(most) < amount(limits):
                yield _refuses((*path, "limits", "max", resource), f"has a limit of {limits} of {resource}")


def _refuses(path: Path, why: str) -> Doubt:
    return Doubt(
        path,
        f"the submitter that KubeRay adds to a RayJob {why}: Kubernetes refuses its pod, and the job does "
        "not end, unless it has a `submitterPodTemplate`",
        "KubeRay, GetDefaultSubmitterTemplate",
    )


def _flavors_of(tenant: Tenant, settings: Settings) -> Iterator[tuple[ClusterQueue, Pool]]:
    """Yields the flavors of the tenant's cluster queues, each with its queue and pool."""
    targets = tenant.queues.values()
    yield from ((q, pool) for _, q, pool in flavors_of_queues(settings) if q.name in targets)


@doubt("tenants")
def pods_may_lack_limits(settings: Settings) -> Iterator[Doubt]:
    """A ResourceQuota of limits refuses pods whose containers have no such limit (Kubernetes, compute
    resource quota)."""
    for path, tenant in tenants_of(settings):
        defaults = tenant.limits.default if tenant.limits else {}
        for key in tenant.resource_quota:
            prefix, _, resource = key.partition(".")
            if prefix == "limits" and resource not in defaults:
                yield Doubt(
                    (*path, "resourceQuota", key),
                    f"Kubernetes refuses pods with a container that has no limit of {resource}; `limits: "
                    f"{{default: {{{resource}: …}}}}` gives them one",
                    "Kubernetes, compute resource quota",
                )


@rule("tenants")
def storage_has_one_bound(settings: Settings) -> Iterator[Finding]:
    """A tenant's storage is bounded by `storage` or by `resourceQuota`, not by both (Kubernetes, storage
    resource quota)."""
    for path, tenant in tenants_of(settings):
        if tenant.storage is not None and STORAGE in tenant.resource_quota:
            yield Finding(
                (*path, "resourceQuota", STORAGE),
                "no value: `storage` is the bound, and lets the team create claims",
                "remove one of them",
            )


@rule("tenants")
def storage_holds_claims(settings: Settings) -> Iterator[Finding]:
    """A tenant with `storage` may claim some: without the key, administrators create its claims (Kubernetes,
    storage resource quota)."""
    for path, tenant in tenants_of(settings):
        if tenant.storage is not None and not amount(tenant.storage):
            yield Finding(
                (*path, "storage"),
                "more than 0: nothing could be claimed, also no ephemeral volume",
                "raise it, or remove it: an administrator then creates the team's claims",
            )
