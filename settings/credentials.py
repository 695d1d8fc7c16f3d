"""Credentials in plain text, anywhere in a stack file: such files are in version control."""

import base64
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
        | gldt-[\w-]{16,} | npm_[a-z0-9]{30,} | pypi-[\w-]{40,}         # GitLab, npm, PyPI
        | [rs]k_live_[a-z0-9]{16,} | hv[sb]\.[\w-]{20,}                 # Stripe, Vault
        | sg\.[\w-]{16,}\.[\w-]{16,}                                   # SendGrid
        | hooks\.slack\.com/services/\w+ | discord(app)?\.com/api/webhooks/\d+  # web hooks
        | eyj[\w-]{10,}\.eyj[\w-]{10,}                                    # JSON Web Tokens
    ) | -----BEGIN[ ](?!PUBLIC[ ]KEY-----)                              # private keys, certificates
    | PuTTY-User-Key-File
    | [a-z][a-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@                          # passwords in URLs
    | \b(bearer|basic)\s+[a-z0-9+/=._~-]{8,}                           # headers of requests
    """
)
# Credentials in a kubeconfig, or in another file as text.
IN_A_FILE = re.compile(
    r"(\b|_|(?<=[a-z0-9])(?=[A-Z]))(?i:client-key-data|token|password|passwd|private_key|accountkey|client_secret)"
    r"[\"']?\s*[:=]\s*[\"']?\w|\"auth\"\s*:\s*\"\w",
)
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
# Names of values that are credentials in any format, such as gcp:credentials and github:token.
SECRET_NAME = re.compile(
    r"(token|secret|password|passwd|pwd|passphrase|credentials?|authorization|dockerconfigjson|"
    r"(^|[-_.])pass|(^|:)auth|(api|app|access|private|secret|account|signing|encryption)[-_]?key|"
    r"client-key-data)$",
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
        name = value.get("name")
        for key, inner in value.items():
            if is_credential(str(key)):
                yield Finding(path, EXPECTED, REMEDY)
            # A value that the environment's owner still has to encrypt is named by the key above.
            yield from _inside(path if key == "fn::secret" else (*path, str(key)), inner)
        # Variables of containers: {name: DB_PASSWORD, value: …}.
        named = isinstance(name, str) and SECRET_NAME.search(name)
        if named and value.get("value") not in ("", None, MASKED) and not is_encrypted(value["value"]):
            yield Finding((*path, "value"), EXPECTED, REMEDY)
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _inside((*path, place), inner)
    elif value not in ("", MASKED) and _exposes(path, value):
        yield Finding(path, EXPECTED, REMEDY)


def _exposes(path: Path, value: object) -> bool:
    """Returns whether a text is a credential, or a text or number has the name of one."""
    named = isinstance(path[-1], str) and bool(SECRET_NAME.search(path[-1]))
    if isinstance(value, str):
        return named or is_credential(value) or bool(IN_A_FILE.search(value))
    return named and isinstance(value, (int, float)) and not isinstance(value, bool)


def is_credential(text: str) -> bool:
    """Returns whether a text has the format of a credential, as it is or encoded in base64."""
    if CREDENTIAL.search(text):
        return True
    decoded = _decoded("".join(text.split()))
    return bool(CREDENTIAL.search(decoded) or IN_A_FILE.search(decoded))


def _decoded(text: str) -> str:
    """Returns the text behind base64, also of URLs; empty if it is none."""
    if not ENCODED.fullmatch(text):
        return ""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        return base64.b64decode(padded.translate(str.maketrans("-_", "+/")), validate=True).decode()
    except ValueError:
        return ""


def _encrypted(path: Path, value: object) -> Iterator[Path]:
    if is_encrypted(value):
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _encrypted((*path, str(key)), inner)
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _encrypted((*path, place), inner)
