"""Compares one declared object with the live one, field by field, including fields that nothing declares.

The expected object is what the API server would store for the declared one: the answer to a dry-run PUT of
the manifest with the fields that controllers own. A field that it does not have, or has with another value,
was changed by hand. A dry-run apply would not suffice: it keeps fields and list items that other managers
added, and ignores changed defaults, such as `stopPolicy: Hold` of a queue.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from drift.controllers import Object, with_owned_fields
from drift.deployed import Declared
from drift.managed_fields import writers
from preview.plan import ResourceChange
from preview.resources import kubernetes_objects as objects
from preview.resources.differences import Path, differences
from preview.resources.values import Secret, concealed, opened
from tools.kubernetes import ApiError, ApiServer, UnknownKindError

MANAGER = "muster-drift"
"""The field manager of the writes that revert drift. It owns nothing when they are done."""
SECRET, ANOTHER_SECRET = "[secret]", "[another secret]"
CONFLICT, INVALID = 409, 422
TRIES = 5


@dataclass(frozen=True)
class Drift:
    """One object that is not as declared, with the change that reverts it.

    api: the server that stores it. declared: None if the stack does not declare the live object at all.
    """

    api: ApiServer
    change: ResourceChange
    live: Object
    declared: Declared | None = None


def compare(api: ApiServer, declared: Declared) -> Drift | None:
    """Returns how the live object differs from the declared one; None if it does not."""
    manifest = opened(declared.manifest)
    live = _live_object(api, manifest)
    if live is None:
        return Drift(api, _change("create", declared, after=declared.manifest), {}, declared)
    if "deletionTimestamp" in live["metadata"]:
        change = _change("create", declared, after=declared.manifest, note="it is being deleted")
        return Drift(api, change, live, declared)
    try:
        live, expected = rewritten(
            api, live, lambda live: api.replace(with_owned_fields(manifest, live), MANAGER, dry_run=True)
        )
    except ApiError as error:
        if error.status != INVALID:
            raise
        return Drift(api, _immutable(declared, live, error.message), live, declared)
    before, after = _shown(live, declared), _shown(expected, declared)
    changed = [path for path, _ in differences(before, after)]
    if not changed:
        return None
    note = _written_by(live, changed, declared.manager)
    return Drift(api, _change("update", declared, before, after, note), live, declared)


def rewritten(api: ApiServer, live: Object, write: Callable[[Object], Object]) -> tuple[Object, Object]:
    """Returns the live object and the result of `write`; retries if a controller writes at the same time."""
    for tries_left in range(TRIES - 1, -1, -1):
        try:
            return live, write(live)
        except ApiError as error:
            if error.status != CONFLICT or not tries_left:
                raise
            live = api.get(live) or live
    raise AssertionError("the last try returns or raises")


def _live_object(api: ApiServer, manifest: Object) -> Object | None:
    """Returns the live object; None also if its kind is not served."""
    try:
        return api.get(manifest)
    except UnknownKindError:
        return None


def _change(
    op: str,
    declared: Declared,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    note: str = "",
) -> ResourceChange:
    shown = [_masked(side or {}, after or {}) for side in (before, after)]
    return ResourceChange(op, declared.type, declared.urn, before=shown[0], after=shown[1], note=note)


def _shown(live: Object, declared: Declared) -> Object:
    """Returns the parts of an object that are compared and shown: no status, and a Secret's values masked."""
    shown = objects.imported(live)
    if shown.get("kind") == "Secret" and "data" in shown:
        shown["data"] = {key: Secret(value) for key, value in shown["data"].items()}
    masked: Object = concealed(shown, declared.manifest)
    return masked


def _immutable(declared: Declared, live: Object, why: str) -> ResourceChange:
    """Returns the change of an object whose immutable fields differ: it was recreated by hand."""
    before = _declared_part(declared.manifest, live)
    return _change("replace", declared, before, declared.manifest, note=f"the API server: {why}")


def _masked(value: Any, expected: Any) -> Any:
    """Returns the value without secrets; a masked one differs from the expected one's only if they do."""
    if isinstance(value, Secret):
        return SECRET if opened(value) == opened(expected) else ANOTHER_SECRET
    if isinstance(value, Mapping):
        others = expected if isinstance(expected, Mapping) else {}
        return {key: _masked(item, others.get(key)) for key, item in value.items()}
    if isinstance(value, list):
        beside = expected[: len(value)] if isinstance(expected, list) else []
        return [_masked(item, other) for item, other in zip_longest(value, beside)]
    return value


def _declared_part(declared: Any, live: Any) -> Any:
    """Returns the live values of the declared fields."""
    if isinstance(declared, Secret):
        return Secret(live)
    if isinstance(declared, Mapping) and isinstance(live, Mapping):
        return {key: _declared_part(value, live[key]) for key, value in declared.items() if key in live}
    if isinstance(declared, list) and isinstance(live, list) and len(declared) == len(live):
        return [_declared_part(*pair) for pair in zip(declared, live, strict=True)]
    return live


def _written_by(live: Object, changed: Sequence[Path], manager: str) -> str:
    """Names the client that wrote the changed fields last, if it still owns them."""
    entries = [entry for path in changed for entry in writers(live, path)]
    others = [entry for entry in entries if (entry["manager"], entry["operation"]) != (manager, "Apply")]
    if not others:
        return ""
    last = max(others, key=lambda entry: str(entry.get("time", "")))
    return f"by {last['manager']}, {last.get('time', 'at an unknown time')}"
