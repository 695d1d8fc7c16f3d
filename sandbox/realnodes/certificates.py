"""Certificates of nodes and of the DNS, signed by the cluster's authority."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAYS = 30
NODES_GROUP = "system:nodes"
"""The group to which the API server's Node authorizer applies, with names system:node:NODE."""


@dataclass(frozen=True)
class Identity:
    """A client of the API server: its user name, and its group, if any.

    server_names: the names and addresses under which it also serves; none for a client only.
    """

    user: str
    group: str = ""
    server_names: Sequence[str] = ()


def node_identity(node: str, address: str) -> Identity:
    """Returns the identity of a kubelet."""
    return Identity(f"system:node:{node}", NODES_GROUP, [node, address])


def write_certificate(authority: Path, identity: Identity, folder: Path) -> None:
    """Writes `client.crt` and `client.key`, the latter readable by this user only.

    authority: a folder with ca.crt and ca.key.
    """
    with warnings.catch_warnings():
        # kwokctl gives its authority the serial number 0, which RFC 5280 forbids.
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        issuer = x509.load_pem_x509_certificate((authority / "ca.crt").read_bytes())
    issuer_key = serialization.load_pem_private_key((authority / "ca.key").read_bytes(), password=None)
    if not isinstance(issuer_key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise TypeError(f"{authority}/ca.key: expected an RSA or elliptic-curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        x509.CertificateBuilder()
        .subject_name(_subject(identity))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=DAYS))
    )
    if identity.server_names:
        names = x509.SubjectAlternativeName([_general_name(name) for name in identity.server_names])
        builder = builder.add_extension(names, critical=False)
        usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    certificate = builder.sign(issuer_key, hashes.SHA256())
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private = folder / "client.key"
    private.touch(mode=0o600)
    private.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    (folder / "client.crt").write_bytes(certificate.public_bytes(pem))


def write_kubeconfig(path: Path, folder: Path, server: str) -> None:
    """Writes a kubeconfig with the certificate in `folder`, where ca.crt is the authority's."""
    user = {
        "client-certificate": str(folder / "client.crt"),
        "client-key": str(folder / "client.key"),
    }
    cluster = {"server": server, "certificate-authority": str(folder / "ca.crt")}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "sandbox", "cluster": cluster}],
        "users": [{"name": "client", "user": user}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "client"}}],
        "current-context": "sandbox",
    }
    path.write_text(yaml.safe_dump(kubeconfig))


def _subject(identity: Identity) -> x509.Name:
    user = x509.NameAttribute(NameOID.COMMON_NAME, identity.user)
    group = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, identity.group)] if identity.group else []
    return x509.Name([*group, user])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
