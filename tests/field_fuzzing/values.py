"""Random values of fields that Kubernetes and KubeRay usually accept: by subtree, else by name and type."""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from components.admission.fields.schema import Field, FieldAddress

Generator = Callable[[Random], Any]
CPUS, MEMORY = ("10m", "100m", "250m", "1", "2"), ("16Mi", "64Mi", "256Mi", "1Gi")
GPU = "nvidia.com/gpu"
# Annotations and labels that KubeRay acts on (ray-operator/controllers/ray/utils/constant.go at v1.6.2).
KUBERAY_KEYS = (
    "ray.io/ft-enabled",
    "ray.io/gcs-ft-deletion-timeout",
    "ray.io/overwrite-container-cmd",
    "ray.io/initializing-timeout",
    "ray.io/disable-provisioned-head-restart",
    "ray.io/external-storage-namespace",
    "ray.io/gang-scheduling-enabled",
    "ray.io/priority-class-name",
)


def amounts(random: Random) -> dict[str, str]:
    some = {"cpu": random.choice(CPUS), "memory": random.choice(MEMORY)}
    return {name: some[name] for name in random.sample(sorted(some), random.choice((1, 2)))}


def resources(random: Random) -> dict[str, Any]:
    asked = amounts(random)
    return random.choice(({"requests": asked}, {"limits": asked}, {"requests": asked, "limits": dict(asked)}))


def container(random: Random) -> dict[str, Any]:
    extra: dict[str, Any] = {"resources": resources(random)} if random.random() < 0.8 else {}
    return {"name": f"c{random.randrange(10**6)}", "image": "busybox:1", **extra}


def init_container(random: Random) -> dict[str, Any]:
    sidecar = {"restartPolicy": "Always"} if random.random() < 0.5 else {}
    return {**container(random), **sidecar}


