"""Fields of declared objects that controllers legitimately own, each with a reason: they are not drift."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from drift.managed_fields import writers
from preview.resources.differences import Path

Object = dict[str, Any]

_ANNOTATIONS = ("metadata", "annotations")
_FINALIZERS = ("metadata", "finalizers")
# cert-controller in Kueue and KAI, cert-manager, and the charts' own jobs.
_CERTIFICATE_MANAGERS = ("cainjector", "cert-manager-cainjector", "kueue", "manager", "kuberay-operator")


@dataclass(frozen=True)
class Owned:
    """A field and its owner.

    kinds: empty for all. path: each step a key or a pattern of keys; in a list of strings a pattern of
    items, in one of objects `*`, for the item of the same name. managers: the field must be written by one
    of these; empty if its value can do no harm.
    """

    kinds: tuple[str, ...]
    path: tuple[str, ...]
    why: str
    managers: tuple[str, ...] = ()


OWNED = (
    Owned((), ("status",), "every controller reports there"),
    Owned(
        (),
        (*_FINALIZERS, "kueue.x-k8s.io/*"),
        "Kueue and Muster keep queues, flavors and checks that are in use",
    ),
    Owned((), (*_FINALIZERS, "customresourcecleanup.apiextensions.k8s.io"), "the API server, on CRDs"),
    Owned((), (*_FINALIZERS, "foregroundDeletion"), "the garbage collector, during a deletion"),
    Owned((), (*_FINALIZERS, "kubernetes.io/pvc-protection"), "kube-controller-manager, on volumes in use"),
    Owned((), (*_FINALIZERS, "networking.gke.io/*"), "GKE deletes load balancers before their objects"),
    Owned((), (*_FINALIZERS, "service.kubernetes.io/load-balancer-cleanup"), "GKE, as above"),
    Owned((), (*_FINALIZERS, "gateway.finalizer.networking.gke.io"), "GKE, as above"),
    Owned(
        ("Deployment",),
        (*_ANNOTATIONS, "deployment.kubernetes.io/revision"),
        "kube-controller-manager numbers the ReplicaSets",
    ),
    Owned(
        ("DaemonSet",),
        (*_ANNOTATIONS, "deprecated.daemonset.template.generation"),
        "kube-controller-manager numbers the templates",
    ),
    Owned(
        ("Deployment", "DaemonSet", "StatefulSet"),
        ("spec", "template", *_ANNOTATIONS, "kubectl.kubernetes.io/restartedAt"),
        "a restart (`rollout restart`) only sets this; reverting it would restart the pods again",
    ),
    Owned(
        ("PersistentVolumeClaim",),
        ("spec", "volumeName"),
        "the volume that was bound",
        ("kube-controller-manager",),
    ),
    Owned(("PersistentVolumeClaim",), (*_ANNOTATIONS, "pv.kubernetes.io/*"), "the volume's binding"),
    Owned(("PersistentVolumeClaim",), (*_ANNOTATIONS, "volume.kubernetes.io/*"), "the volume's provisioning"),
    Owned(("Ingress",), (*_ANNOTATIONS, "ingress.kubernetes.io/*"), "GKE names the load balancer's parts"),
    Owned(("Gateway", "HTTPRoute"), (*_ANNOTATIONS, "networking.gke.io/*"), "GKE, as for an Ingress"),
    Owned(("Service",), (*_ANNOTATIONS, "cloud.google.com/neg"), "GKE adds it to Services at their creation"),
    Owned(("Service",), (*_ANNOTATIONS, "cloud.google.com/neg-status"), "GKE names the endpoint groups"),
    Owned(
        ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
        ("webhooks", "*", "clientConfig", "caBundle"),
        "the operator that serves the webhook rotates its certificate",
        _CERTIFICATE_MANAGERS,
    ),
    Owned(
        ("CustomResourceDefinition",),
        ("spec", "conversion", "webhook", "clientConfig", "caBundle"),
        "the operator that serves the conversion rotates its certificate",
        _CERTIFICATE_MANAGERS,
    ),
)


def with_owned_fields(manifest: Mapping[str, Any], live: Mapping[str, Any]) -> Object:
    """Returns the declared object with the fields that controllers have written to the live one."""
    body: Any = dict(manifest)
    for owned in OWNED:
        if not owned.kinds or manifest["kind"] in owned.kinds:
            body = _copied(body, live, owned.path, lambda path, o=owned: _written_by_owner(o, live, path))
    metadata = {**body["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
    return {**body, "metadata": metadata}


def _written_by_owner(owned: Owned, live: Mapping[str, Any], path: Path) -> bool:
    managers = {entry["manager"] for entry in writers(live, path)}
    return not owned.managers or bool(managers.intersection(owned.managers))


def _copied(declared: Any, live: Any, path: tuple[str, ...], allowed: Any, at: Path = ()) -> Any:
    """Returns the declared value with the live fields that `path` matches and `allowed` accepts."""
    if not path:
        return live if allowed(at) else declared
    step, *remaining = path
    if isinstance(live, Mapping) and isinstance(declared or {}, Mapping):
        values = {
            key: _copied((declared or {}).get(key), value, tuple(remaining), allowed, (*at, key))
            for key, value in live.items()
            if fnmatchcase(key, step)
        }
        values = {key: value for key, value in values.items() if value is not None}
        return {**(declared or {}), **values} or declared
    if isinstance(live, list) and isinstance(declared or [], list):
        return list(_items(declared or [], live, step, tuple(remaining), allowed, at)) or declared
    return declared


def _items(
    declared: list[Any], live: list[Any], step: str, remaining: tuple[str, ...], allowed: Any, at: Path
) -> Iterator[Any]:
    places = {item.get("name"): index for index, item in enumerate(live) if isinstance(item, Mapping)}
    for item in declared:
        place = places.get(item.get("name")) if isinstance(item, Mapping) else None
        yield item if place is None else _copied(item, live[place], remaining, allowed, (*at, place))
    for item in live:
        if isinstance(item, str) and item not in declared and fnmatchcase(item, step):
            yield item
