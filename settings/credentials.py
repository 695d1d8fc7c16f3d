"""Credentials in plain text, anywhere in a stack file: such files are in version control."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from settings.keys import ours
from settings.problems import Finding, Path

MASKED = "[secret]"
"""An encrypted value in an offline preview, which cannot decrypt it; Pulumi prints secrets like this."""

# Formats of credentials, as secret scanners know them (GitHub, "Supported secret scanning patterns").
CREDENTIAL = re.compile(
    r"""(?ix)
    \b(
        gh[pousr]_[a-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}   # GitHub, GitLab
        | hf_[a-z0-9]{20,} | sk-[\w-]{20,} | nvapi-[\w-]{20,}             # Hugging Face, OpenAI, NVIDIA
        | (akia|asia)[a-z0-9]{16} | aiza[\w-]{30,} | gocspx-[\w-]{20,} | ya29\.[\w-]{20,}  # AWS, Google
        | xox[abeprs]-[\w-]{10,} | pul-[0-9a-f]{40} | dckr_pat_[\w-]{20,} # Slack, Pulumi, Docker
        | eyj[\w-]{10,}\.eyj[\w-]{10,}                                    # JSON Web Tokens
    ) | -----BEGIN[ ](?!PUBLIC[ ]KEY-----)                              # private keys, certificates
    """
)
# Credentials in a kubeconfig, or in another file as text.
IN_A_FILE = re.compile(r"\b(client-key-data|token|password|private_key)[\"']?\s*:\s*[\"']?\w", re.IGNORECASE)
# Names of values that are credentials in any format, such as gcp:credentials and github:token.
SECRET_NAME = re.compile(
    r"(token|secret|password|passwd|passphrase|credentials?|(api|access|private|secret|account)[-_]?key)$",
    re.IGNORECASE,
)
# `config`, and keys that `pulumi stack init` writes: encrypted by the stack's key, or not secret.
OWN_KEYS = frozenset({"config", "secretsprovider", "encryptedkey", "encryptionsalt"})
EXPECTED = "no credential in plain text: stack files are in version control"
REMEDY = (
    "revoke it, and use the credentials of the user that runs Pulumi (gcloud auth application-default "
    "login), `pulumi config set --secret`, or an ESC environment"
)


def plain_credentials(config: Mapping[Any, object], secret: Collection[str] = ()) -> Iterator[Finding]:
    """Yields a finding for each credential among the keys of other packages.

    secret: keys whose values are encrypted in the file. Rules check Muster's own keys
    (settings/rules/anywhere.py).
    """
    for key, value in config.items():
        if not ours(key) and key not in secret:
            yield from _inside((str(key),), value)


def credentials_beside_config(content: Mapping[Any, object]) -> Iterator[Finding]:
    """Yields a finding for each credential outside of `config`, such as in an inline ESC environment."""
    for key, value in content.items():
        if key not in OWN_KEYS:
            yield from _inside((str(key),), value)


def encrypted_settings(config: Mapping[Any, object], secret: Collection[str] = ()) -> Iterator[Finding]:
    """Yields a finding for each encrypted value among Muster's own keys."""
    for key, value in config.items():
        if ours(key) and (key in secret or any(_encrypted((str(key),), value))):
            yield Finding(
                (str(key),),
                "plain values: settings are in plans, labels and manifests, which would not keep them secret",
                "write the value without --secret; keep credentials of jobs in Secret Manager",
            )


def is_encrypted(value: object) -> bool:
    """Returns whether this is an encrypted value of a stack file, or of an ESC environment."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    ((key, inner),) = value.items()
    return key == "secure" or (key == "fn::secret" and isinstance(inner, Mapping) and "ciphertext" in inner)


def _inside(path: Path, value: object) -> Iterator[Finding]:
    if is_encrypted(value):
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            # A value that the environment's owner still has to encrypt is named by the key above.
            yield from _inside(path if key == "fn::secret" else (*path, str(key)), inner)
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _inside((*path, place), inner)
    elif isinstance(value, str) and value not in ("", MASKED) and _is_credential(path, value):
        yield Finding(path, EXPECTED, REMEDY)


def _is_credential(path: Path, value: str) -> bool:
    named = any(SECRET_NAME.search(part) for part in path[-1:] if isinstance(part, str))
    return bool(named or CREDENTIAL.search(value) or IN_A_FILE.search(value))


def _encrypted(path: Path, value: object) -> Iterator[Path]:
    if is_encrypted(value):
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _encrypted((*path, str(key)), inner)
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _encrypted((*path, place), inner)
