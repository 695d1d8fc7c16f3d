"""Rules of the objects that are created in tenants' namespaces: a ResourceQuota counts them too."""

from collections.abc import Iterator
from typing import NamedTuple

from settings.model.base import amount
from settings.model.stack import Settings
from settings.model.tenants.tenant import Tenant
from settings.problems import Doubt, Finding
from settings.rules.queues import flavors_of_queues
from settings.rules.registry import doubt, rule
from settings.rules.tenants import tenants_of

NO_RAY = "without them no Ray object starts"
NO_DEPLOYMENT = "without them the stack cannot be deployed"


class Created(NamedTuple):
    """The least number of objects of a resource, which they are, and the effect of a lower bound."""

    least: int
    objects: str
    effect: str = f"{NO_RAY} (KubeRay)"


IN_EACH = {
    "services": Created(1, "the Service of each head"),
    "configmaps": Created(
        1, "the certificates of the API server, which Kubernetes puts into each namespace", NO_RAY
    ),
    "endpointslices.discovery.k8s.io": Created(
        1, "the addresses of each head, by which workers find it", f"{NO_RAY} (Kubernetes, EndpointSlice)"
    ),
    "resourcequotas": Created(1, "this ResourceQuota", NO_DEPLOYMENT),
}
FOR_RAYJOBS = {
    "rayclusters.ray.io": Created(1, "the RayCluster of each RayJob"),
    "jobs.batch": Created(1, "the Job that submits each RayJob"),
}
WORKLOADS = Created(
    1, "the Workload by which each job is queued", "without them no job is admitted (Kueue: Workload)"
)
REQUESTS = Created(
    1,
    "the request for the nodes of each gang",
    "without them no gang of a queued pool starts (GKE, queued provisioning)",
)
POD_GROUPS = Created(1, "the PodGroup of each gang", "without them no gang is scheduled (KAI-scheduler)")


def _created(settings: Settings, tenant: Tenant, queued: bool) -> dict[str, Created]:
    """Returns what is created in the tenant's namespace, by its resource in a ResourceQuota.

    queued: whether the tenant's queues have a queued pool.
    """
    own = 1 if tenant.identity else 0
    created = {**IN_EACH}
    created["serviceaccounts"] = Created(
        1 + own, "the account `default`" + (" and that of `identity`" if own else ""), NO_DEPLOYMENT
    )
    if settings.admission.engine == "kai":
        created["podgroups.scheduling.run.ai"] = POD_GROUPS
    else:
        created["workloads.kueue.x-k8s.io"] = WORKLOADS
        created["localqueues.kueue.x-k8s.io"] = Created(len(tenant.queues), "its local queues", NO_DEPLOYMENT)
        if queued:
            created["provisioningrequests.autoscaling.x-k8s.io"] = REQUESTS
    if tenant.network.isolated:
        policies = "the NetworkPolicies of the namespace"
        created["networkpolicies.networking.k8s.io"] = Created(1, policies, NO_DEPLOYMENT)
    if tenant.group:
        created["rolebindings.rbac.authorization.k8s.io"] = Created(1, "the rights of `group`", NO_DEPLOYMENT)
    if tenant.ray_auth:
        created["secrets"] = Created(1, "the tokens of Ray clusters")
    if tenant.checkpoints or tenant.storage:
        created["persistentvolumeclaims"] = Created(1, "claims of `checkpoints` and `storage`", NO_RAY)
    if amount(tenant.resource_quota.get("count/rayjobs.ray.io", "1")):
        created |= FOR_RAYJOBS
    return created


@rule("admission", "pools", "queues", "tenants")
def quotas_let_created_objects_in(settings: Settings) -> Iterator[Finding]:
    """A ResourceQuota leaves room for the objects that Kubernetes, KubeRay, the engine and the stack create
    in the namespace: without them, jobs are not queued, or hold quota of their queue and never start
    (KubeRay, ray-operator/controllers/ray; Kueue: Workload)."""
    queued_queues = {queue.name for _, queue, pool in flavors_of_queues(settings) if pool.queued}
    for path, tenant in tenants_of(settings):
        queued = bool(queued_queues.intersection(tenant.queues.values()))
        for resource, created in _created(settings, tenant, queued).items():
            for key in (resource, f"count/{resource}"):
                hard = tenant.resource_quota.get(key)
                if hard is not None and amount(hard) < created.least:
                    yield Finding(
                        (*path, "resourceQuota", key),
                        f"at least {created.least}, for {created.objects}: {created.effect}",
                        "raise it, or remove it",
                    )


@doubt("tenants")
def clusters_may_be_refused(settings: Settings) -> Iterator[Doubt]:
    """A ResourceQuota that bounds RayClusters bounds RayJobs too: KubeRay creates a RayCluster for each
    (KubeRay, rayjob_controller.go). `quotas_let_created_objects_in` refuses a bound of 0."""
    for path, tenant in tenants_of(settings):
        key, jobs = "count/rayclusters.ray.io", tenant.hard_limits["count/rayjobs.ray.io"]
        hard = tenant.resource_quota.get(key)
        if hard is not None and 0 < amount(hard) < amount(jobs):
            yield Doubt(
                (*path, "resourceQuota", key),
                f"KubeRay creates a RayCluster for each RayJob, of which there may be {jobs}: if it is "
                "refused, its job has quota of its queue and no pods; lower count/rayjobs.ray.io too",
                "KubeRay, rayjob_controller.go",
            )
