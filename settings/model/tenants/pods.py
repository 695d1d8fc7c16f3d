"""Pods of a tenant: their Pod Security levels, and the devices they claim."""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from settings.model.base import DnsLabel, DnsSubdomain, Model, refuse

Level = Literal["privileged", "baseline", "restricted"]  # from the least strict on
# The most devices of a claim (k8s.io/api, resource/v1: AllocationResultsMaxSize).
DEVICES_MAX = 32


class PodSecurity(Model):
    """Pod Security Standards of the namespace; `podSecurity: restricted` is short for `enforce: restricted`.

    Under `restricted` every pod template must set the required securityContext, including that of a RayJob's
    submitter.
    """

    enforce: Level = "baseline"
    """Pods that violate this level are refused; `baseline` forbids privileged pods and host paths."""
    audit: Level | None = None
    """Pods that violate this level are noted in the audit log; `enforce` if unset."""
    warn: Level | None = None
    """Users that create pods that violate this level are warned; `enforce` if unset."""

    @model_validator(mode="before")
    @classmethod
    def _bare_level(cls, value: Any) -> Any:
        return {"enforce": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _others_are_as_strict(self) -> Self:
        levels = get_args(Level)
        for mode in ("audit", "warn"):
            level = getattr(self, mode)
            if level is not None and levels.index(level) < levels.index(self.enforce):
                refuse(
                    f"{mode} of {self.enforce} or stricter: pods that violate {level} are refused already",
                    f"remove `{mode}`, or lower `enforce`",
                )
        return self

    @property
    def levels(self) -> dict[str, Level]:
        """The level of each mode of Pod Security admission."""
        return {
            "enforce": self.enforce,
            "audit": self.audit or self.enforce,
            "warn": self.warn or self.enforce,
        }


class DeviceClaim(Model):
    """A ResourceClaimTemplate: devices of a DeviceClass for each pod that refers to it."""

    device_class: DnsSubdomain
    """The DeviceClass, such as gpu.nvidia.com; see the driver's documentation."""
    count: Annotated[int, Field(ge=1, le=DEVICES_MAX)] = 1
    """Devices per pod."""


class Unqueued(Model):
    """An object whose pods may use accelerators outside the queues."""

    kind: Literal[
        "Pod",
        "RayJob",
        "RayCluster",
        "RayService",
        "Job",
        "JobSet",
        "LeaderWorkerSet",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
    ]
    """Its kind; of a job of several objects, the kind that the team creates, such as JobSet and not Job."""
    name: DnsLabel
    """Its name in the namespace."""
