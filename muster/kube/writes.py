"""Writes as values, decided without I/O and sent by the client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.kube.kinds import Kind


@dataclass(frozen=True, slots=True)
class Create:
    """Creates an object."""

    kind: Kind[Any]
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The key of the new object; without a name if the API server generates it."""
        meta = self.body["metadata"]
        return f"{meta.get('namespace', '')}/{meta.get('name', '')}"

    def __str__(self) -> str:
        return f"create {self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class MergePatch:
    """RFC 7386. The API server refuses it if the object's `resource_version` has changed. `whole`: the
    body has the whole `status`, so that a PUT of it does the same, and costs the API server less."""

    kind: Kind[Any]
    key: str
    body: Mapping[str, Any]
    resource_version: str
    status: bool = False
    whole: bool = False

    def __str__(self) -> str:
        return f"patch {self.kind}{' status' if self.status else ''} {self.key}"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """RFC 7386 without a resource version: succeeds even if other clients keep changing the object.

    `uid` is sent too, so the API server refuses the patch (422) if another object has taken the name. Without
    a version, the API server repeats the patch as long as other clients write in between (apiserver:
    registry/generic/registry/store.go and storage/etcd3 GuaranteedUpdate). Use it only for values that are
    correct regardless of the object's other fields."""

    kind: Kind[Any]
    key: str
    body: Mapping[str, Any]
    uid: str

    def __str__(self) -> str:
        return f"overwrite {self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """RFC 6902, to change entries of lists that belong to the user."""

    kind: Kind[Any]
    key: str
    operations: tuple[Mapping[str, Any], ...]
    resource_version: str

    def __str__(self) -> str:
        return f"patch {self.kind} {self.key}"


def remove_operation(path: str, name: str) -> Mapping[str, Any]:
    """Returns the operation of a JsonPatch that removes an entry of the map at `path`, a JSON pointer; the
    name of the entry is escaped (RFC 6901, section 3)."""
    return {"op": "remove", "path": f"{path}/{name.replace('~', '~0').replace('/', '~1')}"}


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes an object, if it still exists. `grace_s` replaces the pod's grace period; for a terminating pod
    it can only shorten it. With a `uid`, the API server refuses it (409) if another object
    has taken the name."""

    kind: Kind[Any]
    key: str
    grace_s: int | None = None
    uid: str = ""

    def __str__(self) -> str:
        return f"delete {self.kind} {self.key}"


Write = Create | MergePatch | Overwrite | JsonPatch | Delete
