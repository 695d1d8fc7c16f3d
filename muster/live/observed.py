"""Reads the objects that decisions need, from an API server or from manifests."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from muster.cluster.cluster_state import ClusterState
from muster.cluster.jobs.kinds import BY_KIND
from muster.cluster.jobs.scaling import stored_sizes
from muster.cluster.watched_kinds import ONLY_LABELLED, WATCHED, WATCHED_WITH_TOPOLOGIES
from muster.kube.client import FORBIDDEN, NOT_FOUND
from muster.kube.errors import StatusError
from muster.kube.kinds import (
    CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    LOCAL_QUEUES,
    POD_TEMPLATES,
    PODS,
    PRIORITIES,
    PROVISIONING_CONFIGS,
    PROVISIONING_REQUESTS,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    TOPOLOGIES,
    WORKLOADS,
    AnyKind,
    Kind,
)
from muster.objects.meta import Object
from muster.objects.names import GROWTH_LABEL

T = TypeVar("T", bound=Object)

NEEDED = (CLUSTER_QUEUES, LOCAL_QUEUES, FLAVORS, WORKLOADS)
NEEDED_BY_TENANTS = (LOCAL_QUEUES, WORKLOADS)
NOT_READ = (*BY_KIND, PROVISIONING_REQUESTS, POD_TEMPLATES, PODS)
"""Kinds that the controller acts on; the quota that they use is in the Workloads."""
READ = tuple(kind for kind in WATCHED if kind not in NOT_READ)
QUEUE_KINDS: tuple[AnyKind, ...] = (
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    LOCAL_QUEUES,
    PRIORITIES,
    CHECKS,
    PROVISIONING_CONFIGS,
    TOPOLOGIES,
)
"""Kinds that make up a queue configuration."""
RAY_KINDS: tuple[AnyKind, ...] = (RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES)
"""Kinds that show how many workers autoscaled jobs ask for."""
RETRIES_MAX = 10
UNIX_EPOCH = "1970-01-01T00:00:00Z"


class ObservationError(ValueError):
    """Objects that cannot be read. The message names them, the reason, and the expected objects."""


class Lister(Protocol):
    """The method of the API server's client that is used here."""

    async def list(
        self, kind: Kind[T], labels: Mapping[str, str | None] | None = None, namespace: str = ""
    ) -> tuple[str, list[T]]:
        """Returns the list's resource version and its objects; None as a label's value selects any value."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The objects that were read."""

    cluster: ClusterState
    unread: Mapping[str, str] = field(default_factory=dict)  # kinds that cannot be listed, taken as empty
    namespace: str = ""  # the only namespace that was read, for a tenant's permissions; empty: all


async def observed(kube: Lister, only: Collection[AnyKind] = READ, namespace: str = "") -> Observed:
    """Lists the objects of a cluster, of the kinds in `only`. If permission to list all namespaces is
    missing, falls back to `namespace`, unless it is empty.

    Raises: ObservationError if a kind that every decision needs cannot be listed, or, in the namespace, a
    kind that shows its workloads; RequestError if the API server does not answer."""
    listed, unread = await _listed(kube, only)
    for kinds in _more_kinds(listed):
        more, denied = await _listed(kube, [kind for kind in kinds if kind not in only])
        listed |= more
        unread |= denied
    lacking = [kind for kind in NEEDED if kind in only and str(kind) in unread]
    if lacking and namespace:
        retried = [kind for kind in only if str(kind) in unread]
        namespaced = [kind for kind in retried if kind.namespaced]
        tenant_objects, still_denied = await _listed(kube, namespaced, namespace)
        lacking = [kind for kind in retried if kind in NEEDED_BY_TENANTS and kind not in tenant_objects]
        unread |= still_denied
        if not lacking:
            return Observed(ClusterState(listed | tenant_objects), unread, namespace)
    if lacking:
        why = (f"{kind} ({kind.api_version}): {unread[str(kind)]}" for kind in lacking)
        raise ObservationError("; ".join(why))
    return Observed(ClusterState(listed), unread)


