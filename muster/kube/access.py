"""Address and credentials of the API server, from the pod's ServiceAccount or a kubeconfig."""

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from muster.files.errors import FileError
from muster.files.reading import read_bytes, read_text
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
_piped: dict[Path, str] = {}  # kubeconfigs in pipes, which can be read once


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
            return read_text(SERVICE_ACCOUNT / "namespace", "a namespace").strip()
        except FileError as error:
            raise ConfigError(f"namespace of the pod: {error}") from error
    path = _path(kubeconfig)
    return _read(path, lambda kubeconfig: _context(kubeconfig, context)).namespace or "default"


def _in_pod(kubeconfig: str | None, context: str | None) -> bool:
    return kubeconfig is None and context is None and (SERVICE_ACCOUNT / "token").exists()


def _path(kubeconfig: str | None) -> Path:
    return Path(kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG).expanduser()


def from_service_account(folder: Path, environment: Mapping[str, str]) -> Access:
    """Returns the access of a pod, from its mounted ServiceAccount."""
    try:
        host, port = environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]
    except KeyError as error:
        raise ConfigError(f"{folder} exists, but the variable {error.args[0]} is not set") from None
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    tls = _tls(_Cluster(server, certificate_authority=str(folder / "ca.crt")), _User(), folder)
    return Access(server, tls, TokenFileCredentials(folder / "token"))


def from_kubeconfig(path: Path, context_name: str | None = None) -> Access:
    """Returns the access of a context, by default the current one. Files in it are relative to its folder."""
    cluster, user = _read(path, lambda kubeconfig: _cluster_and_user(kubeconfig, context_name))
    server = cluster.server.rstrip("/")
    tls = None if server.startswith("http://") else _tls(cluster, user, path.parent)
    return Access(server, tls, _credentials(user, path.parent))


def _read(path: Path, entries: Callable[[Any], T]) -> T:
    """Returns entries of a kubeconfig. Raises: ConfigError."""
    from muster.files.yaml_documents import document  # not needed in a pod

    try:
        if path not in _piped:
            text = read_text(path, "a kubeconfig")
            if not path.is_fifo():
                return entries(document(text, str(path)))
            _piped[path] = text
        return entries(document(_piped[path], str(path)))
    except FileError as error:
        raise ConfigError(f"kubeconfig {error}") from error
    except (msgspec.ValidationError, AttributeError, KeyError, TypeError) as error:
        raise ConfigError(f"kubeconfig {path}: {error}") from error


def _context(kubeconfig: Any, name: str | None) -> _Context:
    context: _Context = _named(kubeconfig, "contexts", name or kubeconfig.get("current-context"), _Context)
    return context


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
        context = ssl.create_default_context(cadata=_authorities(cluster, folder))
        if cluster.insecure_skip_tls_verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if user.client_certificate or user.client_certificate_data:
            _load_client_certificate(context, user, folder)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(f"certificates of {cluster.server}: {error}") from error
    return context


def _authorities(cluster: _Cluster, folder: Path) -> str | None:
    """Returns the authorities that the cluster's certificate needs; None: the system's.

    Raises: ValueError."""
    if not (cluster.certificate_authority_data or cluster.certificate_authority):
        return None
    content = _content(cluster.certificate_authority_data, cluster.certificate_authority, folder)
    text = content.decode("ascii", "ignore")  # comments between certificates may have any encoding
    if not text.strip():
        raise ValueError("certificate-authority is empty")  # ssl would take the system's
    return text


def _load_client_certificate(context: ssl.SSLContext, user: _User, folder: Path) -> None:
    """ssl reads certificates of a client from files only."""
    with tempfile.TemporaryDirectory() as temporary:
        certificate, key = Path(temporary) / "certificate", Path(temporary) / "key"
        certificate.write_bytes(_content(user.client_certificate_data, user.client_certificate, folder))
        key.write_bytes(_content(user.client_key_data, user.client_key, folder))
        context.load_cert_chain(certificate, key)


def _content(data: str, file: str, folder: Path) -> bytes:
    """Returns the bytes in a kubeconfig, else the bytes of the file that it names, if any."""
    if data:
        return base64.b64decode(data)
    return read_bytes(folder / file, "a certificate or key in PEM") if file else b""


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
