"""Common parts of Kubernetes objects: metadata, conditions, times."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, dataclass_transform

import msgspec

from muster.objects.sharing import share_maps, share_strings

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # an annotation with a copy of the object
FOREGROUND_DELETION = "foregroundDeletion"  # the garbage collector's finalizer: dependents are deleted first
CONDITION_MESSAGE_LENGTH_MAX = 32_768  # of metav1.Condition
CACHED_TIMES_MAX = 8192
"""The number of cached time conversions in each direction: many objects have equal times."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _ViewMeta(msgspec.StructMeta):
    """Declares to type checkers that subclasses of View are frozen too."""


class View(
    msgspec.Struct,
    metaclass=_ViewMeta,
    rename="camel",
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    gc=False,  # immutable, so it is never part of a reference cycle
):
    """A partial view: other fields are ignored on reading and never written."""


class OwnerReference(View):
    """An object that this one depends on."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False

    def __post_init__(self) -> None:
        share_strings(self, "kind", "api_version")

    @property
    def group(self) -> str:
        """Returns the API group of the kind; empty for core kinds."""
        return self.api_version.rpartition("/")[0]


class ObjectMeta(View):
    """The metadata of an object, without the copy of the object that kubectl apply adds."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    def __post_init__(self) -> None:
        if LAST_APPLIED in self.annotations:
            others = {key: value for key, value in self.annotations.items() if key != LAST_APPLIED}
            msgspec.structs.force_setattr(self, "annotations", others)
        share_strings(self, "namespace")
        share_maps(self, "labels", "annotations")

    @property
    def controller(self) -> OwnerReference | None:
        """The controller's owner reference, if there is one."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None

    @property
    def key(self) -> str:
        """Returns `namespace/name`, or `name` for cluster-scoped objects."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Object(View):
    """An object of the API; subclasses add its fields."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        """The key: namespace/name, or the name of a cluster-scoped object."""
        return self.metadata.key


class Condition(View, omit_defaults=False):
    """`meta/v1` Condition: a state of an object and its last transition."""

    type: str
    status: str  # True | False | Unknown
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None

    def __post_init__(self) -> None:
        share_strings(self, "type", "status", "reason", "message")


def find_condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Returns the condition of this type, if there is one."""
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def is_true(conditions: Iterable[Condition], kind: str) -> bool:
    """Returns whether the condition of this type is True."""
    condition = find_condition(conditions, kind)
    return condition is not None and condition.status == "True"


def set_condition(
    conditions: tuple[Condition, ...], kind: str, *, status: bool, reason: str, message: str, now_ms: int
) -> tuple[Condition, ...]:
    """Returns the conditions with this one set; its transition time changes only with its status."""
    before = find_condition(conditions, kind)
    text = "True" if status else "False"
    changed = before is None or before.status != text
    time = rfc3339(now_ms) if changed or before is None else before.last_transition_time
    condition = Condition(
        type=kind,
        status=text,
        reason=reason,
        message=message[:CONDITION_MESSAGE_LENGTH_MAX],
        last_transition_time=time,
    )
    if before is None:
        return (*conditions, condition)
    return tuple(condition if c.type == kind else c for c in conditions)


def rfc3339(time_ms: int) -> str:
    """Formats a time as the API does: UTC, whole seconds."""
    return _rfc3339(time_ms // 1000)


@lru_cache(CACHED_TIMES_MAX)
def _rfc3339(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(time_ms: int) -> str:
    """Formats a time as MicroTime: UTC, six decimals."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@lru_cache(CACHED_TIMES_MAX)
def millis(timestamp: str | None) -> int:
    """Returns an API time in milliseconds since the epoch; 0 for None."""
    if not timestamp:
        return 0
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000)


def builtins(value: Any) -> Any:
    """Returns a view as plain dicts and lists, with the API's field names."""
    return msgspec.json.decode(msgspec.json.encode(value))  # by way of JSON, as templates are stored as JSON
