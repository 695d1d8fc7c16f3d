"""Where the API server is and how to authenticate: the pod's ServiceAccount, or a kubeconfig."""

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from muster.kube.credentials import (
    BasicCredentials,
    Credentials,
    ExecCredentials,
    ExecPlugin,
    TokenCredentials,
    TokenFileCredentials,
)
from muster.kube.errors import ConfigError

T = TypeVar("T")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_KUBECONFIG = "~/.kube/config"


@dataclass(frozen=True, slots=True)
class Access:
    """`server` is a URL without a final slash; `tls` None for http."""

    server: str
    tls: ssl.SSLContext | None
    credentials: Credentials


class _Entry(msgspec.Struct, rename="kebab", frozen=True):
    """An entry of a kubeconfig; fields that it does not name are ignored."""


class _Cluster(_Entry, frozen=True):
    server: str
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False


class _User(_Entry, frozen=True):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: ExecPlugin | None = None
    auth_provider: dict[str, Any] | None = None


class _Context(_Entry, frozen=True):
    cluster: str
    user: str = ""
    namespace: str = ""


def access(kubeconfig: str | None, context: str | None = None) -> Access:
    """Returns the access that a context of a kubeconfig describes, by default the current one; without
    either, that of the pod's ServiceAccount, else of $KUBECONFIG or ~/.kube/config. Raises: ConfigError."""
    if _in_pod(kubeconfig, context):
        return from_service_account(SERVICE_ACCOUNT, os.environ)
    return from_kubeconfig(_path(kubeconfig), context)


def default_namespace(kubeconfig: str | None, context: str | None = None) -> str:
    """Returns the namespace that kubectl takes without -n: that of the context, or of the pod. Raises:
    ConfigError."""
    if _in_pod(kubeconfig, context):
        try:
            return (SERVICE_ACCOUNT / "namespace").read_text().strip()
        except OSError as error:
            raise ConfigError(f"namespace of the pod: {error.filename}: {error.strerror}") from error
    path = _path(kubeconfig)
    return _read(path, lambda found: _context(found, context)).namespace or "default"


def _in_pod(kubeconfig: str | None, context: str | None) -> bool:
    return kubeconfig is None and context is None and (SERVICE_ACCOUNT / "token").exists()


def _path(kubeconfig: str | None) -> Path:
    return Path(kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG).expanduser()


def from_service_account(folder: Path, environment: Mapping[str, str]) -> Access:
    try:
        host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    except KeyError as error:
        raise ConfigError(f"{folder} exists, but the variable {error.args[0]} is not set") from None
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    tls = _tls(_Cluster(server, certificate_authority=str(folder / "ca.crt")), _User(), folder)
    return Access(server, tls, TokenFileCredentials(folder / "token"))


def from_kubeconfig(path: Path, context_name: str | None = None) -> Access:
    """Returns the access of a context, by default the current one. Files in it are relative to its folder."""
    cluster, user = _read(path, lambda found: _cluster_and_user(found, context_name))
    server = cluster.server.rstrip("/")
    tls = None if server.startswith("http://") else _tls(cluster, user, path.parent)
    return Access(server, tls, _credentials(user, path.parent))


def _read(path: Path, entries: Callable[[Any], T]) -> T:
    """Returns entries of a kubeconfig. Raises: ConfigError."""
    import yaml  # not needed in a pod

    try:
        return entries(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise ConfigError(f"kubeconfig {path}: {error.strerror}") from error
    except (yaml.YAMLError, msgspec.ValidationError, AttributeError, KeyError, TypeError) as error:
        raise ConfigError(f"kubeconfig {path}: {error}") from error


def _context(kubeconfig: Any, name: str | None) -> _Context:
    found: _Context = _named(kubeconfig, "contexts", name or kubeconfig.get("current-context"), _Context)
    return found


def _cluster_and_user(kubeconfig: Any, context_name: str | None) -> tuple[_Cluster, _User]:
    context = _context(kubeconfig, context_name)
    cluster = _named(kubeconfig, "clusters", context.cluster, _Cluster)
    return cluster, _named(kubeconfig, "users", context.user, _User) if context.user else _User()


def _named(kubeconfig: Any, section: str, name: str | None, type_: type[Any]) -> Any:
    """Returns an entry by its name. Raises: KeyError, msgspec.ValidationError."""
    for entry in kubeconfig.get(section) or ():
        if entry["name"] == name:
            return msgspec.convert(entry[section.removesuffix("s")], type_)
    raise KeyError(f"{section}: no entry is named {name!r}")


def _tls(cluster: _Cluster, user: _User, folder: Path) -> ssl.SSLContext:
    """Raises: ConfigError."""
    try:
        if cluster.certificate_authority_data:
            text = base64.b64decode(cluster.certificate_authority_data).decode()
            context = ssl.create_default_context(cadata=text)
        else:
            ca = cluster.certificate_authority
            context = ssl.create_default_context(cafile=str(folder / ca) if ca else None)
        if cluster.insecure_skip_tls_verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if user.client_certificate or user.client_certificate_data:
            _load_client_certificate(context, user, folder)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(f"certificates of {cluster.server}: {error}") from error
    return context


def _load_client_certificate(context: ssl.SSLContext, user: _User, folder: Path) -> None:
    """ssl reads certificates of a client from files only."""
    with tempfile.TemporaryDirectory() as temporary:
        certificate, key = Path(temporary) / "certificate", Path(temporary) / "key"
        if user.client_certificate_data:
            certificate.write_bytes(base64.b64decode(user.client_certificate_data))
        else:
            certificate = folder / user.client_certificate
        if user.client_key_data:
            key.write_bytes(base64.b64decode(user.client_key_data))
        else:
            key = folder / user.client_key
        context.load_cert_chain(certificate, key)


def _credentials(user: _User, folder: Path) -> Credentials:
    """Returns the first of them, in kubectl's order of precedence. Raises: ConfigError."""
    if user.token_file:
        return TokenFileCredentials(folder / user.token_file)
    if user.token:
        return TokenCredentials(user.token)
    if user.exec is not None:
        return ExecCredentials(user.exec)
    if user.username and user.password:
        return BasicCredentials(user.username, user.password)
    if user.auth_provider is not None:
        raise ConfigError(
            "the user's auth-provider is not supported; expected exec, a token or a certificate"
        )
    return Credentials()