def _more_kinds(listed: Mapping[AnyKind, Mapping[str, Any]]) -> Iterator[Iterable[AnyKind]]:
    """Yields the kinds that are needed because of the listed objects."""
    if listed.get(TOPOLOGIES):
        yield WATCHED_WITH_TOPOLOGIES
    if any(map(stored_sizes, listed.get(WORKLOADS, {}).values())):
        yield RAY_KINDS
        if listed.get(PROVISIONING_CONFIGS):
            yield (PROVISIONING_REQUESTS,)
            requests = listed.get(PROVISIONING_REQUESTS, {}).values()
            if any(GROWTH_LABEL in request.metadata.labels for request in requests):
                yield (PODS,)  # those on nodes of the requests


async def _listed(
    kube: Lister, kinds: Iterable[AnyKind], namespace: str = ""
) -> tuple[dict[AnyKind, dict[str, Any]], dict[str, str]]:
    """Returns the objects that can be listed, by kind and key, and the reasons for the kinds that cannot."""
    kinds = tuple(kinds)
    answers = await asyncio.gather(
        *(list_or_reason(kube, kind, namespace, ONLY_LABELLED.get(kind)) for kind in kinds)
    )
    listed: dict[AnyKind, dict[str, Any]] = {}
    unread: dict[str, str] = {}
    for kind, answer in zip(kinds, answers, strict=True):
        if isinstance(answer, str):
            unread[str(kind)] = answer
        else:
            listed[kind] = {obj.key: obj for obj in answer}
    return listed, unread


async def list_or_reason(
    kube: Lister, kind: Kind[T], namespace: str, labels: Mapping[str, str | None] | None = None
) -> list[T] | str:
    """Returns the objects, or the reason why they cannot be listed. Retries after the delay in Retry-After,
    as client-go does (rest/request.go): the API server's caches are empty after a restart or a change of a
    CRD. Raises: RequestError, if the reason is not specific to the kind."""
    retries = RETRIES_MAX
    while True:
        try:
            return (await kube.list(kind, labels, namespace))[1]
        except StatusError as error:
            if not (error.retry_after_s and retries):
                return _why_not_listed(error, kind, namespace)
            await asyncio.sleep(error.retry_after_s)
        retries -= 1


def _why_not_listed(error: StatusError, kind: Kind[Any], namespace: str) -> str:
    """Returns the reason. Raises: the error, if it is not specific to the kind."""
    if error.code == NOT_FOUND:
        return "the API server does not serve this kind"
    if error.code == FORBIDDEN:
        where = f" in {f'namespace {namespace}' if namespace else 'all namespaces'}"
        return f"you may not list {kind.resource}{where if kind.namespaced else ''}"
    raise error


def from_manifests(manifests: Iterable[Mapping[str, Any]], only: Collection[AnyKind] = READ) -> ClusterState:
    """Returns a cluster with the objects of these manifests, of the kinds in `only`; others are ignored.

    Raises: ObservationError."""
    manifests = list(manifests)
    kinds = (*only, *WATCHED_WITH_TOPOLOGIES)
    objects = {kind: {obj.key: obj for obj in of_kind(kind, manifests)} for kind in kinds}
    if not objects[CLUSTER_QUEUES]:
        raise ObservationError("no ClusterQueue (kueue.x-k8s.io/v1beta2); expected at least one")
    return ClusterState(objects)


def of_kind(kind: Kind[T], manifests: Iterable[Mapping[str, Any]]) -> Iterator[T]:
    """Yields the objects of a kind among manifests. Raises: ObservationError."""
    for manifest in manifests:
        if (manifest.get("apiVersion"), manifest.get("kind")) == (kind.api_version, kind.name):
            yield viewed(kind, manifest)


def viewed(
    kind: Kind[T], manifest: Mapping[str, Any], namespace: str = "default", created: str = UNIX_EPOCH
) -> T:
    """Returns the object of a manifest with the metadata that the API server would add. Raises:
    ObservationError."""
    meta = manifest.get("metadata")
    if not isinstance(meta, Mapping) or not meta.get("name"):
        raise ObservationError(f"{kind} without metadata.name")
    generated = {"uid": f"{kind}/{meta['name']}", "creationTimestamp": created}
    where = {"namespace": meta.get("namespace") or namespace} if kind.namespaced else {}
    body = {**manifest, "metadata": {**generated, **meta, **where}}
    try:
        # Some fields, such as pod templates, are raw JSON, which only a JSON decoder can produce.
        return msgspec.json.decode(msgspec.json.encode(body), type=kind.view)
    except (msgspec.MsgspecError, TypeError) as error:
        raise ObservationError(f"{kind} {meta['name']}: {error}") from error
