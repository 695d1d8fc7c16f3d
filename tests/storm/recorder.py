"""Records every revision of the objects that admission uses, from the API server's watches.

A watch continues from the last revision that it saw. A restarted API server has lost its watch cache: missed
revisions are read from etcd, which keeps them for five minutes, by one list per revision.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec
from lightkube import ApiError, Client

from muster.kube import kinds as ours
from muster.kube.kinds import Kind
from sandbox.cluster import kinds
from sandbox.cluster.kinds import Object

RECORDED: Mapping[Kind[Any], Any] = {
    ours.RAY_JOBS: kinds.RayJob,
    ours.RAY_CLUSTERS: kinds.RayCluster,
    ours.WORKLOADS: kinds.Workload,
    ours.PODS: kinds.Pod,
    ours.PROVISIONING_REQUESTS: kinds.ProvisioningRequest,
    ours.POD_TEMPLATES: kinds.PodTemplate,
}
WAIT_S = 0.3
WATCH_S_MAX = 60
GONE = 410


class Lost(Exception):
    """A revision can no longer be read."""


@dataclass(frozen=True)
class Event:
    revision: int
    kind: Kind[Any]
    type: str  # ADDED | MODIFIED | DELETED
    body: Object


BEGIN = 0
"""The revision of objects that exist at the start: in the order of their latest changes, a pod could come
before its Workload."""


class Recorder:
    """Records events of all kinds since `start`; objects that exist then are ADDED before, with their owners
    first."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._lost: list[str] = []

    def start(self) -> "Recorder":
        for kind, resource in RECORDED.items():
            objects = self._client.list(resource, namespace="*")
            for obj in objects:
                self._note(kind, "ADDED", dict(obj), BEGIN)
            arguments = (kind, resource, int(objects.resourceVersion or 0))
            threading.Thread(target=self._record, args=arguments, daemon=True).start()
        return self

    def stop(self) -> list[Event]:
        """Returns all events in the order of their revisions. Raises Lost if some could not be read."""
        self._stopped.set()
        with self._lock:
            if self._lost:
                raise Lost("; ".join(self._lost))
            return sorted(self._events, key=lambda event: event.revision)

    def _record(self, kind: Kind[Any], resource: Any, version: int) -> None:
        """Follows one kind; notes an error, so that `stop` rejects an incomplete record."""
        try:
            self._follow(kind, resource, version)
        except Exception as error:
            self._lost.append(f"{kind}: {type(error).__name__} {error}")

    def _follow(self, kind: Kind[Any], resource: Any, version: int) -> None:
        gone = False  # whether revisions after `version` can no longer be watched
        while not self._stopped.is_set():
            try:
                if gone:
                    version, gone = self._read_back(kind, resource, version), False
                events = self._client.watch(
                    resource, namespace="*", resource_version=str(version), server_timeout=WATCH_S_MAX
                )
                for operation, obj in events:
                    version = int(obj["metadata"]["resourceVersion"])
                    self._note(kind, operation, dict(obj))
            except ApiError as error:
                if gone and error.status.code == GONE:  # nor listed: etcd has compacted it
                    self._lost.append(f"{kind} since revision {version}")
                    return
                gone = gone or error.status.code == GONE
                time.sleep(WAIT_S)
            except (httpx2.HTTPError, msgspec.MsgspecError, OSError):
                time.sleep(WAIT_S)

    def _read_back(self, kind: Kind[Any], resource: Any, version: int) -> int:
        """Records the changes since a revision, one revision after the other; returns the last one."""
        latest = self._client.list(resource, namespace="*")
        list(latest)  # the list's revision is known once it is read
        last = int(latest.resourceVersion or 0)
        before = self._at(resource, version)
        for revision in range(version + 1, last + 1):
            now = self._at(resource, revision)
            for key in before.keys() - now.keys():
                meta = {**before[key]["metadata"], "resourceVersion": str(revision)}
                self._note(kind, "DELETED", {**before[key], "metadata": meta})
            for key, obj in now.items():
                if int(obj["metadata"]["resourceVersion"]) == revision:
                    self._note(kind, "MODIFIED" if key in before else "ADDED", obj)
            before = now
        return last

    def _at(self, resource: Any, revision: int) -> dict[str, Object]:
        """Returns the objects at a revision, by UID."""
        exact = {"resourceVersion": str(revision), "resourceVersionMatch": "Exact"}
        # lightkube's list does not support revisions
        client: Any = self._client._client
        objects = client.list(client.prepare_request("list", res=resource, namespace="*", params=exact))
        return {str(obj["metadata"]["uid"]): dict(obj) for obj in objects}

    def _note(self, kind: Kind[Any], operation: str, body: Object, revision: int | None = None) -> None:
        with self._lock:
            of_object = int(body["metadata"]["resourceVersion"])
            self._events.append(Event(of_object if revision is None else revision, kind, operation, body))
