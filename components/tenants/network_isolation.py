"""Network isolation of a tenant's namespace: only traffic that Ray needs or its settings allow.

Ray's dashboard, job and client ports have no authentication. They are open to the namespace's Ray pods and
job submitters, and to KubeRay's operator; users connect by `kubectl port-forward`, which the API server
authenticates and which reaches a pod from inside. Heads connect to the API server, for Ray's autoscaler; its
access is that of the head's ServiceAccount. A NetworkPolicy cannot compare two pods' labels, so the Ray
clusters of one namespace reach each other: the team is the unit of isolation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, LabelSelectorRequirementArgs, ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import (
    IPBlockArgs,
    NetworkPolicy,
    NetworkPolicyEgressRuleArgs,
    NetworkPolicyIngressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicySpecArgs,
)

from components.base import Component
from components.cluster_egress import ApiServer, cluster_egress, egress_to, tcp
from settings.model.observability import COLLECTOR_NAMESPACES
from settings.model.tenants.tenant import TENANT, Tenant

DASHBOARD, SERVE, METRICS = 8265, 8000, 8080
# Sources of GKE's load balancers and their health checks (GKE, "Gateway: firewall rules").
LOAD_BALANCERS = ("35.191.0.0/16", "130.211.0.0/22")
# private.googleapis.com and restricted.googleapis.com (VPC, "Private Google Access").
GOOGLE_APIS = ("199.36.153.8/30", "199.36.153.4/30")
NOT_PUBLIC = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")


@dataclass(frozen=True)
class NetworkIsolationArgs:
    """`on_gke`: the cluster is GKE's; `operator_hosted`: KubeRay is GKE's add-on, which connects through the
    API server's tunnel; `api_servers`: none if the addresses are not known."""

    tenant: Tenant
    on_gke: bool
    operator_hosted: bool
    api_servers: Sequence[ApiServer] = ()


