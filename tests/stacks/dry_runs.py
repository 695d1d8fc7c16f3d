"""Creations and patches as dry runs, as kubectl sends them, but without the start of a kubectl for each."""

import atexit
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from tools.toolchain.steps import StepError

Manifest = dict[str, Any]
Patch = list[dict[str, Any]] | dict[str, Any]
"""Operations of a JSON patch, or a merge patch."""
# kubectl's flags that impersonate a user.
User = tuple[str, ...]

HEADERS = {"--as": "Impersonate-User", "--as-group": "Impersonate-Group"}
EFFECT_SECONDS_MAX = 60.0
"""Bound of an answer, and of the time until the API server enforces a change: a second on a quiet machine."""


def expect_refusal(refused: str, message: str) -> None:
    """Checks that a request was refused with a text that has the message; empty: that it was not refused."""
    assert message in refused
    assert bool(refused) is bool(message), refused


class Target(NamedTuple):
    """An object to patch; `kind` in any case, as kubectl takes it."""

    version: str
    kind: str
    name: str
    namespace: str | None = None
    subresource: str = ""


class Connection:
    """The API server of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        config = KubeConfig.from_file(str(kubeconfig)).get()
        assert config is not None
        options = ConnectionParams(timeout=httpx2.Timeout(EFFECT_SECONDS_MAX), trust_env=False)
        self._http = Client(config, options)
        self._resources: dict[str, list[Manifest]] = {}
        atexit.register(self._http.close)

    def create(self, manifest: Manifest, user: User) -> Manifest:
        """Returns the object that would be created. Raises StepError with the server's message."""
        path = self._path(manifest["apiVersion"], manifest["kind"], manifest["metadata"].get("namespace"))
        return self._dry_run("POST", path, manifest, "application/json", user, fieldValidation="Strict")

    def patch(self, target: Target, patch: Patch, user: User) -> Manifest:
        """Returns the object that would result. Raises StepError with the server's message."""
        path = f"{self._path(target.version, target.kind, target.namespace)}/{target.name}"
        path += f"/{target.subresource}" if target.subresource else ""
        media = "json-patch" if isinstance(patch, list) else "merge-patch"
        return self._dry_run("PATCH", path, patch, f"application/{media}+json", user)

    def _dry_run(
        self, method: str, path: str, body: Manifest | Patch, media: str, user: User, **more: str
    ) -> Manifest:
        impersonated = [(HEADERS[flag], value) for flag, _, value in (o.partition("=") for o in user)]
        parameters = {"dryRun": "All", "fieldManager": "kubectl", **more}
        headers = [*impersonated, ("Content-Type", media)]
        answer = self._http.request(
            method, path, params=parameters, content=json.dumps(body), headers=headers
        )
        status: Manifest = answer.json()
        if answer.is_error:
            raise StepError(status["message"])
        return status

    def _path(self, version: str, kind: str, namespace: str | None) -> str:
        """Returns the collection of a kind in the namespace."""
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._resources:
            self._resources[version] = self._http.get(group).raise_for_status().json()["resources"]
        named = (
            r for r in self._resources[version] if r["kind"].lower() == kind.lower() and "/" not in r["name"]
        )
        resource = next(named)
        inside = f"/namespaces/{namespace or 'default'}" if resource["namespaced"] else ""
        return f"{group}{inside}/{resource['name']}"


@cache
def connection(kubeconfig: Path) -> Connection:
    """Returns one connection for all tests of this process."""
    return Connection(kubeconfig)
