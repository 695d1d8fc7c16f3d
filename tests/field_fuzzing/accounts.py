"""Compares what exists in a namespace with what was counted and allowed.

Requests are computed here from the pods as they exist (after Kubernetes' defaults), by Kubernetes' own rules
(component-helpers resource.PodRequests at v1.36), not by the controller's code.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lightkube import Client
from lightkube.generic_resource import create_namespaced_resource

from muster.admission.quantities import parse
from muster.objects.names import GROWTH_GATE
from sandbox.cluster import kinds

Object = dict[str, Any]

WORKLOAD_UID, CLUSTER = "muster.dev/workload-uid", "ray.io/cluster"
BATCH, RBAC, NETWORK = "batch", "rbac.authorization.k8s.io", "networking.k8s.io"
KINDS: Mapping[str, kinds.Kind] = {
    "Workload": kinds.Workload,
    "RayJob": kinds.RayJob,
    "RayCluster": kinds.RayCluster,
    "RayService": kinds.RayService,
    "Pod": kinds.Pod,
    "Job": create_namespaced_resource(BATCH, "v1", "Job", "jobs"),
    "Service": kinds.Service,
    "Secret": kinds.Secret,
    "PersistentVolumeClaim": kinds.PersistentVolumeClaim,
    "ServiceAccount": create_namespaced_resource("", "v1", "ServiceAccount", "serviceaccounts"),
    "Role": create_namespaced_resource(RBAC, "v1", "Role", "roles"),
    "RoleBinding": create_namespaced_resource(RBAC, "v1", "RoleBinding", "rolebindings"),
    "Ingress": create_namespaced_resource(NETWORK, "v1", "Ingress", "ingresses"),
    "ConfigMap": kinds.ConfigMap,
}
# Pods and what makes them come before and after the Workloads: a release between two lists is no fault.
ORDER = ("Workload", "Pod", "Job", *(k for k in KINDS if k not in ("Workload", "Pod", "Job")), "Workload")
# KubeRay creates these for a queued object; of a cluster's token, the Secret.
ALLOWED = {"Workload", "RayCluster", "Pod", "Job", "Service", "Secret", "PersistentVolumeClaim"}
# KubeRay creates these for Ray's autoscaler, with these rights (ray-operator/controllers/ray/common/rbac.go).
OF_AUTOSCALER = {"ServiceAccount", "Role", "RoleBinding"}
AUTOSCALER_RESOURCES = {"pods", "pods/resize", "rayclusters"}
SUBMITTED = {"RayJob", "RayCluster", "RayService"}


@dataclass
class Existing:
    """The objects of a namespace by kind. `workloads_before`: Workloads from before the pods were listed."""

    objects: dict[str, list[Object]] = field(default_factory=dict)
    workloads_before: list[Object] = field(default_factory=list)

    def uids(self) -> set[str]:
        return {o["metadata"]["uid"] for mine in self.objects.values() for o in mine}

    def by_uid(self) -> dict[str, tuple[str, Object]]:
        return {o["metadata"]["uid"]: (kind, o) for kind, mine in self.objects.items() for o in mine}


def look(client: Client, namespace: str) -> Existing:
    """Lists the objects of the namespace."""
    existing = Existing()
    for kind in ORDER:
        mine = [dict(o) for o in client.list(KINDS[kind], namespace=namespace)]
        if kind == "Workload" and "Workload" not in existing.objects:
            existing.workloads_before = mine
        existing.objects[kind] = mine
    return existing


def faults(existing: Existing, before: set[str]) -> dict[str, str]:
    """Returns sentences by the name of the Ray object that they are about, `""` if there is none. `before`:
    UIDs of objects that are not the tenant's."""
    faults_by_key: dict[str, str] = {}
    for name, sentence in (*_uncounted(existing), *_not_allowed(existing, before)):
        faults_by_key.setdefault(name, sentence)
    return faults_by_key


def _uncounted(existing: Existing) -> Iterator[tuple[str, str]]:
    """Yields Workloads with pods that request more than was counted, and pods without a Workload."""
    used: dict[str, Counter[str]] = {}
    for pod in existing.objects["Pod"]:
        if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed") and not _is_gated(pod):
            used.setdefault(submitted_for(pod, existing), Counter()).update(pod_requests(pod["spec"]))
    counted = [_counted(existing.workloads_before), _counted(existing.objects["Workload"])]
    for name, requests in used.items():
        for resource, amount in sorted(requests.items()):
            most = max(mine.get(name, Counter())[resource] for mine in counted)
            if amount > most and resource != "pods":
                yield name, f"pods of {name or 'nothing'} request {resource} {amount}, counted {most}"


def _is_gated(pod: Object) -> bool:
    """Returns whether it must not run yet: a worker of an autoscaled object that has no quota. A tenant can
    remove other gates."""
    return any(gate["name"] == GROWTH_GATE for gate in pod["spec"].get("schedulingGates") or ())


