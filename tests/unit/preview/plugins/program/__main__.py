"""A program that the tests run through the real engine; its configuration chooses what it declares."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config()


def project() -> None:
    """Declares a cluster, and a Kubernetes provider whose kubeconfig is an output of it."""
    import pulumi_gcp as gcp  # takes seconds, so only where it is needed

    cluster = gcp.container.Cluster("ray", location="us-west1")
    provider = kubernetes.Provider("ray", kubeconfig=cluster.endpoint)
    options = pulumi.ResourceOptions(provider=provider)
    kubernetes.core.v1.Namespace("unreached", metadata={"name": "unreached"}, opts=options)


def pool() -> None:
    """Declares a node pool in dictionaries, with an enum value and a key that GKE does not know."""
    import pulumi_gcp as gcp

    accelerators: Any = [{"tpye": "nvidia-l4", "count": 1}]
    taints: Any = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    config: Any = {"guest_accelerators": accelerators, "taints": taints}
    gcp.container.NodePool("l4", cluster="ray", node_config=config)


def image() -> None:
    """Declares a container image."""
    import pulumi_docker_build as docker_build

    docker_build.Image("controller", push=True, tags=["us-docker.pkg.dev/a/b/c:1"])


def objects() -> None:
    """Declares objects of several kinds: one auto-named, one secret, one of a new CRD."""
    namespace = kubernetes.core.v1.Namespace("team", metadata={"name": "team"})
    name = namespace.metadata["name"]
    kubernetes.core.v1.ConfigMap("automatic", metadata={"namespace": name}, data={"a": "1"})
    kubernetes.core.v1.ServiceAccount(
        "account",
        metadata={"namespace": name, "name": "account", "labels": {"tier": config.get("tier") or "one"}},
    )
    kubernetes.core.v1.Secret(
        "secret",
        metadata={"namespace": name, "name": "secret"},
        string_data={"token": pulumi.Output.secret("opensesame")},
    )
    kubernetes.core.v1.ConfigMap(
        "replaced", metadata={"namespace": name, "name": config.get("replaced") or "before"}, data={"b": "2"}
    )
    kubernetes.core.v1.ResourceQuota(
        "quota",
        metadata={"namespace": name, "name": "quota"},
        spec={"hard": {"cpu": config.get("cpu") or "1000m"}},
    )
    definition = gadgets()
    kubernetes.apiextensions.CustomResource(
        "gadget",
        api_version="example.test/v1",
        kind="Gadget",
        metadata={"name": "gadget"},
        spec={"size": 3},
        opts=pulumi.ResourceOptions(depends_on=[definition]),
    )
    pulumi.export("account", pulumi.Output.concat(name, "/account"))


def gadgets() -> pulumi.Resource:
    """Declares a CRD of cluster-scoped gadgets with a size."""
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size}}}
    spec: Any = {
        "group": "example.test",
        "scope": "Cluster",
        "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    definition: pulumi.Resource = kubernetes.apiextensions.v1.CustomResourceDefinition(
        "gadgets", metadata={"name": "gadgets.example.test"}, spec=spec
    )
    return definition


def orphan() -> None:
    """Declares a custom resource without its CRD."""
    kubernetes.apiextensions.CustomResource(
        "orphan", api_version="missing.test/v1", kind="Orphan", metadata={"name": "orphan"}
    )


def charts() -> None:
    """Declares resources that the stand-in supports in previews only."""
    from pulumi_kubernetes.yaml.v2 import ConfigGroup

    kubernetes.helm.v3.Release("release", chart="kuberay-operator")
    ConfigGroup("group", yaml="kind: Namespace")


for part in config.get("parts", "objects").split(","):
    parts = {"project": project, "pool": pool, "image": image, "objects": objects, "orphan": orphan}
    {**parts, "charts": charts}[part]()
