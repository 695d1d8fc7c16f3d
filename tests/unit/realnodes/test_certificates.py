"""Certificates of nodes and of the DNS, read back with the library that signs them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.realnodes.certificates import Identity, node_identity, write_certificate, write_kubeconfig


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A folder with ca.crt and ca.key."""
    folder = tmp_path / "authority"
    folder.mkdir()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "ca.crt").write_bytes(certificate.public_bytes(pem))
    (folder / "ca.key").write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    return folder


def signed(authority: Path, identity: Identity, folder: Path) -> x509.Certificate:
    write_certificate(authority, identity, folder)
    certificate = x509.load_pem_x509_certificate((folder / "client.crt").read_bytes())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate((authority / "ca.crt").read_bytes()))
    return certificate


def test_a_kubelet_is_a_client_of_the_node_authorizer_and_a_server(authority: Path, tmp_path: Path) -> None:
    certificate = signed(authority, node_identity("gke-system-0", "10.99.0.10"), tmp_path)
    assert certificate.subject.rfc4514_string() == "CN=system:node:gke-system-0,O=system:nodes"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["gke-system-0"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["10.99.0.10"]
    usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]


def test_another_client_serves_nothing_and_has_no_group(authority: Path, tmp_path: Path) -> None:
    certificate = signed(authority, Identity("system:coredns"), tmp_path)
    assert certificate.subject.rfc4514_string() == "CN=system:coredns"
    with pytest.raises(x509.ExtensionNotFound):
        certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_only_this_user_reads_the_key(authority: Path, tmp_path: Path) -> None:
    write_certificate(authority, Identity("system:coredns"), tmp_path)
    assert (tmp_path / "client.key").stat().st_mode & 0o777 == 0o600


def test_the_kubeconfig_names_files_instead_of_containing_keys(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "kubeconfig", tmp_path, "https://10.99.0.1:6443")
    content = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    assert content["users"][0]["user"] == {
        "client-certificate": str(tmp_path / "client.crt"),
        "client-key": str(tmp_path / "client.key"),
    }
    assert content["clusters"][0]["cluster"]["server"] == "https://10.99.0.1:6443"
