"""Secrets of Secret Manager that a tenant's pods mount as files."""

import re
from typing import Annotated

from pydantic import Field
from typing_extensions import Doc

from settings.model.base import Model, matching

SECRET_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
FILE = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")

SecretId = Annotated[
    str,
    matching(
        SECRET_ID,
        "the ID of a secret: 1 to 255 of A-Z, a-z, 0-9, '_' and '-' (Secret Manager API: secretId)",
        "write the bare ID, neither its path nor its value; `gcloud secrets list` prints it",
    ),
    Doc("secret's ID"),
]
FileName = Annotated[
    str,
    matching(
        FILE,
        "a file name: 1 to 255 of A-Z, a-z, 0-9, '.', '_' and '-'",
        "write it without a folder, such as hf-token",
    ),
    Doc("file name"),
]


class MountedSecret(Model):
    """A secret of Secret Manager in the stack's project, which its owner creates; the stack never reads its
    value."""

    name: SecretId
    """ID of the secret, on which the tenant's Google service account gets
    roles/secretmanager.secretAccessor."""
    version: Annotated[int, Field(ge=1)] | None = None
    """Number of the version to mount; the latest one if unset."""
    file: FileName | None = None
    """Name of the file in the volume; the secret's ID if unset."""

    @property
    def file_name(self) -> str:
        """Name of the file in the volume."""
        return self.file or self.name
