"""A client for a busy API server, which retries requests without an answer."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx2
from lightkube import ApiError, Client
from lightkube.types import PatchType

T = TypeVar("T")
TRIES_MAX = 8
WAIT_SECONDS = 1.0
CONFLICT, NOT_FOUND, TOO_MANY, SERVER_ERROR = 409, 404, 429, 500


class PatientClient:
    """Retries requests that may already have succeeded, so that each takes effect once."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, obj: Any) -> Any:
        """Returns the current object; an existing one with the same name counts as created."""
        try:
            return _insist(lambda: self._client.create(obj))
        except ApiError as error:
            if error.status.code != CONFLICT:
                raise
        meta = obj["metadata"]
        return self.read(type(obj), meta["name"], meta.get("namespace"))

    def read(self, kind: Any, name: str, namespace: str | None = None) -> Any:
        return _insist(lambda: self._client.get(kind, name, namespace=namespace))

    def replace_spec(self, kind: Any, name: str, spec: Any) -> Any:
        patch = [{"op": "replace", "path": "/spec", "value": spec}]
        return _insist(lambda: self._client.patch(kind, name, patch, patch_type=PatchType.JSON))

    def merge_status(self, kind: Any, name: str, namespace: str, body: Any) -> Any | None:
        """Returns None if the object has another resourceVersion than `body`, or does not exist."""
        try:
            return _insist(
                lambda: self._client.patch(
                    kind.Status, name, body, namespace=namespace, patch_type=PatchType.MERGE
                )
            )
        except ApiError as error:
            if error.status.code not in (CONFLICT, NOT_FOUND):
                raise
            return None

    def delete(self, kind: Any, name: str, namespace: str) -> None:
        try:
            _insist(lambda: self._client.delete(kind, name, namespace=namespace))
        except ApiError as error:
            if error.status.code != NOT_FOUND:
                raise

    def delete_all(self, kind: Any, namespace: str) -> None:
        _insist(lambda: self._client.deletecollection(kind, namespace=namespace))


def _insist(ask: Callable[[], T]) -> T:
    for _ in range(TRIES_MAX - 1):
        try:
            return ask()
        except httpx2.TransportError:
            pass
        except ApiError as error:
            if (error.status.code or 0) not in (TOO_MANY, *range(SERVER_ERROR, 600)):
                raise
        time.sleep(WAIT_SECONDS)
    return ask()
