"""Finds live objects that the stack does not declare but that change what its declared ones allow.

Rights, network policies and queues add up, so an additional object is drift. Other kinds are ignored: jobs,
pods, ConfigMaps and Secrets belong to users.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drift.comparison import Drift
from drift.controllers import Object
from drift.deployed import Declared
from muster.objects.names import KUEUE_API
from preview.plan import ResourceChange
from preview.resources.kubernetes_writes import title
from preview.resources.values import opened
from tools.kubernetes import ApiServer

RBAC = "rbac.authorization.k8s.io/v1"
ACCOUNTS = re.compile(r"system:serviceaccounts?:([^:]+).*")
"""The user of a service account, or the group of a namespace's."""
Key = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


@dataclass(frozen=True)
class Watched:
    """A kind whose undeclared objects are drift: where, and why."""

    api_version: str
    kind: str
    where: str
    why: str


IN_NAMESPACES = "in the stack's namespaces"
TO_SUBJECTS = "in the stack's namespaces, or for one of its subjects"
FOR_SUBJECTS = "for one of the stack's subjects"
ANYWHERE = "anywhere, if the stack declares one"

WATCHED = (
    Watched(RBAC, "Role", IN_NAMESPACES, "a binding may refer to it later"),
    Watched(RBAC, "RoleBinding", TO_SUBJECTS, "it adds rights"),
    Watched(RBAC, "ClusterRoleBinding", FOR_SUBJECTS, "it adds rights in all namespaces"),
    Watched("networking.k8s.io/v1", "NetworkPolicy", IN_NAMESPACES, "what any policy allows is allowed"),
    Watched("v1", "ResourceQuota", IN_NAMESPACES, "it may stop a tenant's jobs"),
    Watched("v1", "LimitRange", IN_NAMESPACES, "it changes the requests of pods"),
    Watched(KUEUE_API, "LocalQueue", IN_NAMESPACES, "it may lead to another team's quota"),
    Watched(KUEUE_API, "ClusterQueue", ANYWHERE, "it adds quota, and borrows from the cohort"),
    Watched(KUEUE_API, "Cohort", ANYWHERE, "it adds quota"),
    Watched(KUEUE_API, "WorkloadPriorityClass", ANYWHERE, "its jobs may preempt other jobs"),
)


EXEMPT = {
    "Role and RoleBinding owned by a RayCluster": "KubeRay gives each autoscaler its rights",
    "objects annotated `meta.helm.sh/release-name` with a Release of the stack": "the operators' own rights",
    "ResourceQuota `gke-resource-quotas`": "GKE limits the objects of small clusters",
}
"""Objects that the stack does not declare and that are no drift, with their reasons."""


class Scope:
    """Keys, kinds and namespaces of the declared objects, and the subjects that they grant rights to."""

    def __init__(self, declared: Sequence[Declared], releases: Collection[tuple[str, str]] = ()) -> None:
        self._releases = releases
        manifests = [opened(obj.manifest) for obj in declared]
        self.keys = {key(manifest) for manifest in manifests}
        self.kinds = {manifest["kind"] for manifest in manifests}
        self.namespaces = {m["metadata"]["name"] for m in manifests if m["kind"] == "Namespace"}
        self.groups = {
            subject["name"]
            for manifest in manifests
            for subject in manifest.get("subjects") or ()
            if subject["kind"] in ("Group", "User")
        }

    def has_undeclared(self, watched: Watched, live: Object) -> bool:
        """Returns whether an object is undeclared, within the watched scope, and not exempt."""
        return key(live) not in self.keys and self._is_inside(watched, live) and not self._is_exempt(live)

    def _is_inside(self, watched: Watched, live: Object) -> bool:
        inside = live["metadata"].get("namespace") in self.namespaces
        named = any(self._is_ours(subject) for subject in live.get("subjects") or ())
        return {
            IN_NAMESPACES: inside,
            TO_SUBJECTS: inside or named,
            FOR_SUBJECTS: named,
            ANYWHERE: watched.kind in self.kinds,
        }[watched.where]

    def _is_exempt(self, live: Object) -> bool:
        metadata = live["metadata"]
        marks = metadata.get("annotations") or {}
        release = marks.get("meta.helm.sh/release-namespace", ""), marks.get("meta.helm.sh/release-name", "")
        return (
            (live["kind"] in ("Role", "RoleBinding") and _owner(metadata) == "RayCluster")
            or release in self._releases
            or (live["kind"], metadata["name"]) == ("ResourceQuota", "gke-resource-quotas")
        )

    def _is_ours(self, subject: Mapping[str, str]) -> bool:
        """Returns whether the stack names the subject, or declares its namespace."""
        if subject["kind"] == "ServiceAccount":
            return subject.get("namespace") in self.namespaces
        if account := ACCOUNTS.fullmatch(subject["name"]):
            return account[1] in self.namespaces
        return subject["name"] in self.groups


def key(obj: Mapping[str, object]) -> Key:
    """Returns what identifies an object in one cluster."""
    metadata = obj["metadata"]
    assert isinstance(metadata, Mapping)
    group = str(obj["apiVersion"]).rpartition("/")[0]
    return group, str(obj["kind"]), metadata.get("namespace") or "", metadata["name"]


def undeclared(api: ApiServer, scope: Scope) -> Iterator[Drift]:
    """Yields the live objects that the stack should declare or that should not exist."""
    for watched in WATCHED:
        for live in api.list(watched.api_version, watched.kind):
            if scope.has_undeclared(watched, live):
                yield Drift(api, _deletion(watched, live), live)


def _deletion(watched: Watched, live: Object) -> ResourceChange:
    token = f"kubernetes:{watched.api_version}:{watched.kind}"
    name = title(live).partition(" ")[2]
    return ResourceChange("delete", token, f"::{name}", before=live, note=f"not declared: {watched.why}")


def _owner(metadata: Mapping[str, Any]) -> str:
    """Returns the kind of the controller that owns an object."""
    owners = metadata.get("ownerReferences") or ()
    return next((owner["kind"] for owner in owners if owner.get("controller")), "")
