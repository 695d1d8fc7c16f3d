"""Everything that one stack declares; `settings` reads it from a file, and `rules` join its parts."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from settings.model.base import Model
from settings.model.controller import Controller
from settings.model.foundation.cluster import Cluster
from settings.model.foundation.network import Network
from settings.model.observability import Observability
from settings.model.operators.gpu_operator import GpuOperator
from settings.model.operators.kai import Kai
from settings.model.operators.kuberay import KubeRay
from settings.model.operators.kueue import Kueue
from settings.model.pools.pool import Pool
from settings.model.queues.admission import Admission
from settings.model.queues.queue import Queues
from settings.model.tenants.tenant import Tenant

PROJECT = "gcp:project"
NAMESPACE = "muster:"
# Each has its file in policies/config/.
Environment = Literal["local", "dev", "staging", "prod"]


def _config_key(field: str) -> str:
    return PROJECT if field == "project" else f"{NAMESPACE}{to_camel(field)}"


class Settings(Model):
    """Everything that one environment declares."""

    model_config = ConfigDict(alias_generator=_config_key)

    environment: Environment = "prod"
    """What kind of environment this is: what the policies enforce in it is in `policies/config/`."""
    project: str | None = None
    """The Google Cloud project that everything is made in; required with `kind: gke`."""
    network: Network | None = None
    """A VPC of the stack's own; without it the cluster is in one that the project has."""
    cluster: Cluster
    """What everything else is for."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    """Every kind of node; one at least is for system pods, on demand and without accelerators."""
    kuberay: KubeRay = KubeRay()
    """The operator that runs RayJobs, RayClusters and RayServices."""
    kueue: Kueue = Kueue()
    """The API that users queue their jobs by, and the controller behind it where the engine is kueue."""
    kai: Kai = Kai()
    """The scheduler that engine kai runs."""
    gpu_operator: GpuOperator = GpuOperator()
    """Only where GKE is to leave GPUs' drivers alone."""
    admission: Admission = Admission()
    """Who decides which gang starts when."""
    controller: Controller | None = None
    """Required with engine muster, and read with no other."""
    observability: Observability | None = None
    """Logs that outlive the cluster, metrics, dashboards and alerts; none unless given (`{}` is enough)."""
    queues: Queues
    """The quotas of all teams, and how they share."""
    tenants: tuple[Tenant, ...] = ()
    """The teams' namespaces."""

    @property
    def local_queues(self) -> dict[str, str]:
        """The cluster queue that each `namespace/local queue` leads to."""
        return {f"{t.namespace}/{local}": target for t in self.tenants for local, target in t.queues.items()}

    @property
    def queued_flavors(self) -> tuple[str, ...]:
        """The flavors whose nodes come only by ProvisioningRequest."""
        return tuple(pool.flavor_name for pool in self.pools if pool.queued)

    @property
    def system_pool(self) -> Pool | None:
        """Where operators run: the first pool on demand whose nodes keep nobody away by a taint."""
        return next(
            (pool for pool in self.pools if pool.provisioning == "on-demand" and not pool.node_taints), None
        )
