"""The namespace of an operator: its Pod Security level and its NetworkPolicy."""

from dataclasses import dataclass
from typing import Literal

import pulumi
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, LabelSelectorRequirementArgs, ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicy,
    NetworkPolicyIngressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicyPortArgs,
    NetworkPolicySpecArgs,
)

from components.base import Component
from settings.model.observability import COLLECTOR_NAMESPACES


@dataclass(frozen=True)
class OperatorNamespaceArgs:
    """`pod_security` is the enforced Pod Security Standard; `served` are the ports that the API server calls
    (webhooks, aggregated APIs), `metrics` the ports that Prometheus scrapes."""

    name: str
    pod_security: Literal["restricted", "baseline", "privileged"]
    served: tuple[int, ...] = ()
    metrics: tuple[int, ...] = ()


class OperatorNamespace(Component):
    """Declared here, because a namespace that Helm creates has no labels. Only `served` and `metrics` can be
    reached; egress is open, as operators call the API server and Ray's heads."""

    def __init__(
        self, name: str, args: OperatorNamespaceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("OperatorNamespace", name, opts)
        namespace = Namespace(
            self.named(args.name),
            metadata=ObjectMetaArgs(
                name=args.name, labels={"pod-security.kubernetes.io/enforce": args.pod_security}
            ),
            opts=self.child(),
        )
        policy = NetworkPolicy(
            self.named(f"{args.name}/default-deny"),
            metadata=ObjectMetaArgs(name="default-deny", namespace=args.name),
            spec=NetworkPolicySpecArgs(
                pod_selector=LabelSelectorArgs(), policy_types=["Ingress"], ingress=_ingress(args)
            ),
            opts=self.child(depends_on=[namespace]),
        )
        self.ready: list[pulumi.Resource] = [namespace, policy]
        self.register_outputs({"name": args.name})


def _ingress(args: OperatorNamespaceArgs) -> list[NetworkPolicyIngressRuleArgs]:
    rules = []
    if args.served:
        # From anywhere: a policy cannot select GKE's control plane, which uses a tunnel or its own network.
        rules.append(NetworkPolicyIngressRuleArgs(ports=_tcp(args.served)))
    if args.metrics:
        collectors = LabelSelectorRequirementArgs(
            key="kubernetes.io/metadata.name", operator="In", values=list(COLLECTOR_NAMESPACES)
        )
        peer = NetworkPolicyPeerArgs(namespace_selector=LabelSelectorArgs(match_expressions=[collectors]))
        rules.append(NetworkPolicyIngressRuleArgs(from_=[peer], ports=_tcp(args.metrics)))
    return rules


def _tcp(ports: tuple[int, ...]) -> list[NetworkPolicyPortArgs]:
    return [NetworkPolicyPortArgs(protocol="TCP", port=port) for port in ports]
