"""Who admits workloads, by which priorities, and how queued capacity is asked for."""

from typing import Annotated, Literal

from pydantic import Field

from stacks.model import DnsSubdomain, Model

WEEK_SECONDS = 7 * 24 * 3600

Priority = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class Retry(Model):
    """Kueue's ProvisioningRequestRetryStrategy, with Kueue's defaults."""

    limit: Annotated[int, Field(ge=0)] = 3
    base_seconds: Annotated[int, Field(ge=1)] = 60
    max_seconds: Annotated[int, Field(ge=1)] = 1800


class QueuedProvisioning(Model):
    """The check that gangs on queued pools pass; GKE lets a request live 7 days at most."""

    retry: Retry = Retry()
    max_run_seconds: Annotated[int, Field(ge=1, le=WEEK_SECONDS)] | None = None


class Admission(Model):
    """The engine, and WorkloadPriorityClasses by name (a higher value goes first)."""

    engine: Literal["muster", "kueue"] = "muster"
    priorities: dict[DnsSubdomain, Priority] = Field(default_factory=dict)
    queued_provisioning: QueuedProvisioning = QueuedProvisioning()
