"""Rules of Kubernetes objects that need no cluster: names, replacement, state, drift."""

from collections.abc import Iterable, Mapping
from typing import Any

from preview.resources.differences import Path, differences
from preview.resources.refusals import RefusedError
from preview.resources.values import Secret, opened

AUTONAMED = "pulumi.com/autonamed"
# The state's own keys, as the official plugin names them.
INPUTS, FIELD_MANAGER, INITIAL_API_VERSION = "__inputs", "__fieldManager", "__initialApiVersion"
# Set by the API server: never an input, and unknown before the object exists.
_SERVER_METADATA = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")

_IDENTITY: tuple[Path, ...] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))
# Immutable fields, and fields of ConfigMaps and Secrets, which are replaced so that pods restart. Part of the
# official plugin's table: the kinds that the components and their users declare.
_IMMUTABLE: Mapping[str, tuple[Path, ...]] = {
    "ConfigMap": (("data",), ("binaryData",), ("immutable",)),
    "Secret": (("data",), ("stringData",), ("type",)),
    "DaemonSet": (("spec", "selector"),),
    "Deployment": (("spec", "selector"),),
    "StatefulSet": (("spec", "selector"), ("spec", "serviceName"), ("spec", "volumeClaimTemplates")),
    "Job": (("spec", "selector"), ("spec", "template")),
    "ClusterRoleBinding": (("roleRef",),),
    "RoleBinding": (("roleRef",),),
    "StorageClass": (("provisioner",), ("parameters",), ("reclaimPolicy",)),
}
_BUILT_IN_GROUPS = frozenset({"", "apps", "batch"})


def named(
    inputs: Mapping[str, Any], old: Mapping[str, Any], resource_name: str, seed: bytes
) -> dict[str, Any]:
    """Returns the inputs with a name: their own, the previous automatic one, or `<resource>-<8 hex>`."""
    metadata = dict(opened(inputs.get("metadata") or {}))
    if metadata.get("name"):
        return dict(inputs)
    if metadata.get("generateName"):
        raise RefusedError(
            f"{inputs.get('kind')} {resource_name!r}: the stand-in does not support metadata.generateName; "
            "set metadata.name, or remove both for an automatic name."
        )
    before = opened(old.get("metadata") or {})
    automatic = is_autonamed(old) and before["name"]
    metadata["name"] = automatic or f"{resource_name}-{seed.hex()[:8]}"
    metadata["annotations"] = {**metadata.get("annotations", {}), AUTONAMED: "true"}
    return {**inputs, "metadata": metadata}


def is_autonamed(inputs: Mapping[str, Any]) -> bool:
    """Returns whether Pulumi generated the object's name."""
    metadata = opened(inputs.get("metadata") or {})
    return (metadata.get("annotations") or {}).get(AUTONAMED) == "true"


def replacing(old: Mapping[str, Any], changed: Iterable[Path]) -> frozenset[Path]:
    """Returns the changed paths that require a new object; for custom resources only name and namespace."""
    group = str(old.get("apiVersion", "")).rpartition("/")[0]
    built_in = group in _BUILT_IN_GROUPS or group.endswith(".k8s.io")
    fixed = _IDENTITY + (_IMMUTABLE.get(str(old.get("kind")), ()) if built_in else ())
    return frozenset(path for path in changed if any(path[: len(f)] == f for f in fixed))


def same_address(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Returns whether the old object must be deleted before the new one can be created."""
    return all(opened(_at(old, path)) == opened(_at(new, path)) for path in _IDENTITY)


def _at(inputs: Any, path: Path) -> Any:
    for key in path:
        inputs = opened(inputs or {}).get(key)
    return inputs


def state(live: Mapping[str, Any], inputs: Mapping[str, Any], manager: str) -> dict[str, Any]:
    """Returns an object's state for Pulumi: the live object and its inputs. A Secret's data stay secret."""
    stored = without_server_metadata(live, drop=("managedFields",))
    if live.get("kind") == "Secret" and "data" in stored:
        stored["data"] = Secret(stored["data"])
    return {
        **stored,
        INPUTS: dict(inputs),
        FIELD_MANAGER: manager,
        INITIAL_API_VERSION: live["apiVersion"],
    }


def without_server_metadata(
    live: Mapping[str, Any], drop: tuple[str, ...] = _SERVER_METADATA
) -> dict[str, Any]:
    """Returns an object without the metadata that the API server sets."""
    metadata = {key: value for key, value in live["metadata"].items() if key not in drop}
    return {**live, "metadata": metadata}


def imported(live: Mapping[str, Any]) -> dict[str, Any]:
    """Returns inputs that would create the live object: all that a user can set."""
    return {key: value for key, value in without_server_metadata(live).items() if key != "status"}


def drifted(inputs: Any, applied: Any, live: Any) -> Any:
    """Returns the inputs, with fields that others have changed since replaced by the live ones.

    applied: what the API server would store if the inputs were applied now. A field that equals the live one
    has not drifted, even if the server formats it differently from the inputs (1000m and 1).
    """
    if isinstance(inputs, Secret):
        return Secret(drifted(inputs.value, applied, live))
    if not any(True for _ in differences(applied, live)):
        return inputs
    if isinstance(inputs, Mapping) and isinstance(applied, Mapping) and isinstance(live, Mapping):
        return {key: drifted(inputs[key], applied.get(key), live[key]) for key in inputs if key in live}
    if isinstance(inputs, list) and isinstance(live, list) and len(inputs) == len(live):
        return [drifted(*items) for items in zip(inputs, applied, live, strict=True)]
    return live


def address(token: str, resource_id: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns kind, name and namespace of a resource in the state, or of an imported `[namespace/]name`.

    token: Pulumi's type, such as `kubernetes:rbac.authorization.k8s.io/v1:Role` or `kubernetes:core/v1:Pod`.
    """
    _, group_version, kind = token.split(":")
    namespace, _, name = resource_id.rpartition("/")
    return {
        "apiVersion": properties.get("apiVersion") or group_version.removeprefix("core/"),
        "kind": properties.get("kind") or kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
    }
