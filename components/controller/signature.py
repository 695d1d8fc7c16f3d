"""The signature on the controller's image: an attestor, and an attestation of each image that is deployed.

Sources: Binary Authorization, "Create attestors" and "Create attestations", November 2026; Pulumi, "Resource
hooks". No resource of Google's provider signs with a key of Cloud KMS, so a hook runs gcloud.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_gcp import binaryauthorization, containeranalysis

from components.base import Component, before_writes
from components.foundation.google_cloud import GoogleCloud
from settings.model.signature import Signature as Settings

TIMEOUT_SECONDS = 120
BETA = "install it with `gcloud components install beta`"


@dataclass(frozen=True)
class SignatureArgs:
    """`name` is the attestor's and the note's, which no other stack of the project has; `image` is a
    repository with a digest."""

    signature: Settings
    name: str
    image: pulumi.Input[str]
    google: GoogleCloud


class Signature(Component):
    """Signs an image before anything that uses `image` is created or updated.

    image: the signed one; it is known once its attestation exists.
    attestor: its full name, for a rule of Binary Authorization.

    The state records which image was signed by which key; a signature that fails is tried again by the next
    `pulumi up`. Attestations stay when the stack is destroyed, until the note is deleted with it.
    """

    def __init__(self, name: str, args: SignatureArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Signature", name, opts)
        attestor = self._attestor(args)
        self.attestor = pulumi.Output.concat("projects/", args.google.project, "/attestors/", attestor.name)
        attested = {"image": args.image, "attestor": self.attestor, "key": args.signature.key}
        signed = signed_image(self.named("signed-image"), attested, self.child())
        # Not its output, which never changes after the Stash is created.
        self.image = signed.input.apply(lambda signed_by: str(signed_by["image"]))
        self.register_outputs({"image": self.image})

    def _attestor(self, args: SignatureArgs) -> binaryauthorization.Attestor:
        google, settings = args.google, args.signature
        outside = self.child(provider=google.provider, depends_on=google.apis)
        note = containeranalysis.Note(
            self.named("image-attestations"),
            name=args.name,
            project=google.project,
            short_description="Images of Muster's controller that its stack built.",
            attestation_authority=containeranalysis.NoteAttestationAuthorityArgs(
                hint=containeranalysis.NoteAttestationAuthorityHintArgs(human_readable_name=args.name)
            ),
            opts=outside,
        )
        key = binaryauthorization.AttestorAttestationAuthorityNotePublicKeyArgs(
            id=f"//cloudkms.googleapis.com/v1/{settings.key}",
            pkix_public_key=binaryauthorization.AttestorAttestationAuthorityNotePublicKeyPkixPublicKeyArgs(
                public_key_pem=settings.public_key, signature_algorithm=settings.algorithm
            ),
        )
        return binaryauthorization.Attestor(
            self.named("image-attestor"),
            name=args.name,
            project=google.project,
            description="Attests to images that the stack of Muster's controller built.",
            attestation_authority_note=binaryauthorization.AttestorAttestationAuthorityNoteArgs(
                note_reference=note.name, public_keys=[key]
            ),
            opts=outside,
        )


def signed_image(
    name: str, attested: Mapping[str, pulumi.Input[str]], opts: pulumi.ResourceOptions
) -> pulumi.Stash:
    """Declares the record of a signature; a hook signs whenever `image`, `attestor` or `key` changes."""
    hooks = pulumi.ResourceOptions(hooks=before_writes(sign, f"sign-{name}"))
    return pulumi.Stash(name, input=attested, opts=pulumi.ResourceOptions.merge(opts, hooks))


def sign(hook: pulumi.ResourceHookArgs) -> None:
    """Signs the image in the inputs of a Stash, as the identity that runs `pulumi up`.

    Raises RunError if there is no gcloud or it fails; the operation on the Stash then fails too.
    """
    assert hook.new_inputs is not None, "both hooks have them"
    command = signing_command(hook.new_inputs["input"])
    try:
        signed = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise pulumi.RunError(f"gcloud is required to sign the controller's image: {BETA}") from error
    except subprocess.TimeoutExpired as error:
        raise pulumi.RunError(
            f"gcloud did not sign the controller's image within {TIMEOUT_SECONDS} s; run `pulumi up` again"
        ) from error
    if signed.returncode != 0 and "ALREADY_EXISTS" not in signed.stderr:
        raise pulumi.RunError(
            f"the controller's image is not signed, and not deployed: {signed.stderr.strip()}\n"
            "try: gcloud auth list; the identity needs the roles of docs/gitops.md on the key and the "
            f"attestor; if gcloud has no component beta, {BETA}"
        )


def signing_command(attested: Mapping[str, Any]) -> list[str]:
    """Returns the command that signs `image` for `attestor` with `key` (full names).

    Binary Authorization finds attestations by digest, and gcloud accepts no tag with it.
    """
    repository, _, digest = str(attested["image"]).partition("@")
    path, _, name = repository.rpartition("/")
    _, project, _, attestor = str(attested["attestor"]).split("/")
    return [
        *("gcloud", "beta", "container", "binauthz", "attestations", "sign-and-create", "--quiet"),
        f"--project={project}",
        f"--artifact-url={path}/{name.partition(':')[0]}@{digest}",
        f"--attestor={attestor}",
        f"--attestor-project={project}",
        f"--keyversion={attested['key']}",
    ]
