"""Caches the objects of a kind with a list and a watch, for the stand-ins and scenarios."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
from lightkube import Client
from lightkube.generic_resource import GenericNamespacedResource

from sandbox.cluster.kinds import Kind, Object, key

RELIST_WAIT_SECONDS = 0.5
WATCH_SECONDS_MAX = 300

log = logging.getLogger(__name__)

Changed = Callable[[str, Object, bool], None]
"""A callback with the kind's name, the object, and whether it was deleted."""


class Reflector:
    """A cache of the objects of a kind. Calls `changed` on its own thread."""

    def __init__(
        self, client: Client, kind: Kind, changed: Changed, *, labels: dict[str, Any] | None = None
    ) -> None:
        """Watches `kind` in all namespaces; `labels` is a selector (a value of None: the label must
        exist)."""
        self._client, self._kind, self._changed, self._labels = client, kind, changed, labels
        self._name = kind.__name__
        self._scope = "*" if issubclass(kind, GenericNamespacedResource) else None
        self._objects: dict[tuple[str, str], Object] = {}
        self._lock = threading.Lock()
        self._listed = threading.Event()
        self._stopped = threading.Event()

    def start(self) -> "Reflector":
        """Starts the watching thread, which ends with the process or soon after `stop`."""
        threading.Thread(target=self._run, name=f"watch-{self._name}", daemon=True).start()
        return self

    def stop(self) -> None:
        """Prevents further lists and watches; a running watch ends within WATCH_SECONDS_MAX.

        The client must not be closed before that, as the thread would read from a file descriptor that may
        have been reused.
        """
        self._stopped.set()

    def wait_listed(self, timeout_seconds: float) -> bool:
        """Waits for the first list; returns False on timeout."""
        return self._listed.wait(timeout_seconds)

    def objects(self) -> list[Object]:
        """Returns all cached objects, sorted by namespace and name."""
        with self._lock:
            return [self._objects[k] for k in sorted(self._objects)]

    def get(self, namespace: str, name: str) -> Object | None:
        """Returns a cached object; None if it does not exist."""
        with self._lock:
            return self._objects.get((namespace, name))

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                version = self._list()
                self._watch(version)
            except (httpx2.HTTPError, msgspec.MsgspecError, OSError) as error:
                if self._stopped.is_set():
                    return
                log.info("watch of %s failed, listing again: %s", self._name, error)
                time.sleep(RELIST_WAIT_SECONDS)

    def _list(self) -> str:
        response = self._client.list(self._kind, namespace=self._scope, labels=self._labels)
        objects = {key(o): dict(o) for o in response}
        with self._lock:
            deleted = [o for k, o in self._objects.items() if k not in objects]
            self._objects = objects
        self._listed.set()
        for obj in deleted:
            self._changed(self._name, obj, True)
        for obj in objects.values():
            self._changed(self._name, obj, False)
        return str(response.resourceVersion)

    def _watch(self, version: str) -> None:
        events = self._client.watch(
            self._kind,
            namespace=self._scope,
            labels=self._labels,
            resource_version=version,
            server_timeout=WATCH_SECONDS_MAX,
        )
        for operation, obj in events:
            deleted = operation == "DELETED"
            with self._lock:
                if deleted:
                    self._objects.pop(key(obj), None)
                else:
                    self._objects[key(obj)] = dict(obj)
            self._changed(self._name, dict(obj), deleted)