class NetworkIsolation(Component):
    """NetworkPolicies, one a purpose; traffic passes if any of them allows it."""

    def __init__(
        self, name: str, args: NetworkIsolationArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("NetworkIsolation", name, opts)
        for policy, spec in network_policies(args):
            NetworkPolicy(
                self.named(f"{args.tenant.namespace}/{policy}"),
                metadata=ObjectMetaArgs(name=policy, namespace=args.tenant.namespace),
                spec=spec,
                opts=self.child(),
            )
        self.register_outputs({})


def network_policies(args: NetworkIsolationArgs) -> Iterator[tuple[str, NetworkPolicySpecArgs]]:
    """Yields the name and the spec of each NetworkPolicy of a tenant's namespace."""
    ray, everything = _with_label("ray.io/cluster"), LabelSelectorArgs()
    yield "default-deny", NetworkPolicySpecArgs(pod_selector=everything, policy_types=["Ingress", "Egress"])
    yield (
        "ray",
        NetworkPolicySpecArgs(
            pod_selector=ray,
            policy_types=["Ingress", "Egress"],
            ingress=[NetworkPolicyIngressRuleArgs(from_=[NetworkPolicyPeerArgs(pod_selector=ray)])],
            egress=[NetworkPolicyEgressRuleArgs(to=[NetworkPolicyPeerArgs(pod_selector=ray)])],
        ),
    )
    yield "ray-heads", _heads(args)
    if args.api_servers:
        egress = [egress_to([server.cidr], server.ports) for server in args.api_servers]
        yield (
            "ray-autoscalers",
            NetworkPolicySpecArgs(pod_selector=HEADS, policy_types=["Egress"], egress=egress),
        )
    yield (
        "job-submitters",
        _egress(_with_label(JOB), [NetworkPolicyPeerArgs(pod_selector=HEADS)], [DASHBOARD]),
    )
    if (serve := _serve(args)) is not None:
        yield "ray-serve", serve
    if args.on_gke:
        collectors = [
            NetworkPolicyPeerArgs(namespace_selector=_namespace(name)) for name in COLLECTOR_NAMESPACES
        ]
        yield "metrics", _ingress(ray, collectors, [METRICS])
    yield "egress", _reachable(args)


JOB = "batch.kubernetes.io/job-name"
HEADS = LabelSelectorArgs(match_labels={"ray.io/node-type": "head"})


def _heads(args: NetworkIsolationArgs) -> NetworkPolicySpecArgs:
    """Opens heads to KubeRay, which polls jobs and services, and to submitters, the pods of its Jobs."""
    no_tenant = LabelSelectorRequirementArgs(key=next(iter(TENANT)), operator="DoesNotExist")
    operators = [
        NetworkPolicyPeerArgs(
            # In any namespace but the tenants', where a team could give a pod this label.
            namespace_selector=LabelSelectorArgs(match_expressions=[no_tenant]),
            pod_selector=LabelSelectorArgs(match_labels={"app.kubernetes.io/name": "kuberay-operator"}),
        )
    ]
    if args.operator_hosted:
        tunnel = LabelSelectorArgs(match_labels={"k8s-app": "konnectivity-agent"})
        operators.append(
            NetworkPolicyPeerArgs(namespace_selector=_namespace("kube-system"), pod_selector=tunnel)
        )
    submitters = NetworkPolicyPeerArgs(pod_selector=_with_label(JOB))
    return NetworkPolicySpecArgs(
        pod_selector=HEADS,
        policy_types=["Ingress"],
        ingress=[
            NetworkPolicyIngressRuleArgs(from_=operators, ports=tcp([DASHBOARD, SERVE])),
            NetworkPolicyIngressRuleArgs(from_=[submitters], ports=tcp([DASHBOARD])),
        ],
    )


def _serve(args: NetworkIsolationArgs) -> NetworkPolicySpecArgs | None:
    """Opens Ray Serve's port to the load balancer, where IAP authenticates users, and to clients."""
    callers = [
        NetworkPolicyPeerArgs(namespace_selector=_namespace(client)) for client in args.tenant.network.clients
    ]
    if args.tenant.serving:
        callers += [NetworkPolicyPeerArgs(ip_block=IPBlockArgs(cidr=cidr)) for cidr in LOAD_BALANCERS]
    return _ingress(_with_label("ray.io/cluster"), callers, [SERVE]) if callers else None


def _reachable(args: NetworkIsolationArgs) -> NetworkPolicySpecArgs:
    """Allows every pod's connections: DNS, GKE's metadata server, and the settings' destinations."""
    network = args.tenant.network
    rules = cluster_egress(on_gke=args.on_gke)
    if network.egress == "https":
        anywhere = IPBlockArgs(cidr="0.0.0.0/0", except_=list(NOT_PUBLIC))
        rules.append(
            NetworkPolicyEgressRuleArgs(to=[NetworkPolicyPeerArgs(ip_block=anywhere)], ports=tcp([443]))
        )
    if network.egress == "google-apis":
        rules.append(egress_to(GOOGLE_APIS, [443]))
    rules += [egress_to([destination.cidr], destination.ports) for destination in network.destinations]
    return NetworkPolicySpecArgs(pod_selector=LabelSelectorArgs(), policy_types=["Egress"], egress=rules)


def _egress(
    pods: LabelSelectorArgs, to: list[NetworkPolicyPeerArgs], ports: Sequence[int]
) -> NetworkPolicySpecArgs:
    rule = NetworkPolicyEgressRuleArgs(to=to, ports=tcp(ports))
    return NetworkPolicySpecArgs(pod_selector=pods, policy_types=["Egress"], egress=[rule])


def _ingress(
    pods: LabelSelectorArgs, callers: list[NetworkPolicyPeerArgs], ports: Sequence[int]
) -> NetworkPolicySpecArgs:
    rule = NetworkPolicyIngressRuleArgs(from_=callers, ports=tcp(ports))
    return NetworkPolicySpecArgs(pod_selector=pods, policy_types=["Ingress"], ingress=[rule])


def _with_label(key: str) -> LabelSelectorArgs:
    return LabelSelectorArgs(match_expressions=[LabelSelectorRequirementArgs(key=key, operator="Exists")])


def _namespace(name: str) -> LabelSelectorArgs:
    return LabelSelectorArgs(match_labels={"kubernetes.io/metadata.name": name})
