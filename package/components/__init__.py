"""The components of the package, a file each."""

from package.base import Exposed
from package.components.controller import Controller
from package.components.platform import Platform
from package.components.queues import Queues
from package.components.ray_cluster import RayCluster
from package.components.tenant import Tenant

EXPOSED: dict[str, type[Exposed]] = {
    component.__name__: component for component in (Platform, RayCluster, Queues, Tenant, Controller)
}
