"""KubeRay's Redis clean-up: the Job that follows the head of a deleted RayCluster with GCS fault tolerance.

KubeRay creates it for clusters that were never admitted too, with the init containers of the head and on its
nodes (ray-operator/controllers/ray/raycluster_controller.go at v1.6.2: buildRedisCleanupJob). The controller
removes KubeRay's finalizer where there is no quota for it (muster/controller/gangs/redis_cleanup.py).
"""

from components.admission.ray import Policy, optional, value_at
from components.admission.templates import head
from muster.cluster.jobs.job_kind import JobKind
from muster.objects.names import WORKLOAD_UID_LABEL
from settings.model.tenants.tenant import QUEUE_REQUIRED

NODE_TYPE, REDIS_CLEANUP = "ray.io/node-type", "redis-cleanup"
FT_ENABLED = "ray.io/ft-enabled"
COUNTED = ("cpu", "memory", "ephemeral-storage")

# For KubeRay as well, and only where all Ray objects are queued: others run their clean-up outside of queues.
REDIS_CLEANUP_HAS_QUOTA = Policy(
    name="muster-redis-cleanup-has-quota",
    group="batch",
    resources=("jobs",),
    operations=("CREATE",),
    rules={
        f'object.metadata.labels["{NODE_TYPE}"] != "{REDIS_CLEANUP}" || '
        f'object.spec.?template.?metadata.?labels[?"{WORKLOAD_UID_LABEL}"].hasValue()': (
            "in this namespace Ray's pods need quota, and this RayCluster has none for its Redis clean-up: "
            "if the cluster has run, delete its storage namespace from Redis manually"
        )
    },
    label=NODE_TYPE,
    namespaces=QUEUE_REQUIRED,
)


def heads_without_devices(kind: JobKind) -> dict[str, str]:
    """Returns the rule for heads with GCS fault tolerance: their clean-up never needs devices."""
    options = f"{optional('object', f'{kind.ray_cluster}.gcsFaultToleranceOptions')}.hasValue()"
    annotated = f'object.metadata.?annotations[?"{FT_ENABLED}"].orValue("").lowerAscii() == "true"'
    counted = ", ".join(f'"{resource}"' for resource in COUNTED)
    pod = f"{head(kind)}.template.spec"
    resources = "[c.?resources.?requests.orValue({}), c.?resources.?limits.orValue({})]"
    init_containers = (
        f"{value_at('object', f'{pod}.initContainers', '[]')}"
        f".all(c, {resources}.all(r, r.all(k, k in [{counted}])))"
    )
    claims = f"{value_at('object', f'{pod}.resourceClaims', '[]')}.size() == 0"
    return {
        f"!({options} || {annotated}) || ({init_containers} && {claims})": (
            f"the head of a queued {kind.name} with GCS fault tolerance has no resourceClaims, and its init "
            f"containers ask for {', '.join(COUNTED)} only, as KubeRay's Redis clean-up has them too: remove "
            "the others"
        )
    }
