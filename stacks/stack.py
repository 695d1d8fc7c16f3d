"""Everything that one stack declares; `settings` reads it from a file, and `rules` join its parts."""

from typing import Annotated

from pydantic import ConfigDict, Field

from stacks.admission import Admission
from stacks.cluster import Cluster
from stacks.model import Model
from stacks.operators import Controller, KubeRay, Kueue
from stacks.pools import Pool
from stacks.queues import Queues
from stacks.tenants import Tenant

PROJECT = "gcp:project"
NAMESPACE = "muster:"


def _config_key(field: str) -> str:
    return PROJECT if field == "project" else f"{NAMESPACE}{field}"


class Settings(Model):
    """Everything that one environment declares."""

    model_config = ConfigDict(alias_generator=_config_key)

    project: str | None = None
    cluster: Cluster
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    kuberay: KubeRay = KubeRay()
    kueue: Kueue = Kueue()
    admission: Admission = Admission()
    controller: Controller | None = None
    queues: Queues
    tenants: tuple[Tenant, ...] = ()

    @property
    def queued_flavors(self) -> tuple[str, ...]:
        """The flavors whose nodes come only by ProvisioningRequest."""
        return tuple(pool.flavor_name for pool in self.pools if pool.queued)
