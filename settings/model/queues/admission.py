"""Admission: the engine, workload priorities, and provisioning of queued pools."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from muster.translation.devices import UNCOUNTED
from settings.model.base import DnsSubdomain, Model, refuse_bound_below_base
from settings.model.queues.devices import DeviceClassMapping

# KubeRay 1.6.2 takes 31 bytes of memory for each; its chart limits it to 1 GiB.
MAX_PODS = 1_000_000
WEEK_SECONDS = 7 * 24 * 3600
NOTICE_SECONDS_MAX = 3600

Priority = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class Retry(Model):
    """Kueue's ProvisioningRequestRetryStrategy, with Kueue's defaults."""

    limit: Annotated[int, Field(ge=0)] = 3
    """Retries of a failed request before the gang's Workload is deactivated."""
    base_seconds: Annotated[int, Field(ge=1)] = 60
    """Backoff of the first retry; it doubles with each further one."""
    max_seconds: Annotated[int, Field(ge=1)] = 1800
    """Upper bound of the backoff; at least `baseSeconds`."""

    @model_validator(mode="after")
    def _bound_is_above_the_base(self) -> Self:
        refuse_bound_below_base(self.base_seconds, self.max_seconds)
        return self


class QueuedProvisioning(Model):
    """The admission check of gangs on queued pools, which requests their nodes by ProvisioningRequest."""

    retry: Retry = Retry()
    """Retries when GKE cannot provide the nodes, for example in a stock-out."""
    max_run_seconds: Annotated[int, Field(ge=1, le=WEEK_SECONDS)] | None = None
    """Time after which GKE deletes the provisioned nodes; 604800 (7 days), the maximum, if unset."""


class Elastic(Model):
    """Gangs that Ray's autoscaler scales (docs/elastic.md)."""

    notice_seconds: Annotated[int, Field(ge=0, le=NOTICE_SECONDS_MAX)] = 30
    """Time between the preemption of workers beyond `minReplicas` and the limit by which Ray's autoscaler
    removes them. Workers that still run 15 seconds later are deleted, so the gang that preempts them waits up
    to this time and 15 seconds longer."""


class Admission(Model):
    """The engine that admits gangs, and their priorities."""

    engine: Literal["muster", "kueue", "kai"] = "muster"
    """Admits gangs: Muster's controller, Kueue's, or KAI Scheduler. Users' manifests stay the same."""
    priorities: dict[DnsSubdomain, Priority] = Field(default_factory=dict)
    """WorkloadPriorityClasses: the name that jobs are labeled with, and its value. Higher values are admitted
    first and may preempt lower ones."""
    max_pods: Annotated[int, Field(ge=1, le=MAX_PODS)] = 5000
    """Most workers of a RayJob, RayCluster or RayService, queued or not: the sum over its worker groups of
    `replicas` times `numOfHosts`, and likewise of `minReplicas` and of each `maxReplicas` that it sets.
    KubeRay, which all teams share, needs memory for each, even of a suspended cluster."""
    queued_provisioning: QueuedProvisioning = QueuedProvisioning()
    """Requests for nodes of queued pools."""
    elastic: Elastic = Elastic()
    """Gangs that Ray's autoscaler scales; engine muster only."""
    device_classes: Annotated[tuple[DeviceClassMapping, ...], Field(max_length=16)] = ()
    """The quota of devices that pods claim (dynamic resource allocation). Gangs whose claims are for devices
    of other classes are refused."""
    uncounted_device_classes: tuple[DnsSubdomain, ...] = ()
    """DeviceClasses without quota, such as network interfaces (mrdma.google.com); engine muster only."""

    @property
    def device_quotas(self) -> dict[str, str]:
        """The resource that counts devices of each DeviceClass; empty for classes without quota."""
        counted = {
            name: mapping.name for mapping in self.device_classes for name in mapping.device_class_names
        }
        return dict.fromkeys(self.uncounted_device_classes, UNCOUNTED) | counted
