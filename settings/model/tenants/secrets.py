"""Secrets of Secret Manager that a tenant's pods mount as files."""

import re
from typing import Annotated

from pydantic import Field
from typing_extensions import Doc

from settings.model.base import Model, matching
from settings.model.google_cloud import PROJECT

SECRET = re.compile(
    rf"(?:projects/(?P<project>{PROJECT})/(?:locations/(?P<location>[a-z]+-[a-z]+[0-9]+)/)?secrets/)?"
    r"(?P<id>[A-Za-z0-9_-]{1,255})"
)
FILE = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")

SecretName = Annotated[
    str,
    matching(
        SECRET,
        "the ID of a secret, 1 to 255 of A-Z, a-z, 0-9, '_' and '-', or its path (Secret Manager API: "
        "Secret.name)",
        "write ID, or projects/PROJECT/secrets/ID or projects/PROJECT/locations/REGION/secrets/ID, without a "
        "version, and never its value; `gcloud secrets list` prints it",
    ),
    Doc("secret"),
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
    """A secret of Secret Manager, which its owner creates; the stack never reads its value."""

    name: SecretName
    """ID of a secret in the stack's project, or the path of a secret of another project or of a region; the
    tenant's Google service account gets roles/secretmanager.secretAccessor on it."""
    version: Annotated[int, Field(ge=1)] | None = None
    """Number of the version to mount; the latest one if unset."""
    file: FileName | None = None
    """Name of the file in the volume; the secret's ID if unset."""

    @property
    def file_name(self) -> str:
        """Name of the file in the volume."""
        return self.file or self.secret_id

    @property
    def secret_id(self) -> str:
        """ID of the secret in its project."""
        return self._part("id") or ""

    @property
    def project(self) -> str | None:
        """Project of the secret; None: the stack's."""
        return self._part("project")

    @property
    def location(self) -> str | None:
        """Region of a regional secret; None: the secret is global."""
        return self._part("location")

    def _part(self, name: str) -> str | None:
        path = SECRET.fullmatch(self.name)
        return path[name] if path else None
