"""The objects of a cluster that decisions read: listed from its API server, or from manifests."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from muster.controller.cluster.cluster_state import ClusterState
from muster.controller.process.watched_kinds import WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.kube.client import FORBIDDEN, NOT_FOUND
from muster.kube.errors import StatusError
from muster.kube.kinds import Kind
from muster.objects.meta import Object

T = TypeVar("T", bound=Object)

NEEDED = ("cluster_queues", "local_queues", "flavors", "workloads")
NEEDED_BY_TENANTS = ("local_queues", "workloads")
NOT_READ = ("ray_jobs", "ray_clusters", "ray_services", "provisioning_requests", "pod_templates", "pods")
"""Kinds that the controller acts on; Workloads show what they make of quota."""
READ = {name: kind for name, kind in WATCHED.items() if name not in NOT_READ}
JOBS = ("ray_jobs", "ray_clusters", "ray_services")
"""Kinds whose annotations views show."""
QUEUE_KINDS = (
    "cluster_queues",
    "cohorts",
    "flavors",
    "local_queues",
    "priorities",
    "checks",
    "provisioning_configs",
)
"""Kinds that a queue configuration is made of."""
RETRIES_MAX = 10
UNIX_EPOCH = "1970-01-01T00:00:00Z"


class ObservationError(ValueError):
    """Objects that can not be read: which, why, what is expected."""


class Lister(Protocol):
    """The one call of a client of the API server that is used."""

    async def list(
        self, kind: Kind[T], labels: Mapping[str, str | None] | None = None, namespace: str = ""
    ) -> tuple[str, list[T]]: ...


@dataclass(frozen=True, slots=True)
class Observed:
    """`unread` says of kinds that could not be listed why; they are taken as empty. `namespace` is the only
    one that is known, with the rights of its tenants; empty: all are."""

    cluster: ClusterState
    unread: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""


async def observed(kube: Lister, only: Collection[str] = tuple(READ), namespace: str = "") -> Observed:
    """Lists the objects of a cluster, `only` of some of the kinds. Where the rights for that are missing, it
    lists those of the namespace, if one is given.

    Raises: ObservationError if kinds that every decision needs can not be listed, or in the namespace those
    that show its workloads; RequestError for an API server that does not answer."""
    found, unread = await _listed(kube, {name: WATCHED[name] for name in only})
    if found.get("topologies"):
        placement, missing = await _listed(kube, WATCHED_WITH_TOPOLOGIES)
        found |= placement
        unread |= missing
    lacking = [WATCHED[name] for name in NEEDED if name in only and str(WATCHED[name]) in unread]
    if lacking and namespace:
        again = {name: WATCHED[name] for name in only if str(WATCHED[name]) in unread}
        namespaced = {name: kind for name, kind in again.items() if kind.namespaced}
        own, refused = await _listed(kube, namespaced, namespace)
        lacking = [kind for name, kind in again.items() if name in NEEDED_BY_TENANTS and name not in own]
        unread |= refused
        if not lacking:
            return Observed(ClusterState(**(found | own)), unread, namespace)
    if lacking:
        why = (f"{kind} ({kind.api_version}): {unread[str(kind)]}" for kind in lacking)
        raise ObservationError("; ".join(why))
    return Observed(ClusterState(**found), unread)


async def _listed(
    kube: Lister, wanted: Mapping[str, Kind[Any]], namespace: str = ""
) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns the objects that can be listed, by field and key, and why others can not."""
    answers = await asyncio.gather(*(_list(kube, kind, namespace) for kind in wanted.values()))
    found: dict[str, Any] = {}
    unread: dict[str, str] = {}
    for (name, kind), answer in zip(wanted.items(), answers, strict=True):
        if isinstance(answer, str):
            unread[str(kind)] = answer
        else:
            found[name] = {obj.key: obj for obj in answer}
    return found, unread


async def _list(kube: Lister, kind: Kind[Any], namespace: str) -> list[Any] | str:
    """Returns the objects, or why they can not be listed. Asks again after the time that the API server asks
    for, as client-go does (rest/request.go): its caches begin empty after a restart or a change of a CRD."""
    retries = RETRIES_MAX
    while True:
        try:
            return (await kube.list(kind, namespace=namespace))[1]
        except StatusError as error:
            if not (error.retry_after_s and retries):
                return _why_not_listed(error, kind, namespace)
            await asyncio.sleep(error.retry_after_s)
        retries -= 1


def _why_not_listed(error: StatusError, kind: Kind[Any], namespace: str) -> str:
    """Raises: the error, if it is one that says nothing about the kind."""
    if error.code == NOT_FOUND:
        return "the API server does not serve this kind"
    if error.code == FORBIDDEN:
        where = f" in {f'namespace {namespace}' if namespace else 'all namespaces'}"
        return f"you may not list {kind.resource}{where if kind.namespaced else ''}"
    raise error


def from_manifests(
    manifests: Iterable[Mapping[str, Any]], only: Collection[str] = tuple(READ)
) -> ClusterState:
    """Returns a cluster with these objects, `only` of some of the kinds; others are ignored.

    Raises: ObservationError."""
    wanted = {**{name: WATCHED[name] for name in only}, **WATCHED_WITH_TOPOLOGIES}
    found: dict[str, Any] = {name: {} for name in wanted}
    for manifest in manifests:
        for name, kind in wanted.items():
            if (manifest.get("apiVersion"), manifest.get("kind")) == (kind.api_version, kind.name):
                obj = viewed(kind, manifest)
                found[name][obj.key] = obj
    if not found["cluster_queues"]:
        raise ObservationError("no ClusterQueue (kueue.x-k8s.io/v1beta2); expected at least one")
    return ClusterState(**found)


def viewed(
    kind: Kind[T], manifest: Mapping[str, Any], namespace: str = "default", created: str = UNIX_EPOCH
) -> T:
    """Returns the object with what the API server would add to its metadata. Raises: ObservationError."""
    meta = manifest.get("metadata")
    if not isinstance(meta, Mapping) or not meta.get("name"):
        raise ObservationError(f"{kind} without metadata.name")
    given = {"uid": f"{kind}/{meta['name']}", "creationTimestamp": created}
    where = {"namespace": meta.get("namespace") or namespace} if kind.namespaced else {}
    body = {**manifest, "metadata": {**given, **meta, **where}}
    try:
        # Pod templates and others are kept as received bytes, which only JSON has.
        return msgspec.json.decode(msgspec.json.encode(body), type=kind.view)
    except (msgspec.MsgspecError, TypeError) as error:
        raise ObservationError(f"{kind} {meta['name']}: {error}") from error
