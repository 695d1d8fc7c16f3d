"""Ingress of the controller's pods: from the namespaces that a stack names."""

from collections.abc import Sequence

from pulumi_kubernetes.meta.v1 import LabelSelectorArgs
from pulumi_kubernetes.networking.v1 import NetworkPolicyIngressRuleArgs, NetworkPolicyPeerArgs

from components.cluster_egress import tcp
from components.controller.pod import HTTP_PORT


def ingress_from(namespaces: Sequence[str]) -> list[NetworkPolicyIngressRuleArgs]:
    """Returns the rule for the HTTP port; none without namespaces, as an empty `from` allows every source."""
    peers = [
        NetworkPolicyPeerArgs(
            namespace_selector=LabelSelectorArgs(match_labels={"kubernetes.io/metadata.name": name})
        )
        for name in namespaces
    ]
    return [NetworkPolicyIngressRuleArgs(from_=peers, ports=tcp([HTTP_PORT]))] if peers else []
