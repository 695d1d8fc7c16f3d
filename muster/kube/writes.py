"""Writes as values: what to change, decided without I/O and carried out by the client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.kube.kinds import Kind


@dataclass(frozen=True, slots=True)
class Create:
    kind: Kind[Any]
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        meta = self.body["metadata"]
        return f"{meta.get('namespace', '')}/{meta.get('name', '')}"

    def __str__(self) -> str:
        return f"create {self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class MergePatch:
    """RFC 7386. With `resource_version` the API server refuses it if the object has moved on."""

    kind: Kind[Any]
    key: str
    body: Mapping[str, Any]
    resource_version: str
    status: bool = False

    def __str__(self) -> str:
        return f"patch {self.kind}{' status' if self.status else ''} {self.key}"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """RFC 7386 without a resource version: wins against anyone who keeps changing the object.

    `uid` is sent as well, and the API server refuses the patch (422) where another object has taken the
    name. Without a version the API server reads the object again and repeats the patch for as long as others
    write in between (apiserver: registry/generic/registry/store.go and storage/etcd3 GuaranteedUpdate).
    Use it only for values that are right whatever else the object says."""

    kind: Kind[Any]
    key: str
    body: Mapping[str, Any]
    uid: str

    def __str__(self) -> str:
        return f"overwrite {self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """RFC 6902, for changing places inside lists that belong to the user."""

    kind: Kind[Any]
    key: str
    operations: tuple[Mapping[str, Any], ...]
    resource_version: str

    def __str__(self) -> str:
        return f"patch {self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class Delete:
    """Of an object that may already be gone. `grace_s` replaces the pod's own grace period; of a pod that is
    terminating already it can only shorten it."""

    kind: Kind[Any]
    key: str
    grace_s: int | None = None

    def __str__(self) -> str:
        return f"delete {self.kind} {self.key}"


Write = Create | MergePatch | Overwrite | JsonPatch | Delete
