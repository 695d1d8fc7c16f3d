"""Creates, changes and deletes single objects, with the waits and errors that a Pulumi user expects."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from preview.resources import kubernetes_objects as objects
from preview.resources.refusals import RefusedError
from preview.resources.values import opened
from tools.kubernetes import ApiError, ApiServer, Object, UnknownKindError, UnreachableError

MANAGER = "pulumi-kubernetes"
# The official plugin's annotation for taking fields over from other managers.
PATCH_FORCE = "pulumi.com/patchForce"
POLL_SECONDS = 0.25
# The official plugin waits about a minute for a kind to be served.
KIND_SECONDS_MAX = 60.0


def title(manifest: Mapping[str, Any]) -> str:
    """Names an object in errors: `ClusterQueue.kueue.x-k8s.io team-a`, `Service ray/head`."""
    group = manifest["apiVersion"].rpartition("/")[0]
    metadata = manifest["metadata"]
    name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    return f"{manifest['kind']}{'.' + group if group else ''} {name}"


def refusal(doing: str, manifest: Mapping[str, Any], error: Exception) -> RefusedError:
    """Returns the user's error: what failed, the API server's message, and what to do."""
    hint = ""
    if isinstance(error, UnknownKindError):
        hint = "; install its CRD first"
    elif isinstance(error, UnreachableError):
        hint = "; is the cluster running?"
    elif isinstance(error, ApiError) and error.status == 409:
        hint = f'; the annotation {PATCH_FORCE}: "true" takes fields over from other managers'
    return RefusedError(f"cannot {doing} {title(manifest)}: {error}{hint}")


@contextmanager
def explained(doing: str, manifest: Mapping[str, Any]) -> Iterator[None]:
    """Turns every error of the API server into a `refusal`."""
    try:
        yield
    except (ApiError, UnknownKindError, UnreachableError) as error:
        raise refusal(doing, manifest, error) from error


def create(api: ApiServer, manifest: Object) -> Object:
    """Creates the object and returns it; refuses if it exists and another client created it.

    An object that this plugin created before is adopted: the run was interrupted before Pulumi's state was
    written.
    """
    with explained("create", manifest):
        _wait_until_served(api, manifest)
        existing = api.get(manifest)
        if existing and "deletionTimestamp" in existing["metadata"]:
            wait_until_gone(api, existing, KIND_SECONDS_MAX)
        elif existing and MANAGER not in _managers(existing):
            raise RefusedError(
                f"cannot create {title(manifest)}: it already exists and was not created by Pulumi; "
                "delete it, or `pulumi import` it into the stack"
            )
        return _wait_until_established(api, apply(api, manifest))


def update(api: ApiServer, manifest: Object) -> Object:
    """Updates the object; fields that are no longer declared are removed."""
    with explained("update", manifest):
        return _wait_until_established(api, apply(api, manifest))


def apply(
    api: ApiServer, manifest: Object, manager: str = MANAGER, *, dry_run: bool = False, force: bool = False
) -> Object:
    """Applies server-side as Pulumi's field manager; takes over others' fields only if the caller, the
    provider or the object's annotation allows it."""
    annotated = (manifest["metadata"].get("annotations") or {}).get(PATCH_FORCE) == "true"
    takes_over = force or annotated or api.take_over
    first = _without_emptied(api, manifest)
    applied = api.apply(first, manager, dry_run=dry_run, force=takes_over)
    if first == manifest or dry_run:
        return applied
    return api.apply(manifest, manager, force=takes_over)


def _without_emptied(api: ApiServer, manifest: Object) -> Object:
    """Returns it without the empty maps that have fields in the live object, such as the `spec` of a Cohort.

    The API server replaces a map by null when an apply removes its last field, and then refuses the null.
    """
    if {} not in manifest.values():
        return manifest
    live = api.get(manifest) or {}
    return {key: value for key, value in manifest.items() if value != {} or not live.get(key)}


def delete(api: ApiServer, manifest: Object, seconds_max: float) -> None:
    """Deletes the object with everything it owns and waits for it; an object that does not exist is fine."""
    with explained("delete", manifest):
        try:
            api.delete(manifest)
            wait_until_gone(api, manifest, seconds_max)
        except UnknownKindError:
            return
        except ApiError as error:
            if error.status != 404:
                raise


def wait_until_gone(api: ApiServer, manifest: Object, seconds_max: float) -> None:
    """Waits for finalizers and the garbage collector."""
    _wait(
        lambda: api.get(manifest) is None,
        seconds_max,
        lambda: f"{title(manifest)} is still being deleted{_held_by(api.get(manifest))}",
    )


def refreshed(api: ApiServer, inputs: Mapping[str, Any], live: Object) -> dict[str, Any]:
    """Returns the inputs that would produce the live object: they differ where it was edited by hand."""
    applied = api.apply(opened(inputs), MANAGER, dry_run=True, force=True)
    drifted: dict[str, Any] = objects.drifted(dict(inputs), applied, live)
    return drifted


def _wait_until_served(api: ApiServer, manifest: Object) -> None:
    def served() -> bool:
        try:
            api.resource(manifest["apiVersion"], manifest["kind"])
        except UnknownKindError:
            return False
        return True

    _wait(
        served,
        KIND_SECONDS_MAX,
        lambda: f"cannot create {title(manifest)}: {api.url} serves no such kind; install its CRD first",
    )


def _wait_until_established(api: ApiServer, live: Object) -> Object:
    """Waits until a new CRD is served, a moment after it is stored; other objects need no wait."""
    if live["kind"] != "CustomResourceDefinition":
        return live
    latest = live

    def established() -> bool:
        nonlocal latest
        latest = api.get(live) or live
        return is_established(latest)

    _wait(
        established,
        KIND_SECONDS_MAX,
        lambda: f"{title(live)} is not established: {latest.get('status', {}).get('conditions')}",
    )
    return latest


def is_established(definition: Object) -> bool:
    """Returns whether a CRD is served. A new one has `conditions: null` until its controller processes it."""
    conditions = definition.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _wait(done: Callable[[], bool], seconds_max: float, why_not: Callable[[], str]) -> None:
    deadline = time.monotonic() + seconds_max
    while not done():
        if time.monotonic() > deadline:
            raise RefusedError(f"{why_not()} (waited {seconds_max:.0f} s)")
        time.sleep(POLL_SECONDS)


def _managers(live: Object) -> set[str]:
    return {entry["manager"] for entry in live["metadata"].get("managedFields", [])}


def _held_by(live: Object | None) -> str:
    finalizers = (live or {}).get("metadata", {}).get("finalizers")
    return f", held by finalizers {', '.join(finalizers)}" if finalizers else ""
