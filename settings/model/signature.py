"""Settings of the signature on the controller's image: an attestation of Google's Binary Authorization."""

import base64
import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator
from typing_extensions import Doc

from settings.model.base import Model, matching, refuse

KEY_VERSION = re.compile(
    r"projects/[a-z0-9:.-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]+/cryptoKeys/[A-Za-z0-9_-]+"
    r"/cryptoKeyVersions/[1-9][0-9]*"
)
PEM = re.compile(r"-----BEGIN PUBLIC KEY-----\s+(?P<der>[A-Za-z0-9+/=\s]+?)\s+-----END PUBLIC KEY-----\s*")
# Binary Authorization, REST reference, AdmissionWhitelistPattern, November 2026: a path that may end in `*`
# (within one component) or `**` (any number of them).
PATTERN = re.compile(r"[a-z0-9][a-z0-9._:-]*(/[A-Za-z0-9._:@-]+)*(/?\*{1,2})?")


def _public_key(text: str) -> str:
    match = PEM.fullmatch(text.strip())
    try:
        der = base64.b64decode("".join(match["der"].split()), validate=True) if match else b""
    except ValueError:
        der = b""
    if der[:1] != b"\x30":  # a SEQUENCE of ASN.1, as every SubjectPublicKeyInfo (RFC 5280)
        refuse(
            "a public key in PEM, from -----BEGIN PUBLIC KEY----- to -----END PUBLIC KEY-----",
            "write what `gcloud kms keys versions get-public-key VERSION` prints, as a block (`|`)",
        )
    return text.strip() + "\n"


def _pattern(pattern: str) -> str:
    if not PATTERN.fullmatch(pattern) or "/" not in pattern:
        refuse(
            "a registry and a path, which may end in `*` or `**` (Binary Authorization)",
            "write for example docker.io/rayproject/**",
        )
    return pattern


# Object identifiers in the DER encoding of a public key (RFC 3279, RFC 5480).
RSA_KEY = bytes.fromhex("06092a864886f70d010101")
CURVES = {
    "ECDSA_P256_SHA256": bytes.fromhex("06082a8648ce3d030107"),
    "ECDSA_P384_SHA384": bytes.fromhex("06052b81040022"),
}


def _kinds(pem: str) -> set[str]:
    """Returns the kinds that a public key matches, RSA or curves; empty for a key of another kind."""
    match = PEM.fullmatch(pem)
    der = base64.b64decode("".join(match["der"].split())) if match else b""
    kinds = {algorithm for algorithm, curve in CURVES.items() if curve in der[:64]}
    return {*kinds, "RSA"} if RSA_KEY in der[:64] else kinds


ImagePattern = Annotated[str, AfterValidator(_pattern), Doc("pattern of images")]


def matches(pattern: str, image: str) -> bool:
    """Returns whether Binary Authorization's pattern covers an image, named without tag and digest, or some
    of its versions."""
    literal, wildcards = pattern.rstrip("*"), pattern.count("*")
    if not wildcards:
        return re.split(r"[@:](?=[^/]*$)", pattern)[0] == image
    if literal.startswith((f"{image}:", f"{image}@")):
        return True
    return image.startswith(literal) and (wildcards == 2 or "/" not in image[len(literal) :])


class RequiredSignature(Model):
    """Lets only these images run in the cluster: signed ones, matches of a pattern, images of the operators
    that the stack installs, and Google's own. The rule is part of the project's Binary Authorization policy,
    which the stack then owns: use it in one stack of a project; its other clusters stay without a rule."""

    other_images: tuple[ImagePattern, ...] = ()
    """Images that need no signature, such as images of Ray jobs: docker.io/rayproject/**."""


class Signature(Model):
    """Signs the image with a key of Cloud KMS, as an attestation of Binary Authorization, before it is
    deployed. `pulumi up` then needs gcloud with the component `beta`."""

    key: Annotated[
        str,
        matching(
            KEY_VERSION,
            "the full name of a version of a Cloud KMS key",
            "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY/cryptoKeyVersions/1",
        ),
        Doc("version of a key"),
    ]
    """The version of the key that signs, of purpose asymmetric signing. The private half never leaves Cloud
    KMS."""
    public_key: Annotated[str, AfterValidator(_public_key), Doc("public key in PEM")]
    """The public key that verifies, as `gcloud kms keys versions get-public-key` prints it."""
    algorithm: Literal[
        "ECDSA_P256_SHA256",
        "ECDSA_P384_SHA384",
        "RSA_SIGN_PKCS1_2048_SHA256",
        "RSA_SIGN_PKCS1_3072_SHA256",
        "RSA_SIGN_PKCS1_4096_SHA256",
        "RSA_SIGN_PKCS1_4096_SHA512",
    ] = "ECDSA_P256_SHA256"
    """The key's algorithm, by Binary Authorization's name; the first is EC_SIGN_P256_SHA256 of Cloud KMS."""

    required: RequiredSignature | None = None
    """Makes Binary Authorization refuse other images in the cluster; nothing is refused if unset."""

    @model_validator(mode="after")
    def _algorithm_is_the_keys(self) -> Self:
        kinds = _kinds(self.public_key)
        kind = "RSA" if self.algorithm.startswith("RSA") else self.algorithm
        if kinds and kind not in kinds:
            refuse(
                f"an algorithm of the public key, which is {' or '.join(sorted(kinds))}: with another, no "
                "signature is valid (Binary Authorization)",
                "write the key's algorithm, which `gcloud kms keys versions describe` prints",
            )
        return self
