"""The Kubernetes client of previews and drift: plain JSON objects of any kind.

lightkube reads connection and credentials from a kubeconfig. Plural names and scope come from the API
server's discovery documents, so that custom resources need no code here.
"""

import ipaddress
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
from lightkube.config.client_adapter import Client as HttpClient
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig

CONNECT_SECONDS_MAX = 3.0
REQUEST_SECONDS_MAX = 30.0

Object = dict[str, Any]


class UnreachableError(Exception):
    """The API server does not respond."""


class ApiError(Exception):
    """The API server refused a request; `reason` and the message are from its Status."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class UnknownKindError(Exception):
    """The API server does not serve a kind (yet): its CRD is not installed or not established."""


@dataclass(frozen=True)
class RestResource:
    """The REST resource of a kind: its collection, and whether it is namespaced."""

    api_version: str
    plural: str
    namespaced: bool

    @property
    def collection(self) -> str:
        """The path of the kind's objects in all namespaces."""
        return f"{self._root}/{self.plural}"

    def path(self, name: str, namespace: str | None) -> str:
        """Returns the path of an object in the API."""
        scope = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{self._root}{scope}/{self.plural}/{name}"

    @property
    def _root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


class ApiServer:
    """One API server. Safe to use from several threads.

    default_namespace: for namespaced objects without a namespace.
    take_over: takes ownership of applied fields from other managers.
    """

    def __init__(
        self, config: SingleConfig, default_namespace: str = "default", *, take_over: bool = False
    ) -> None:
        self.url = config.cluster.server
        self.take_over = take_over
        self.default_namespace = default_namespace
        timeout = httpx2.Timeout(REQUEST_SECONDS_MAX, connect=CONNECT_SECONDS_MAX)
        # As Go's clients do: never use a proxy of the environment for loopback addresses.
        parameters = ConnectionParams(timeout=timeout, trust_env=not _is_loopback(self.url))
        self._http = HttpClient(config, parameters)
        self._kinds: dict[tuple[str, str], RestResource] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def resource(self, api_version: str, kind: str) -> RestResource:
        """Returns the resource of a kind; raises UnknownKindError. A kind not served yet is not cached."""
        with self._lock:
            if (api_version, kind) not in self._kinds:
                self._discover(api_version)
            try:
                return self._kinds[api_version, kind]
            except KeyError:
                raise UnknownKindError(f"{self.url} serves no kind {kind} in {api_version}") from None

    def _discover(self, api_version: str) -> None:
        root = "apis" if "/" in api_version else "api"
        try:
            listing = self._request("GET", f"/{root}/{api_version}")
        except ApiError as error:
            if error.status != 404:
                raise
            return
        for entry in listing["resources"]:
            if "/" not in entry["name"]:
                resource = RestResource(api_version, entry["name"], entry["namespaced"])
                self._kinds[api_version, entry["kind"]] = resource

    def get(self, manifest: Mapping[str, Any]) -> Object | None:
        """Returns the live object with kind, name and namespace of `manifest`; None if it does not exist."""
        try:
            return self._request("GET", self._path(manifest))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def apply(
        self, manifest: Mapping[str, Any], manager: str, *, dry_run: bool = False, force: bool = False
    ) -> Object:
        """Applies server-side; returns the object as stored, or as it would be stored in a dry run."""
        parameters = {"fieldManager": manager, "force": str(force).lower()}
        if dry_run:
            parameters["dryRun"] = "All"
        content_type = "application/apply-patch+yaml"
        return self._request("PATCH", self._path(manifest), parameters, manifest, content_type)

    def replace(self, manifest: Mapping[str, Any], manager: str, *, dry_run: bool = False) -> Object:
        """Replaces a live object as a whole; returns it as stored, or as it would be stored in a dry run.

        metadata.resourceVersion identifies the live object. Fields missing in `manifest` get their defaults.
        """
        parameters = {"fieldManager": manager, **({"dryRun": "All"} if dry_run else {})}
        return self._request("PUT", self._path(manifest), parameters, manifest)

    def list(self, api_version: str, kind: str) -> tuple[Object, ...]:
        """Returns the live objects of a kind, in all namespaces; none if the kind is not served."""
        try:
            resource = self.resource(api_version, kind)
        except UnknownKindError:
            return ()
        items = self._request("GET", resource.collection)["items"]
        return tuple({"apiVersion": api_version, "kind": kind, **item} for item in items)

    def delete(self, manifest: Mapping[str, Any]) -> None:
        """Starts a foreground deletion: the object is deleted after everything that it owns."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
        self._request("DELETE", self._path(manifest), body=options)

    def _path(self, manifest: Mapping[str, Any]) -> str:
        resource = self.resource(manifest["apiVersion"], manifest["kind"])
        metadata = manifest["metadata"]
        return resource.path(metadata["name"], metadata.get("namespace") or self.default_namespace)

    def _request(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        try:
            response = self._http.request(
                method, path, params=parameters, json=body, headers={"Content-Type": content_type}
            )
        except httpx2.TransportError as error:
            raise UnreachableError(f"the API server {self.url} does not respond: {error}") from error
        if response.is_success:
            answer: Object = response.json()
            return answer
        raise _api_error(response)


def _api_error(response: httpx2.Response) -> ApiError:
    try:
        status = response.json()
        return ApiError(response.status_code, status.get("reason", response.reason_phrase), status["message"])
    except (ValueError, KeyError, AttributeError):
        # While a CRD is being installed, the API server responds with plain text.
        return ApiError(response.status_code, response.reason_phrase, response.text[:500])


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
