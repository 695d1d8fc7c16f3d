"""Writes as values: what to change, decided without I/O and carried out by the client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.kube.kinds import Kind


@dataclass(frozen=True, slots=True)
class Create:
    kind: Kind[Any]
    body: Mapping[str, Any]
    exists_ok: bool = False  # the name says all of the content

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
    """Of an object that may already be gone."""

    kind: Kind[Any]
    key: str

    def __str__(self) -> str:
        return f"delete {self.kind} {self.key}"


Write = Create | MergePatch | JsonPatch | Delete
