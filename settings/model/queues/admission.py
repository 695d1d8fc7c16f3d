"""Who admits workloads, by which priorities, and how queued capacity is asked for."""

from typing import Annotated, Literal

from pydantic import Field

from settings.model.base import DnsSubdomain, Model

WEEK_SECONDS = 7 * 24 * 3600

Priority = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class Retry(Model):
    """Kueue's ProvisioningRequestRetryStrategy, with Kueue's defaults."""

    limit: Annotated[int, Field(ge=0)] = 3
    """How often a request that failed is made anew; then the gang's Workload is deactivated."""
    base_seconds: Annotated[int, Field(ge=1)] = 60
    """How long the first retry waits; each further one waits twice as long."""
    max_seconds: Annotated[int, Field(ge=1)] = 1800
    """The longest that one waits."""


class QueuedProvisioning(Model):
    """The check that gangs on queued pools pass; GKE lets a request live 7 days at most."""

    retry: Retry = Retry()
    """What happens when GKE can't give the nodes (a stock-out, say)."""
    max_run_seconds: Annotated[int, Field(ge=1, le=WEEK_SECONDS)] | None = None
    """When GKE takes the nodes back, counted from when they come; 604800 (7 days), the most there is, unless
    given."""


class Admission(Model):
    """Who admits gangs, and by which priorities (WorkloadPriorityClasses)."""

    engine: Literal["muster", "kueue", "kai"] = "muster"
    """Muster's controller, Kueue's, or KAI Scheduler; users' manifests stay the same."""
    priorities: dict[DnsSubdomain, Priority] = Field(default_factory=dict)
    """By the name that jobs are labelled with; the higher value goes first, and may preempt the lower."""
    queued_provisioning: QueuedProvisioning = QueuedProvisioning()
    """How queued pools are asked for nodes."""
