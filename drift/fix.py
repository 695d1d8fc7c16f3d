"""Reverts drift: afterwards the live objects are as declared, and Pulumi owns the declared fields."""

from drift.comparison import MANAGER, Drift, rewritten
from drift.controllers import Object, with_owned_fields
from preview.resources import kubernetes_writes as writes
from preview.resources.refusals import RefusedError
from preview.resources.values import opened
from tools.kubernetes import ApiServer

GONE_SECONDS_MAX = 30.0
RECREATED = frozenset({"RoleBinding", "ClusterRoleBinding"})
"""Kinds that are deleted and created if a field that cannot change differs: they hold no state, no jobs."""


def fix(drift: Drift) -> None:
    """Carries out one change. Raises RefusedError if the API server does, or if a person must decide."""
    api = drift.api
    if drift.declared is None:
        writes.delete(api, drift.live, GONE_SECONDS_MAX)
        return
    manifest = opened(drift.declared.manifest)
    if drift.change.op == "replace":
        if manifest["kind"] not in RECREATED:
            raise RefusedError(
                f"{writes.title(manifest)} cannot be reverted in place ({drift.change.note}); "
                "delete it if nothing depends on it, then fix it"
            )
        writes.delete(api, manifest, GONE_SECONDS_MAX)
    with writes.explained("revert", manifest):
        if drift.change.op == "create" and drift.live:
            writes.wait_until_gone(api, manifest, GONE_SECONDS_MAX)
        if drift.change.op == "update":
            # Replace first: an apply keeps other managers' fields, even if they conflict with declared ones.
            rewritten(api, drift.live, lambda live: api.replace(with_owned_fields(manifest, live), MANAGER))
        live = writes.apply(api, manifest, drift.declared.manager, force=True)
        rewritten(api, live, lambda live: _released(api, live))


def _released(api: ApiServer, live: Object) -> Object:
    """Releases the ownership of our writes, so that a field that Pulumi drops later does not stay."""
    entries = live["metadata"].get("managedFields", [])
    others = [entry for entry in entries if entry["manager"] != MANAGER]
    if len(others) == len(entries):
        return live
    return api.replace({**live, "metadata": {**live["metadata"], "managedFields": others}}, MANAGER)
