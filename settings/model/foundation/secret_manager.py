"""GKE's add-on for Secret Manager, with which pods mount secrets as files."""

from typing import Annotated

from pydantic import Field

from settings.model.base import Model


class SecretManager(Model):
    """GKE's Secret Manager add-on, a CSI driver that tenants' `secrets` require (GKE API:
    SecretManagerConfig)."""

    rotation_seconds: Annotated[int, Field(ge=120)] | None = None
    """Seconds after which mounted files are updated to new versions; if unset, files stay as they were when
    their pod started. Requires 1.32.2-gke.1059000 or later (GKE API: RotationConfig.rotationInterval)."""
