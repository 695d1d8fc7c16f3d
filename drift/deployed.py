"""Reads the Kubernetes objects of a stack from its exported state: what the last `pulumi up` declared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from preview.resources.kubernetes_objects import FIELD_MANAGER
from preview.resources.kubernetes_writes import MANAGER
from preview.resources.values import from_state
from tools.toolchain.steps import StepError

PACKAGE = "kubernetes:"
RELEASE = "kubernetes:helm.sh/v3:Release"
PROVIDER = "pulumi:providers:kubernetes"


@dataclass(frozen=True)
class Declared:
    """One object of the stack.

    manifest: the inputs of the last deployment; may contain `Secret`s. manager: the field manager that
    Pulumi applies it as; the state of imported objects has none. provider: the URN of the provider that knows
    the cluster.
    """

    urn: str
    type: str
    manifest: Mapping[str, Any]
    manager: str
    provider: str


@dataclass(frozen=True)
class Deployed:
    """The objects in the order of their dependencies, and the inputs of their providers by URN.

    releases: namespace and name of each Helm release.
    """

    objects: tuple[Declared, ...] = ()
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    releases: frozenset[tuple[str, str]] = frozenset()


def read_state(exported: Mapping[str, Any]) -> Deployed:
    """Reads what `pulumi stack export --show-secrets` prints. Raises StepError if secrets are encrypted."""
    resources = exported["deployment"].get("resources") or []
    try:
        providers = {
            resource["urn"]: from_state(resource.get("inputs") or {})
            for resource in resources
            if resource["type"] == PROVIDER
        }
        return Deployed(tuple(_objects(resources)), providers, frozenset(_releases(resources)))
    except ValueError as error:
        raise StepError(str(error), try_this="export the state with --show-secrets") from error


def _objects(resources: list[Mapping[str, Any]]) -> Iterator[Declared]:
    for resource in resources:
        if not resource["type"].startswith(PACKAGE) or not resource["custom"] or resource.get("delete"):
            continue
        inputs = from_state(resource.get("inputs") or {})
        # Releases are no objects, and a Patch declares a part of an object of others.
        if not resource["type"].endswith(f":{inputs.get('kind')}"):
            continue
        yield Declared(
            urn=resource["urn"],
            type=resource["type"],
            manifest={key: value for key, value in inputs.items() if not key.startswith("__")},
            manager=(resource.get("outputs") or {}).get(FIELD_MANAGER, MANAGER),
            provider=resource["provider"].rpartition("::")[0],
        )


def _releases(resources: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for resource in resources:
        if resource["type"] == RELEASE:
            outputs = resource.get("outputs") or {}
            yield outputs["namespace"], outputs["name"]
