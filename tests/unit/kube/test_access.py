"""Tests how kubeconfigs and ServiceAccounts are read."""

import asyncio
import base64
import json
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.kube import access as kube_access
from muster.kube.access import Access, access, default_namespace, from_service_account
from muster.kube.connection import proxy_of
from muster.kube.credentials import TOKEN_FILE_S, TokenFileCredentials
from muster.kube.errors import ConfigError
from tests.unit.kube.server import kubeconfig

SERVER = "https://cluster:6443/"
EXEC_API = "client.authentication.k8s.io/v1beta1"
PRINTS_TOKEN = "import os; print('{\"status\":{\"token\":\"' + os.environ['SECRET'] + '\"}}')"


def plugin(code: str, version: str = EXEC_API) -> dict[str, Any]:
    env = [{"name": "SECRET", "value": "from-exec"}]
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": ["-c", code], "env": env}}


def header(credentials: Access) -> str | None:
    return asyncio.run(credentials.credentials.header())


USERS: dict[str, tuple[dict[str, Any], str | None]] = {
    "nothing": ({}, None),
    "a token": ({"token": "t"}, "Bearer t"),
    "a token file next to the kubeconfig": ({"tokenFile": "token", "token": "t"}, "Bearer from-file"),
    "an exec plugin": (plugin(PRINTS_TOKEN), "Bearer from-exec"),
    "a password": ({"username": "u", "password": "p"}, "Basic dTpw"),
    "an unknown field": ({"token": "t", "as": "someone"}, "Bearer t"),
}


@pytest.mark.parametrize("name", USERS)
def test_the_credentials_of_a_user(name: str, tmp_path: Path) -> None:
    user, expected = USERS[name]
    (tmp_path / "token").write_text("from-file\n")
    credentials = access(kubeconfig(tmp_path, SERVER, user))
    assert (credentials.server, header(credentials)) == ("https://cluster:6443", expected)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an auth-provider": ({"auth-provider": {"name": "gcp"}}, "auth-provider is not supported"),
    "an exec plugin of an unknown version": (plugin("", "v0"), "apiVersion v0 is not supported"),
    "an exec plugin that fails": (plugin("import sys; sys.exit('no login')"), "no login"),
    "an exec plugin that prints no token": (plugin("print('{}')"), "missing required field `status`"),
    "an exec plugin that is missing": (
        {"exec": {"apiVersion": EXEC_API, "command": "/no/such/plugin"}},
        "exec plugin /no/such/plugin: No such file",
    ),
    "a missing token file": ({"tokenFile": "missing"}, "missing: No such file"),
    "a missing certificate": (
        {"client-certificate": "c", "client-key": "k"},
        "certificates of https://cluster",
    ),
    "a value of the wrong type": ({"token": 5}, "Expected `str`, got `int`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_user(name: str, tmp_path: Path) -> None:
    user, expected = WRONG[name]
    with pytest.raises(ConfigError, match=expected):
        header(access(kubeconfig(tmp_path, SERVER, user)))


UNUSABLE = {
    "empty": ("", "kubeconfig"),
    "no YAML": ("{", "kubeconfig"),
    "no context": ("{contexts: [], current-context: c}", "contexts: no entry is named 'c'"),
    "no current context": ("{contexts: []}", "contexts: no entry is named None"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_kubeconfig_that_is_no_use(name: str, tmp_path: Path) -> None:
    text, expected = UNUSABLE[name]
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(ConfigError, match=expected):
        access(str(path))


def test_a_missing_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        access(str(tmp_path / "missing"))


def test_a_context_may_be_named(tmp_path: Path) -> None:
    path = Path(kubeconfig(tmp_path, SERVER))
    content = json.loads(path.read_text())
    content["contexts"].append({"name": "other", "context": {"cluster": "far", "user": "u"}})
    content["clusters"].append({"name": "far", "cluster": {"server": "https://far"}})
    path.write_text(json.dumps(content))
    assert access(str(path)).server == "https://cluster:6443"
    assert access(str(path), "other").server == "https://far"
    with pytest.raises(ConfigError, match="contexts: no entry is named 'missing'"):
        access(str(path), "missing")


def test_a_context_has_a_namespace(tmp_path: Path) -> None:
    path = Path(kubeconfig(tmp_path, SERVER))
    content = json.loads(path.read_text())
    mine = {"cluster": "k", "user": "u", "namespace": "team-a"}
    content["contexts"].append({"name": "mine", "context": mine})
    path.write_text(json.dumps(content))
    assert default_namespace(str(path)) == "default"
    assert default_namespace(str(path), "mine") == "team-a"
    with pytest.raises(ConfigError, match="contexts: no entry is named 'missing'"):
        default_namespace(str(path), "missing")


def test_a_pod_has_a_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("pod")
    (tmp_path / "namespace").write_text("team-b\n")
    monkeypatch.setattr(kube_access, "SERVICE_ACCOUNT", tmp_path)
    assert default_namespace(None) == "team-b"
    (tmp_path / "namespace").unlink()
    with pytest.raises(ConfigError, match=r"namespace of the pod: .*/namespace: No such file or directory"):
        default_namespace(None)


def test_which_server_certificates_are_accepted(tmp_path: Path) -> None:
    strict = access(kubeconfig(tmp_path, SERVER)).tls
    lax = access(kubeconfig(tmp_path, SERVER, cluster={"insecure-skip-tls-verify": True})).tls
    assert strict is not None
    assert lax is not None
    assert (strict.verify_mode, strict.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert (lax.verify_mode, lax.check_hostname) == (ssl.CERT_NONE, False)
    assert access(kubeconfig(tmp_path, "http://cluster")).tls is None


CERTIFICATES: dict[str, dict[str, Any]] = {
    "a file": {"certificate-authority": "ca.crt"},
    "an empty file": {"certificate-authority": "empty.crt"},
    "a device": {"certificate-authority": "/dev/zero"},
    "data": {"certificate-authority-data": base64.b64encode(b"no certificate").decode()},
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_authority_that_can_not_be_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    (tmp_path / "empty.crt").touch()
    with pytest.raises(ConfigError, match="certificates of https://cluster"):
        access(kubeconfig(tmp_path, SERVER, cluster=CERTIFICATES[name]))


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pods_service_account(
    host: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("pod\n")
    (tmp_path / "ca.crt").write_text("a certificate")
    trusted: list[str] = []
    no_tls = ssl.create_default_context()

    def tls(cadata: str) -> ssl.SSLContext:
        trusted.append(cadata)
        return no_tls

    monkeypatch.setattr(ssl, "create_default_context", tls)
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    credentials = from_service_account(tmp_path, environment)
    assert (credentials.server, header(credentials)) == (server, "Bearer pod")
    assert trusted == ["a certificate"]


def test_a_token_file_is_read_again_after_a_while(tmp_path: Path) -> None:
    path, now_s = tmp_path / "token", [0.0]
    path.write_text("one")
    credentials = TokenFileCredentials(path, lambda: now_s[0])
    observed: list[str | None] = []
    for at_s, text in (
        (0.0, "one"),
        (TOKEN_FILE_S - 1, "two"),
        (TOKEN_FILE_S, "three"),
        (3 * TOKEN_FILE_S, ""),
    ):
        now_s[0] = at_s
        path.write_text(text) if text else path.unlink()
        observed.append(asyncio.run(credentials.header()))
    assert observed == ["Bearer one", "Bearer one", "Bearer three", "Bearer three"]


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inside")
    assert proxy_of("https://outside:6443") == "http://proxy:3128"
    assert proxy_of("https://inside:6443") is None
