"""Access of Google's service agents to the project's keys of Cloud KMS."""

from typing import TypeGuard

import pulumi
import pulumi_gcp as gcp

from components.base import Component


def grantable(key: str | None, project: str) -> TypeGuard[str]:
    """Returns whether the key belongs to the project; for the key of another one, its owner grants access."""
    return key is not None and key.startswith(f"projects/{project}/")


def let_encrypt(
    owner: Component, name: str, key: str, member: pulumi.Input[str]
) -> gcp.kms.CryptoKeyIAMMember:
    """Declares, below `owner`, a service agent's permission to encrypt and decrypt with the key."""
    return gcp.kms.CryptoKeyIAMMember(
        owner.named(name),
        crypto_key_id=key,
        role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
        member=member,
        opts=owner.child(),
    )