def volume(random: Random) -> dict[str, Any]:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    source: dict[str, Any] = random.choice(
        (
            {"emptyDir": {}},
            {"emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            {"configMap": {"name": "some", "optional": True}},
            {"secret": {"secretName": "some", "optional": True}},
            {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            {"ephemeral": {"volumeClaimTemplate": claim}},
            {"persistentVolumeClaim": {"claimName": "some"}},
        )
    )
    return {"name": f"v{random.randrange(10**6)}", **source}


def probe(random: Random) -> dict[str, Any]:
    return {"exec": {"command": ["true"]}, "periodSeconds": random.choice((1, 10))}


def handler(random: Random) -> dict[str, Any]:
    return {random.choice(("preStop", "postStart")): {"exec": {"command": ["true"]}}}


def environment(random: Random) -> dict[str, Any]:
    names = ("MINE", "RAY_REDIS_ADDRESS", "REDIS_PASSWORD", "RAY_enable_autoscaler_v2", "RAY_ADDRESS")
    return {"name": random.choice(names), "value": random.choice(("", "1", "redis:6379"))}


def node_affinity(random: Random) -> dict[str, Any]:
    expression = {"key": "kubernetes.io/os", "operator": random.choice(("Exists", "DoesNotExist"))}
    term = {"matchExpressions": [expression]}
    preferred = [{"weight": 1, "preference": term}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def spread(random: Random) -> dict[str, Any]:
    key = random.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone"))
    return {"maxSkew": random.choice((1, 5)), "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}


def toleration(random: Random) -> dict[str, Any]:
    return {"key": random.choice(("example.com/mine", "nvidia.com/gpu")), "operator": "Exists"}


def port(random: Random) -> dict[str, Any]:
    return {"containerPort": random.randrange(1024, 9000), "name": f"p{random.randrange(1000)}"}


def service_port(random: Random) -> dict[str, Any]:
    return {"name": f"p{random.randrange(1000)}", "port": random.randrange(1024, 9000)}


def redis(random: Random) -> dict[str, Any]:
    return {"redisAddress": "redis:6379"}


def autoscaler(random: Random) -> dict[str, Any]:
    return {"resources": resources(random), "idleTimeoutSeconds": 60}


def object_metadata(random: Random) -> dict[str, Any]:
    keys = (*KUBERAY_KEYS, "example.com/mine")
    return {
        random.choice(("annotations", "labels")): {random.choice(keys): random.choice(("true", "60", ""))}
    }


# By definition or kind, and path.
SUBTREES: Mapping[tuple[str, str], Generator] = {
    ("RayJob", "metadata"): object_metadata,
    ("RayCluster", "metadata"): object_metadata,
    ("RayService", "metadata"): object_metadata,
    ("RayJob", "spec.submissionMode"): lambda r: r.choice(("K8sJobMode", "HTTPMode", "SidecarMode")),
    ("RayJob", "spec.ttlSecondsAfterFinished"): lambda r: r.choice((0, 60, 3600)),
    ("RayJob", "spec.backoffLimit"): lambda r: r.choice((0, 1, 3)),
    ("RayJob", "spec.activeDeadlineSeconds"): lambda r: r.choice((60, 3600)),
    ("RayJob", "spec.jobId"): lambda r: f"id-{r.randrange(1000)}",
    ("RayJob", "spec.runtimeEnvYAML"): lambda r: r.choice(("", "env_vars: {A: b}", "{{{")),
    ("RayJob", "spec.submitterConfig"): lambda r: {"backoffLimit": r.choice((0, 2))},
    ("RayJob", "spec.entrypointResources"): lambda r: '{"custom": 1}',
    ("RayService", "spec.upgradeStrategy"): lambda r: {"type": r.choice(("None", "NewCluster"))},
    ("RayClusterSpec", "gcsFaultToleranceOptions"): redis,
    ("RayClusterSpec", "autoscalerOptions"): autoscaler,
    ("RayClusterSpec", "authOptions"): lambda r: {"mode": r.choice(("token", "disabled"))},
    ("RayClusterSpec", "upgradeStrategy"): lambda r: {"type": r.choice(("Recreate", "None"))},
    ("RayClusterSpec", "rayVersion"): lambda r: r.choice(("2.46.0", "2.52.0", "2.55.0")),
    ("RayClusterSpec", "headServiceAnnotations"): lambda r: {"team": "a"},
    ("RayClusterSpec", "workerGroupSpecs[].replicas"): lambda r: r.randrange(4),
    ("RayClusterSpec", "workerGroupSpecs[].minReplicas"): lambda r: r.randrange(3),
    ("RayClusterSpec", "workerGroupSpecs[].maxReplicas"): lambda r: r.randrange(1, 5),
    ("RayClusterSpec", "workerGroupSpecs[].numOfHosts"): lambda r: r.randrange(1, 3),
    ("RayClusterSpec", "headGroupSpec.resources"): lambda r: {"CPU": "8", "GPU": "8"},
    ("RayClusterSpec", "workerGroupSpecs[].resources"): lambda r: {"CPU": "8", "GPU": "8"},
    ("RayClusterSpec", "headGroupSpec.rayStartParams"): lambda r: {"num-cpus": r.choice(("0", "64"))},
    ("RayClusterSpec", "workerGroupSpecs[].rayStartParams"): lambda r: {"num-cpus": r.choice(("0", "64"))},
    ("PodTemplateSpec", "metadata.labels"): lambda r: {
        r.choice(("team", "ray.io/cluster", "ray.io/group")): "x"
    },
    ("PodTemplateSpec", "spec.resources"): lambda r: {"requests": amounts(r)},
    ("PodTemplateSpec", "spec.overhead"): amounts,
    ("PodTemplateSpec", "spec.volumes[]"): volume,
    ("PodTemplateSpec", "spec.containers[]"): container,
    ("PodTemplateSpec", "spec.initContainers[]"): init_container,
    ("PodTemplateSpec", "spec.affinity"): node_affinity,
    ("PodTemplateSpec", "spec.topologySpreadConstraints[]"): spread,
    ("PodTemplateSpec", "spec.tolerations[]"): toleration,
    ("PodTemplateSpec", "spec.securityContext"): lambda r: {"runAsUser": r.choice((0, 1000))},
    ("PodTemplateSpec", "spec.dnsConfig"): lambda r: {"options": [{"name": "ndots", "value": "1"}]},
    ("PodTemplateSpec", "spec.os"): lambda r: {"name": "linux"},
    ("PodTemplateSpec", "spec.hostAliases[]"): lambda r: {"ip": "10.1.2.3", "hostnames": ["mine"]},
    ("PodTemplateSpec", "spec.readinessGates[]"): lambda r: {"conditionType": "example.com/mine"},
    ("PodTemplateSpec", "spec.terminationGracePeriodSeconds"): lambda r: r.choice((0, 1, 30, 300)),
    ("PodTemplateSpec", "spec.ephemeralContainers[]"): container,
    ("PodTemplateSpec", "spec.nodeSelector"): lambda r: {"kubernetes.io/os": "linux"},
    ("PodTemplateSpec", "spec.serviceAccountName"): lambda r: "default",
    ("PodTemplateSpec", "spec.serviceAccount"): lambda r: "default",
    ("Container", "resources"): resources,
    ("Container", "env[]"): environment,
    ("Container", "envFrom[]"): lambda r: {"configMapRef": {"name": "some", "optional": True}},
    ("Container", "ports[]"): port,
    ("Container", "lifecycle"): handler,
    ("Container", "livenessProbe"): probe,
    ("Container", "readinessProbe"): probe,
    ("Container", "startupProbe"): probe,
    ("Container", "securityContext"): lambda r: {"runAsUser": r.choice((0, 1000))},
    ("Container", "resizePolicy[]"): lambda r: {"resourceName": "cpu", "restartPolicy": "NotRequired"},
    ("Container", "image"): lambda r: r.choice(("busybox:1", "rayproject/ray:2.52.0")),
    ("Service", "spec.ports[]"): service_port,
    ("Service", "spec.externalIPs[]"): lambda r: "203.0.113.7",
    ("Service", "spec.type"): lambda r: r.choice(("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")),
}
CHOICES: Mapping[str, tuple[str, ...]] = {
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "dnsPolicy": ("ClusterFirst", "Default"),
    "restartPolicy": ("Always", "Never", "OnFailure"),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
    "protocol": ("TCP", "UDP"),
    "serviceType": ("ClusterIP", "NodePort", "LoadBalancer"),
}


def subtree_of(address: FieldAddress) -> tuple[str, Generator] | None:
    """Returns the path within the kind, and the generator, of the innermost known subtree with this field."""
    whole = address.within[0][1]
    defaults = [
        (len(path) - len(subtree), subtree, generator)
        for owner, path in address.within
        for (other, subtree), generator in SUBTREES.items()
        if other == owner and re.match(rf"{re.escape(subtree)}($|[.\[{{])", path)
    ]
    if not defaults:
        return None
    below, _, generator = min(defaults, key=lambda entry: entry[0])
    return whole[: len(whole) - below], generator


def value_of(field: Field, random: Random) -> Any:
    """Returns a random value by the field's name and type."""
    name = re.split(r"[.\[{]", field.path.rstrip("[]{}"))[-1]
    match field.type:
        case "boolean":
            return random.random() < 0.7
        case "integer" | "number":
            return random.choice((0, 1, 2, 30, 8080, 65535, 2**31 - 1, -1))
        case "int-or-string":
            return random.choice(CPUS)
        case "object":
            return {}
    if field.enum:
        return random.choice(field.enum)
    return random.choice(CHOICES.get(name, ("mine", "some", "x", "")))
