"""The platform: every component of a stack, in the order in which they need each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.admission_policies import AdmissionPolicies
from components.base import Component
from components.cluster import ExistingCluster, GkeCluster, GkeClusterArgs
from components.kuberay import KubeRay, KubeRayArgs
from components.kueue import Kueue, KueueArgs
from components.node_pools import NodePools, NodePoolsArgs
from components.priorities import Priorities, PrioritiesArgs
from components.queues import Queues, QueuesArgs
from components.reconciler import Reconciler, ReconcilerArgs
from components.tenants import Tenants, TenantsArgs
from stacks.cluster import Existing, Gke
from stacks.settings import Settings


@dataclass(frozen=True)
class PlatformArgs:
    settings: Settings


class Platform(Component):
    """All of one environment; `outputs` is what its users want to know.

    What ends a tenant's workloads (KubeRay and the engine) comes before the tenants' namespaces, so that on
    `pulumi destroy` it is still there to take its finalizers off when they go.
    """

    def __init__(self, name: str, args: PlatformArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("Platform", name, opts)
        settings = args.settings
        self.cluster, nodes = self._cluster(settings)
        kuberay = KubeRay("kuberay", KubeRayArgs(settings.kuberay), self._inside(nodes))
        kueue = Kueue("kueue", KueueArgs(settings.kueue, settings.admission.engine), self._inside(nodes))
        policies = AdmissionPolicies("admission-policies", self._inside([kuberay]))
        apis: list[pulumi.Resource] = [kuberay, kueue]
        engine: list[pulumi.Resource] = [*apis, policies]
        if settings.admission.engine == "muster" and settings.controller:
            controller = ReconcilerArgs(settings.controller.image)
            engine.append(Reconciler("reconciler", controller, self._inside(apis)))
        self._queues(settings, kueue, engine)
        self.outputs = {
            "cluster": self.cluster.name,
            "engine": settings.admission.engine,
            "queues": {
                f"{tenant.namespace}/{queue}": target
                for tenant in settings.tenants
                for queue, target in tenant.queues.items()
            },
            "kubectl": _kubectl(settings),
        }
        self.register_outputs(self.outputs)

    def _inside(self, after: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        """The options of a component that lives in the cluster."""
        return self.child(provider=self.cluster.kubernetes, depends_on=after)

    def _cluster(self, settings: Settings) -> tuple[GkeCluster | ExistingCluster, list[pulumi.Resource]]:
        """The cluster, and what has to be there before anything can run in it."""
        if isinstance(settings.cluster, Existing):
            existing = ExistingCluster("cluster", settings.cluster, self.child())
            return existing, [existing]
        assert settings.project, "the settings' rules ask for it"
        addon = settings.kuberay.install == "addon"
        cluster = GkeCluster(
            "cluster", GkeClusterArgs(settings.cluster, settings.project, addon), self.child()
        )
        pools = NodePools(
            "node-pools",
            NodePoolsArgs(
                pools=settings.pools,
                project=settings.project,
                cluster=cluster.name,
                location=settings.cluster.location,
                regional=settings.cluster.regional,
            ),
            self.child(provider=cluster.google),
        )
        return cluster, [pools]

    def _queues(self, settings: Settings, kueue: Kueue, engine: Sequence[pulumi.Resource]) -> None:
        protect = isinstance(settings.cluster, Gke) and settings.cluster.deletion_protection
        tenants = Tenants("tenants", TenantsArgs(settings.tenants, protect), self._inside(engine))
        priorities = PrioritiesArgs(settings.admission.priorities)
        Priorities("priorities", priorities, self._inside([kueue]))
        queues = QueuesArgs(
            pools=settings.pools,
            queues=settings.queues,
            tenants=settings.tenants,
            namespaces=tenants.namespaces,
            queued_provisioning=settings.admission.queued_provisioning,
        )
        Queues("queues", queues, self._inside([kueue]))


def _kubectl(settings: Settings) -> str:
    """A command to type first."""
    cluster, look = settings.cluster, "get clusterqueues,localqueues,workloads --all-namespaces"
    if isinstance(cluster, Existing):
        return f"kubectl --context {cluster.context} {look}" if cluster.context else f"kubectl {look}"
    login = f"gcloud container clusters get-credentials {cluster.name}"
    return f"{login} --location {cluster.location} --project {settings.project} && kubectl {look}"
