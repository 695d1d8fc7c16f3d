"""What a tenant's pods may be: their Pod Security level, and the devices they claim."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from settings.model.base import DnsSubdomain, Model

Level = Literal["privileged", "baseline", "restricted"]


class PodSecurity(Model):
    """The Pod Security Standards' levels of a namespace; `podSecurity: restricted` is short for `enforce`.

    Under `restricted` every pod template has to say so itself, the submitter's of a RayJob too.
    """

    enforce: Level = "baseline"
    """What is refused beyond; `baseline` keeps privileged pods and the node's own files out."""
    audit: Level | None = None
    """What the audit log tells of; `enforce` unless given."""
    warn: Level | None = None
    """What whoever makes a pod is warned of; `enforce` unless given."""

    @model_validator(mode="before")
    @classmethod
    def _bare_level(cls, value: Any) -> Any:
        return {"enforce": value} if isinstance(value, str) else value

    @property
    def levels(self) -> dict[str, Level]:
        """The level of each mode of Pod Security admission."""
        return {
            "enforce": self.enforce,
            "audit": self.audit or self.enforce,
            "warn": self.warn or self.enforce,
        }


class DeviceClaim(Model):
    """A ResourceClaimTemplate: so many devices of a DeviceClass, for each pod that names it."""

    device_class: DnsSubdomain
    """Such as gpu.nvidia.com, as the driver's documentation has it."""
    count: Annotated[int, Field(ge=1)] = 1
    """How many of them each pod gets."""
