"""A small API server: versions, conflicts, patches, the status subresource, finalizers, owners.

Left out: schemas, defaulting, admission, field managers, and every verb that Muster does not use.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import msgspec

from muster.kube import kinds
from muster.kube.kinds import Kind
from muster.objects.meta import FOREGROUND_DELETION, Object, rfc3339

Body = dict[str, Any]
POD_GRACE_S = 30  # Kubernetes' default


class Refused(Exception):
    """A refused request; `code` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Change:
    """One accepted write. Bodies are shared with their readers and never changed."""

    revision: int
    time_ms: int
    kind: Kind[Any]
    type: str  # ADDED | MODIFIED | DELETED
    body: Body
    before: Body | None
    by: str

    @cached_property
    def view(self) -> Object:
        return view(self.kind, self.body)


class Api:
    """The API server's objects. `watchers` are called synchronously with every change."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self.revision = 0
        self.objects: dict[Kind[Any], dict[str, Body]] = defaultdict(dict)
        self.journal: dict[Kind[Any], list[Change]] = defaultdict(list)
        self.refusal: Callable[[Kind[Any], Body], str] = lambda kind, body: ""  # of a creation, by its schema
        self.immutable: dict[Kind[Any], Callable[[Body, Body], str]] = {}  # refuses changes of old to new
        self.update_refusal: Callable[[Kind[Any], Body], str] = lambda kind, body: ""  # by a policy
        self.pruned: dict[Kind[Any], Callable[[Body], Body]] = {}  # drops fields that a CRD lacks
        self.watchers: list[Callable[[Change], None]] = []
        self.unserved: set[Kind[Any]] = set()  # CustomResourceDefinition deleted
        self.outside: set[str] = set()  # UIDs of owners of kinds that are not emulated
        self.restores = 0  # of etcd from an older copy
        self.restored_ms: int | None = None  # when that was last
        self.on_restore: list[Callable[[], None]] = []
        self._uids: dict[str, tuple[Kind[Any], str]] = {}
        self._serial = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._views: dict[str, tuple[Body, Object]] = {}  # by UID, of the body that it is a view of

    async def change(self, within_s: float) -> None:
        """Returns after the next write, or after `within_s`."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiter)
        timer = loop.call_later(within_s, partial(_wake, waiter))
        try:
            await waiter
        finally:
            timer.cancel()

    def view(self, kind: Kind[Any], body: Body) -> Object:
        """Returns the typed view, decoded once per version."""
        uid = body["metadata"]["uid"]
        existing = self._views.get(uid)
        if existing is None or existing[0] is not body:
            existing = self._views[uid] = body, view(kind, body)
        return existing[1]

    def all(self, kind: Kind[Any]) -> list[Body]:
        return list(self.objects[kind].values())

    def find(self, kind: Kind[Any], key: str) -> Body | None:
        return self.objects[kind].get(key)

    def get(self, kind: Kind[Any], key: str) -> Body:
        existing = self.find(kind, key)
        if existing is None:
            raise Refused(404, f"{kind} {key} not found")
        return existing

    def create(self, kind: Kind[Any], body: Mapping[str, Any], by: str) -> Body:
        if kind in self.unserved:
            raise Refused(404, f"the server could not find the requested resource ({kind})")
        new = self._pruned(kind, copied(body))
        self._serial += 1
        meta = new["metadata"]
        if "generateName" in meta:
            meta["name"] = f"{meta['generateName']}{self._serial:05d}"
        if self.find(kind, key_of(new)) is not None:
            raise Refused(409, f"{kind} {key_of(new)} already exists")
        namespace = self.find(kinds.NAMESPACES, meta.get("namespace", ""))
        if namespace is not None and "deletionTimestamp" in namespace["metadata"]:
            raise Refused(403, f"{key_of(new)} is forbidden: namespace is being terminated")
        if problem := self.refusal(kind, new):
            raise Refused(422, f"{kind} {key_of(new)} is invalid: {problem}")
        meta |= {"uid": f"uid-{self._serial:05d}", "creationTimestamp": rfc3339(self.now_ms())}
        meta["generation"] = 1
        if kind not in (kinds.PODS, kinds.NAMESPACES):
            new.pop("status", None)
        return self._commit(kind, "ADDED", new, None, by)

    def merge_patch(self, kind: Kind[Any], key: str, patch: Mapping[str, Any], by: str, status: bool) -> Body:
        """Applies a merge patch; checks its `metadata.resourceVersion` and `uid`, if it has any."""
        old = self._compared(kind, key, patch)
        patched = merged(old, patch)
        own = {"status"} if status else patched.keys() - {"status"}
        new = {**old, **{field: patched[field] for field in own if field in patched}}
        return self._update(kind, old, new, by)

    def replace_status(self, kind: Kind[Any], key: str, body: Mapping[str, Any], by: str) -> Body:
        """Carries out a PUT of the status; checks as a merge patch does."""
        old = self._compared(kind, key, body)
        return self._update(kind, old, {**old, "status": body["status"]}, by)

    def _compared(self, kind: Kind[Any], key: str, sent: Mapping[str, Any]) -> Body:
        old = self.get(kind, key)
        if sent.get("metadata", {}).get("uid") not in (None, old["metadata"]["uid"]):
            raise Refused(422, "metadata.uid: Invalid value: field is immutable")
        version = sent.get("metadata", {}).get("resourceVersion")
        if version not in (None, old["metadata"]["resourceVersion"]):
            raise Refused(409, f"{kind} {key} has been modified")
        return old

    def json_patch(self, kind: Kind[Any], key: str, operations: list[Mapping[str, Any]], by: str) -> Body:
        old = self.get(kind, key)
        new = copied(old)
        for operation in operations:
            apply_operation(new, operation)
        return self._update(kind, old, {**new, "status": old.get("status", {})}, by)

    def delete(
        self,
        kind: Kind[Any],
        key: str,
        by: str,
        *,
        foreground: bool = False,
        grace_s: int | None = None,
        uid: str = "",
    ) -> None:
        """Deletes an object. A pod stays until its kubelet calls `remove`, at the end of its grace period at
        the latest; a second deletion may shorten the period."""
        old = self.get(kind, key)
        meta = {**old["metadata"]}
        if uid not in ("", meta["uid"]):
            raise Refused(409, f"the UID in the precondition ({uid}) does not match {meta['uid']}")
        new = {**old, "metadata": meta}
        if foreground:
            meta["finalizers"] = [*meta.get("finalizers", []), FOREGROUND_DELETION]
        if meta.get("finalizers") or kind is kinds.PODS:
            if kind is kinds.PODS:
                own_s = new["spec"].get("terminationGracePeriodSeconds", POD_GRACE_S)
                given_s = own_s if grace_s is None else grace_s
                if given_s < meta.get("deletionGracePeriodSeconds", math.inf):
                    meta["deletionGracePeriodSeconds"] = given_s
                    meta["deletionTimestamp"] = rfc3339(self.now_ms() + given_s * 1000)
            else:
                meta.setdefault("deletionTimestamp", rfc3339(self.now_ms()))
            if meta != old["metadata"]:
                self._commit(kind, "MODIFIED", new, old, by)
        else:
            self.remove(kind, key, by)

    def stop_serving(self, kind: Kind[Any]) -> None:
        """Removes the kind as if its CustomResourceDefinition were deleted: its objects go, watches end."""
        for key in list(self.objects[kind]):
            self.remove(kind, key, "API server")
        self.unserved.add(kind)

    def go_back(self, revision: int) -> None:
        """Restores the objects as of an older revision, as from a copy of etcd. The next write gets the
        revision after that; the UIDs of what is forgotten are not used again."""
        changes = (change for journal in self.journal.values() for change in journal)
        lost = sorted((c for c in changes if c.revision > revision), key=lambda c: c.revision)
        for change in reversed(lost):
            key, uid = key_of(change.body), change.body["metadata"]["uid"]
            self._views.pop(uid, None)
            if change.before is None:
                del self.objects[change.kind][key]
                del self._uids[uid]
            else:
                self.objects[change.kind][key] = change.before
                self._uids[uid] = change.kind, key
        for kind, journal in self.journal.items():
            self.journal[kind] = [change for change in journal if change.revision <= revision]
        self.revision = revision
        self.restores, self.restored_ms = self.restores + 1, self.now_ms()
        for call in self.on_restore:
            call()
        self._wake_waiting()

    def serve_again(self, kind: Kind[Any]) -> None:
        """Serves the kind as if its CustomResourceDefinition were created again."""
        self.unserved.discard(kind)

    def remove(self, kind: Kind[Any], key: str, by: str) -> None:
        old = self.get(kind, key)
        self._commit(kind, "DELETED", {**old, "metadata": {**old["metadata"]}}, old, by)

    def orphans(self) -> Iterator[tuple[Kind[Any], str]]:
        """Yields objects for the garbage collector: their owners are deleted or wait for their deletion."""
        for kind, objects in self.objects.items():
            for key, body in objects.items():
                owners = body["metadata"].get("ownerReferences", [])
                if (
                    owners
                    and "deletionTimestamp" not in body["metadata"]
                    and all(self._lets_go(o, body) for o in owners)
                ):
                    yield kind, key

    def _lets_go(self, reference: Mapping[str, Any], dependent: Body) -> bool:
        """Returns whether the owner no longer holds the dependent. Other namespaces' owners do not count."""
        place = self._uids.get(reference["uid"])
        if place is None:
            return reference["uid"] not in self.outside
        meta = self.get(*place)["metadata"]
        elsewhere = meta.get("namespace") not in (None, dependent["metadata"].get("namespace"))
        return elsewhere or FOREGROUND_DELETION in meta.get("finalizers", [])

    def is_deleted_in_foreground(self, kind: Kind[Any], key: str) -> bool:
        """Returns whether the garbage collector deletes the object in the foreground: an owner waits for it,
        and it has dependents (pkg/controller/garbagecollector: attemptToDeleteItem)."""
        body = self.get(kind, key)
        uids = {owner["uid"] for owner in body["metadata"].get("ownerReferences", ())}
        owners = (self.get(*self._uids[uid]) for uid in uids if uid in self._uids)
        return any(map(_waits_for_dependents, owners)) and body["metadata"]["uid"] in self._owner_uids()

    def abandoned(self) -> Iterator[tuple[Kind[Any], str]]:
        """Yields objects in foreground deletion without dependents."""
        owner_uids = self._owner_uids()
        for kind, objects in self.objects.items():
            for key, body in objects.items():
                if _waits_for_dependents(body) and body["metadata"]["uid"] not in owner_uids:
                    yield kind, key

    def _owner_uids(self) -> set[str]:
        return {
            owner["uid"]
            for objects in self.objects.values()
            for body in objects.values()
            for owner in body["metadata"].get("ownerReferences", ())
        }

    def _update(self, kind: Kind[Any], old: Body, new: Body, by: str) -> Body:
        new = self._pruned(kind, new)
        retained = {k: old["metadata"][k] for k in ("resourceVersion", "uid", "generation")}
        new["metadata"] = {**new["metadata"], **retained}
        if {**new, "status": new.get("status", {})} == {**old, "status": old.get("status", {})}:
            return old
        if kind in self.immutable and (problem := self.immutable[kind](old, new)):
            raise Refused(422, f"{kind} {key_of(old)} is invalid: {problem}")
        if problem := self.update_refusal(kind, new):
            raise Refused(422, f"{kind} {key_of(new)} is invalid: {problem}")
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        meta = new["metadata"]
        leaves = "deletionTimestamp" in meta and not meta.get("finalizers") and kind is not kinds.PODS
        return self._commit(kind, "DELETED" if leaves else "MODIFIED", new, old, by)

    def _pruned(self, kind: Kind[Any], body: Body) -> Body:
        return self.pruned[kind](body) if kind in self.pruned else body

    def _commit(self, kind: Kind[Any], change: str, body: Body, before: Body | None, by: str) -> Body:
        self.revision += 1
        meta, key = body["metadata"], key_of(body)
        meta["resourceVersion"] = str(self.revision)
        if change == "DELETED":
            del self.objects[kind][key]
            del self._uids[meta["uid"]]
            self._views.pop(meta["uid"], None)
        else:
            self.objects[kind][key] = body
            self._uids[meta["uid"]] = kind, key
        event = Change(self.revision, self.now_ms(), kind, change, body, before, by)
        self.journal[kind].append(event)
        for watcher in self.watchers:
            watcher(event)
        self._wake_waiting()
        return body

    def _wake_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            _wake(waiter)


