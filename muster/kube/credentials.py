"""Credentials in the Authorization header: none, a token, a token file that rotates, an exec plugin."""

import asyncio
import base64
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from muster.files.errors import FileError
from muster.files.reading import read_text
from muster.kube.errors import ConfigError

TOKEN_FILE_S = 60.0
"""The same as in client-go (transport/token_source.go); kubelets rotate tokens long before they expire."""
EXEC_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))


class Credentials:
    """None: anonymous, or by a client certificate."""

    async def header(self) -> str | None:
        """Returns the value of the Authorization header. Raises: ConfigError."""
        return None

    def expire(self) -> bool:
        """Drops a header that the API server has refused; returns whether the next may be another one."""
        return False


class TokenCredentials(Credentials):
    """A bearer token that does not change."""

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token.strip()}"

    async def header(self) -> str | None:
        return self._header


class BasicCredentials(Credentials):
    """A user name and a password."""

    def __init__(self, username: str, password: str) -> None:
        self._header = f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"

    async def header(self) -> str | None:
        return self._header


class TokenFileCredentials(Credentials):
    """A token that another process replaces, such as a pod's: read again after a while."""

    def __init__(self, path: Path, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock_s = path, clock_s
        self._header, self._read_s = "", -TOKEN_FILE_S

    async def header(self) -> str | None:
        if not self._header or self._clock_s() >= self._read_s + TOKEN_FILE_S:
            try:
                self._header = f"Bearer {read_text(self._path, 'a token').strip()}"
            except FileError as error:
                if not self._header:
                    raise ConfigError(f"token file {error}") from error
            self._read_s = self._clock_s()
        return self._header

    def expire(self) -> bool:
        """Discards the token after a 401, so that the file is read again."""
        self._read_s = -TOKEN_FILE_S
        return True


class _Variable(msgspec.Struct, frozen=True):
    name: str
    value: str


class ExecPlugin(msgspec.Struct, rename="camel", frozen=True):
    """A command of a kubeconfig that prints an ExecCredential with a token."""

    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None


class _Token(msgspec.Struct):
    token: str


class _ExecCredential(msgspec.Struct):
    status: _Token


class ExecCredentials(Credentials):
    """The token that a command prints; it runs again once the API server refuses the token."""

    def __init__(self, plugin: ExecPlugin) -> None:
        if plugin.api_version not in EXEC_VERSIONS:
            raise ConfigError(
                f"exec plugin {plugin.command}: apiVersion {plugin.api_version} is not supported"
            )
        self._plugin, self._header = plugin, ""
        self._running = asyncio.Lock()

    async def header(self) -> str | None:
        async with self._running:
            if not self._header:
                self._header = f"Bearer {await self._token()}"
        return self._header

    def expire(self) -> bool:
        """Discards the token after a 401, so that the command runs again."""
        self._header = ""
        return True

    async def _token(self) -> str:
        plugin = self._plugin
        question = {
            "apiVersion": plugin.api_version,
            "kind": "ExecCredential",
            "spec": {"interactive": False},
        }
        environment = {
            **os.environ,
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(question).decode(),
            **{variable.name: variable.value for variable in plugin.env or ()},
        }
        pipe = asyncio.subprocess.PIPE
        command = (plugin.command, *(plugin.args or ()))
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, stdout=pipe, stderr=pipe
            )
            output, errors = await process.communicate()
            if process.returncode:
                raise ConfigError(f"exec plugin {plugin.command}: {errors.decode(errors='replace').strip()}")
            return msgspec.json.decode(output, type=_ExecCredential).status.token
        except OSError as error:
            raise ConfigError(f"exec plugin {plugin.command}: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise ConfigError(f"exec plugin {plugin.command}: {error}") from error
