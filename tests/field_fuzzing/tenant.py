"""Requests of a member of a team, by impersonation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams

from components.admission.ray import RAY_KINDS
from tests.stacks.dry_runs import HEADERS, Manifest
from tests.stacks.ray_requests import ALICE

SECONDS_MAX = 60.0
PLURALS: Mapping[str, str] = {kind.name: kind.plural for kind in RAY_KINDS}


class Refused(Exception):
    """The API server refused a request; the message is its own."""


class Tenant:
    """Alice of team-a."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        config = KubeConfig.from_file(str(kubeconfig)).get()
        assert config is not None
        options = ConnectionParams(timeout=httpx2.Timeout(SECONDS_MAX), trust_env=False)
        self._http, self._namespace = Client(config, options), namespace

    def create(self, manifest: Manifest) -> None:
        """Raises: Refused."""
        self._send("POST", manifest["kind"], "", manifest)

    def replace(self, manifest: Manifest) -> None:
        """Raises: Refused."""
        self._send("PUT", manifest["kind"], manifest["metadata"]["name"], manifest)

    def delete(self, kind: str, name: str) -> None:
        """Raises: Refused."""
        self._send("DELETE", kind, name, {})

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, kind: str, name: str, body: Any) -> None:
        path = f"/apis/ray.io/v1/namespaces/{self._namespace}/{PLURALS[kind]}/{name}".rstrip("/")
        headers = [(HEADERS[flag], value) for flag, _, value in (part.partition("=") for part in ALICE)]
        answer = self._http.request(
            method, path, content=json.dumps(body), headers=[*headers, ("Content-Type", "application/json")]
        )
        if answer.is_error:
            raise Refused(answer.json()["message"])
