"""The root model of a stack file."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from settings.model.base import Model
from settings.model.controller import Controller
from settings.model.forecast import Forecast
from settings.model.foundation.existing import Cluster
from settings.model.foundation.network import Network
from settings.model.foundation.place import GkePlace
from settings.model.google_cloud import ProjectId
from settings.model.observability import Observability
from settings.model.operators.gpus import GpuDirect, GpuOperator
from settings.model.operators.jobset import JobSet
from settings.model.operators.kai import Kai
from settings.model.operators.kuberay import KubeRay
from settings.model.operators.kueue import Kueue
from settings.model.operators.lws import LeaderWorkerSet
from settings.model.pools.machine_facts import MachineTypes
from settings.model.pools.pool import Pool
from settings.model.queues.admission import Admission
from settings.model.queues.queue import Queues
from settings.model.tenants.tenant import Tenant

PROJECT = "gcp:project"
NAMESPACE = "muster:"
# Each has a file in policies/config/.
Environment = Literal["local", "dev", "staging", "prod"]


def _config_key(field: str) -> str:
    return PROJECT if field == "project" else f"{NAMESPACE}{to_camel(field)}"


class Settings(Model):
    """Settings of one stack."""

    model_config = ConfigDict(alias_generator=_config_key)

    environment: Environment = "prod"
    """The kind of environment, which selects the policy configuration in `policies/config/`."""
    project: ProjectId | None = None
    """The Google Cloud project of all resources; required with a GKE cluster."""
    network: Network | None = None
    """A VPC that the stack creates; if unset, the cluster uses an existing network of the project."""
    cluster: Cluster
    """The cluster: created on GKE, or an existing one."""
    machine_types: MachineTypes = Field(default_factory=dict)
    """Machine types of pools that Muster does not know yet, or knows with other values: the facts that quotas
    and rules need."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """Node pools; at least one must be on-demand and without accelerators, for system pods."""
    kuberay: KubeRay = KubeRay()
    """The operator that runs RayJobs, RayClusters and RayServices."""
    jobset: JobSet = JobSet()
    """The controller that runs JobSets."""
    lws: LeaderWorkerSet = LeaderWorkerSet()
    """The controller that runs LeaderWorkerSets."""
    kueue: Kueue = Kueue()
    """The API by which jobs are queued, and with engine kueue its controller."""
    kai: Kai = Kai()
    """The scheduler of engine kai."""
    gpu_operator: GpuOperator = GpuOperator()
    """Installs the NVIDIA GPU Operator; use it when GKE must not manage the drivers."""
    gpudirect: GpuDirect = GpuDirect()
    """Installers of NCCL plug-ins on pools whose GPUs bypass the CPUs."""
    admission: Admission = Admission()
    """The engine that admits gangs, and their priorities."""
    controller: Controller | None = None
    """Muster's controller; required with engine muster."""
    observability: Observability | None = None
    """Logs that outlive the cluster, metrics, dashboards and alerts; off if unset. `{}` uses the defaults."""
    forecast: Forecast = Forecast()
    """The trace that changes are tried on before they are merged, and limits of waiting times."""
    queues: Queues
    """Quotas of all teams, and how they are shared."""
    tenants: tuple[Tenant, ...] = ()
    """Teams and their namespaces."""

    @property
    def local_queues(self) -> dict[str, str]:
        """The cluster queue that each `namespace/local queue` points to."""
        return {f"{t.namespace}/{local}": target for t in self.tenants for local, target in t.queues.items()}

    @property
    def place(self) -> GkePlace | None:
        """The cluster's place in GKE; None if it is elsewhere, without Google Cloud resources."""
        return self.cluster.place

    @property
    def queued_flavors(self) -> tuple[str, ...]:
        """Flavors whose nodes are provisioned only by ProvisioningRequest."""
        return tuple(pool.flavor_name for pool in self.pools if pool.queued)

    @property
    def system_pool(self) -> Pool | None:
        """The pool on which operators run: the first on-demand pool without taints."""
        return next(
            (pool for pool in self.pools if pool.provisioning == "on-demand" and not pool.node_taints), None
        )


SECTIONS = frozenset(Settings.model_fields)
"""Names of the sections of a stack file."""
