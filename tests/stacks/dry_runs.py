"""Creations as dry runs, sent as kubectl sends them, but without the start of a kubectl for each."""

import atexit
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from sandbox.toolchain.steps import StepError

Manifest = dict[str, Any]
# kubectl's flags that impersonate a user.
User = tuple[str, ...]

HEADERS = {"--as": "Impersonate-User", "--as-group": "Impersonate-Group"}
SECONDS_MAX = 60.0


class Connection:
    """The API server of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        config = KubeConfig.from_file(str(kubeconfig)).get()
        assert config is not None
        options = ConnectionParams(timeout=httpx2.Timeout(SECONDS_MAX), trust_env=False)
        self._http = Client(config, options)
        self._resources: dict[str, list[Manifest]] = {}
        atexit.register(self._http.close)

    def create(self, manifest: Manifest, user: User) -> Manifest:
        """Returns the object that would be created. Raises StepError with the server's message."""
        headers = [(HEADERS[flag], value) for flag, _, value in (option.partition("=") for option in user)]
        parameters = {"dryRun": "All", "fieldManager": "kubectl-create", "fieldValidation": "Strict"}
        answer = self._http.post(self._path(manifest), params=parameters, json=manifest, headers=headers)
        told: Manifest = answer.json()
        if answer.is_error:
            raise StepError(told["message"])
        return told

    def _path(self, manifest: Manifest) -> str:
        """Returns the collection of the manifest's kind in its namespace."""
        version = manifest["apiVersion"]
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._resources:
            self._resources[version] = self._http.get(group).raise_for_status().json()["resources"]
        named = (
            r for r in self._resources[version] if r["kind"] == manifest["kind"] and "/" not in r["name"]
        )
        resource = next(named)
        namespace = manifest["metadata"].get("namespace", "default")
        inside = f"/namespaces/{namespace}" if resource["namespaced"] else ""
        return f"{group}{inside}/{resource['name']}"


@cache
def connection(kubeconfig: Path) -> Connection:
    """Returns one connection for all tests of this process."""
    return Connection(kubeconfig)