def submitted_for(obj: Object, existing: Existing) -> str:
    """Returns the kind and name of the Ray object that a tenant submitted and this one is for; empty if there
    is none: by the label of its Workload, by its owners, then by the label of its RayCluster."""
    labels = obj["metadata"].get("labels") or {}
    by_uid = existing.by_uid()
    if labels.get(WORKLOAD_UID) in by_uid:
        return submitted_for(by_uid[labels[WORKLOAD_UID]][1], existing)
    for _ in range(5):
        owners = [o for o in obj["metadata"].get("ownerReferences", ()) if o.get("controller")]
        if not owners or owners[0]["uid"] not in by_uid:
            return f"{owners[0]['kind']}/{owners[0]['name']}" if owners else ""
        kind, obj = by_uid[owners[0]["uid"]]
        if kind in SUBMITTED and not obj["metadata"].get("ownerReferences"):
            return f"{kind}/{obj['metadata']['name']}"
    return ""


def _counted(workloads: Iterable[Object]) -> dict[str, Counter[str]]:
    """Returns the admitted usage by the Ray object's kind and name."""
    counted: dict[str, Counter[str]] = {}
    for workload in workloads:
        (owner,) = workload["metadata"]["ownerReferences"]
        usage = counted.setdefault(f"{owner['kind']}/{owner['name']}", Counter())
        admission = workload.get("status", {}).get("admission") or {}
        for assigned in admission.get("podSetAssignments", ()):
            usage.update({r: parse(r, q) for r, q in assigned.get("resourceUsage", {}).items()})
    return counted


def pod_requests(spec: Mapping[str, Any]) -> Counter[str]:
    """Returns the effective requests of a pod: its own, else those of its containers; plus overhead."""
    running, starting = Counter[str](), Counter[str]()
    for container in spec.get("initContainers", ()):
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            running.update(own)
            own = Counter()
        starting |= running + own
    for container in spec.get("containers", ()):
        running.update(_requests(container))
    total = running | starting
    total.update({r: a - total[r] for r, a in _requests(spec).items()})
    total.update({r: parse(r, q) for r, q in spec.get("overhead", {}).items()})
    return total


def _requests(of: Mapping[str, Any]) -> Counter[str]:
    resources = of.get("resources") or {}
    return Counter({r: parse(r, q) for r, q in (resources.get("requests") or {}).items()})


def _not_allowed(existing: Existing, before: set[str]) -> Iterator[tuple[str, str]]:
    """Yields objects that no tenant's request may lead to."""
    admitted = {
        name for w in (existing.workloads_before, existing.objects["Workload"]) for name in _admitted(w)
    }
    autoscaled = {
        f"{kind}/{obj['metadata']['name']}"
        for kind in SUBMITTED
        for obj in existing.objects[kind]
        if _is_autoscaled(obj)
    }
    for kind, mine in existing.objects.items():
        for obj in mine:
            if obj["metadata"]["uid"] in before:
                continue
            name, of = f"{kind} {obj['metadata']['name']}", submitted_for(obj, existing)
            if kind in OF_AUTOSCALER and of in autoscaled and _rights(obj) <= AUTOSCALER_RESOURCES:
                continue
            if kind not in ALLOWED | SUBMITTED:
                yield of, f"{name} exists"
            elif kind in ("Pod", "Job") and of not in admitted:
                yield of, f"{name} exists, but {of or 'nothing'} was never admitted"
            elif kind == "Service" and (problem := _exposed(obj)):
                yield of, f"{name} {problem}"


def _is_autoscaled(obj: Object) -> bool:
    spec = obj.get("spec") or {}
    cluster = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    return bool(cluster.get("enableInTreeAutoscaling"))


def _rights(obj: Object) -> set[str]:
    """Returns the resources of a Role, or the kind that a RoleBinding names if it is not a Role; others have
    none."""
    bound = obj.get("roleRef", {}).get("kind", "Role")
    resources = {resource for rule in obj.get("rules") or () for resource in rule.get("resources") or ()}
    return resources | ({bound} - {"Role"})


def _admitted(workloads: Iterable[Object]) -> set[str]:
    return {
        f"{w['metadata']['ownerReferences'][0]['kind']}/{w['metadata']['ownerReferences'][0]['name']}"
        for w in workloads
        if (w.get("status") or {}).get("admission")
    }


def _exposed(service: Object) -> str:
    """Returns how a Service is more than an address of Ray's pods inside the cluster; empty if it is not."""
    spec, annotations = service["spec"], service["metadata"].get("annotations") or {}
    if spec.get("type", "ClusterIP") != "ClusterIP":
        return f"has the type {spec['type']}"
    for name in ("externalIPs", "externalName", "loadBalancerIP", "loadBalancerClass"):
        if spec.get(name):
            return f"has {name}"
    if any(port.get("nodePort") for port in spec.get("ports", ())):
        return "has a node port"
    if CLUSTER not in (spec.get("selector") or {}):
        return f"selects {spec.get('selector')}"
    prefixed = [k for k in annotations if "/" in k and not k.startswith(("app.kubernetes.io/", "ray.io/"))]
    return f"has the annotations {', '.join(prefixed)}" if prefixed else ""
