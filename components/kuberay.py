"""KubeRay's operator, which runs RayJobs and RayClusters."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from components.base import Component
from stacks.operators import KubeRay as KubeRaySettings

NAMESPACE = "kuberay-system"
REPOSITORY = "https://ray-project.github.io/kuberay-helm/"


@dataclass(frozen=True)
class KubeRayArgs:
    kuberay: KubeRaySettings


class KubeRay(Component):
    """The operator by its Helm chart. The add-on comes with the cluster; an existing one is left alone."""

    def __init__(self, name: str, args: KubeRayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("KubeRay", name, opts)
        self.release: Release | None = None
        if args.kuberay.install == "helm":
            self.release = Release(
                "kuberay-operator",
                name="kuberay-operator",
                namespace=NAMESPACE,
                create_namespace=True,
                chart="kuberay-operator",
                version=args.kuberay.chart_version,
                repository_opts=RepositoryOptsArgs(repo=REPOSITORY),
                opts=self.child(),
            )
        self.register_outputs({"install": args.kuberay.install})
