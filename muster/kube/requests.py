"""The request of each write: its path, its body, and the preconditions that the API server checks."""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.kube.connection import JSON, Request
from muster.kube.writes import Create, Delete, JsonPatch, MergePatch, Overwrite, Write

FIELD_MANAGER = {"fieldManager": "muster"}
MERGE_PATCH, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"


def request_of(write: Write, *, dry_run: bool = False) -> Request:
    """Returns the request; one of a `dry_run` changes nothing."""
    kind, parameters = write.kind, FIELD_MANAGER | ({"dryRun": "All"} if dry_run else {})
    if isinstance(write, Create):
        body = {"apiVersion": kind.api_version, "kind": kind.name, **write.body}
        path = kind.path(write.body["metadata"].get("namespace") or "")
        return Request("POST", path, parameters, msgspec.json.encode(body), JSON)
    namespace, _, name = write.key.rpartition("/")
    path = kind.path(namespace, name, "status" if isinstance(write, MergePatch) and write.status else "")
    match write:
        case Delete():
            return Request("DELETE", path, {}, msgspec.json.encode(_delete_options(write)), JSON)
        case MergePatch() if write.whole:
            whole = {"apiVersion": kind.api_version, "kind": kind.name, **write.body}
            body = _with_metadata(
                whole, namespace=namespace, name=name, resourceVersion=write.resource_version
            )
            return Request("PUT", path, parameters, msgspec.json.encode(body), JSON)
        case MergePatch():
            body = _with_metadata(write.body, resourceVersion=write.resource_version)
            return Request("PATCH", path, parameters, msgspec.json.encode(body), MERGE_PATCH)
        case Overwrite():
            body = _with_metadata(write.body, uid=write.uid)
            return Request("PATCH", path, parameters, msgspec.json.encode(body), MERGE_PATCH)
        case JsonPatch():
            test = {"op": "test", "path": "/metadata/resourceVersion", "value": write.resource_version}
            operations = msgspec.json.encode([test, *write.operations])
            return Request("PATCH", path, parameters, operations, JSON_PATCH)


def _delete_options(write: Delete) -> dict[str, Any]:
    """Returns the options. Without a policy, the API server would orphan the pods of batch/v1 Jobs."""
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
    }
    if write.grace_s is not None:
        options["gracePeriodSeconds"] = write.grace_s
    if write.uid:
        options["preconditions"] = {"uid": write.uid}
    return options


def _with_metadata(body: Mapping[str, Any], **compared: str) -> dict[str, Any]:
    """Returns the body with what the API server compares with the object's metadata."""
    return {**body, "metadata": {**body.get("metadata", {}), **compared}}