def _waits_for_dependents(body: Mapping[str, Any]) -> bool:
    return FOREGROUND_DELETION in body["metadata"].get("finalizers", ())


def key_of(body: Mapping[str, Any]) -> str:
    meta = body["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def copied(body: Any) -> Any:
    """Returns a deep copy of JSON; tuples become lists, as in a request."""
    return msgspec.json.decode(msgspec.json.encode(body))


def view(kind: Kind[Any], body: Mapping[str, Any]) -> Object:
    decoded: Object = msgspec.json.decode(msgspec.json.encode(body), type=kind.view)
    return decoded


def merged(target: Any, patch: Any) -> Any:
    """Returns the merge by RFC 7386. Unchanged parts are shared with the target: bodies never change."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def apply_operation(document: Any, operation: Mapping[str, Any]) -> None:
    """Applies an operation of RFC 6902: add, remove or test."""
    *path, last = (p.replace("~1", "/").replace("~0", "~") for p in operation["path"].split("/")[1:])
    try:
        for part in path:
            document = document[int(part)] if isinstance(document, list) else document[part]
        at: Any = int(last) if isinstance(document, list) else last
        if operation["op"] == "add":
            document[at] = copied(operation["value"])
        elif operation["op"] == "remove":
            del document[at]
        elif operation["op"] != "test" or document[at] != operation["value"]:
            raise Refused(422, f"{operation['op']} {operation['path']} failed")
    except (KeyError, IndexError) as missing:
        raise Refused(422, f"{operation['path']} does not exist") from missing
