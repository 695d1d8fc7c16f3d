"""Tenants' namespaces, which their label marks: queues, tokens, egress, and access to operators."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any, NamedTuple

from pulumi_policy.proxy import UnknownValueError

from policies.reading import pick
from policies.rule import Resource, Violation, resource_rule, stack_rule
from policies.rules.namespaces import NAMESPACE, NETWORK_POLICY

TENANT = "muster.dev/tenant"
QUEUE_REQUIRED = "muster.dev/queue-required"
RAY_AUTH = "muster.dev/ray-auth"
NAME = "kubernetes.io/metadata.name"
HTTPS = 443
# RFC 1918, RFC 6598, and link-local addresses, one of which is the metadata server's.
NOT_PUBLIC = tuple(
    map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"))
)
LARGEST = {4: 8, 6: 32}  # prefix lengths: the largest private range, and that of a provider

Network = IPv4Network | IPv6Network


@resource_rule(
    "muster-tenants-need-queues",
    NAMESPACE,
    source="Kueue, manageJobsWithoutQueueName: jobs without a queue bypass all quotas",
    severity="high",
)
def tenants_need_queues(namespace: Resource) -> Iterator[str]:
    """Ray objects of a tenant are in a queue: others would take nodes without quota, and could not be
    preempted."""
    if _is_tenant(namespace) and _labels(namespace).get(QUEUE_REQUIRED) != "true":
        yield f"label it {QUEUE_REQUIRED}: true (muster:tenants[].queueRequired)"


@resource_rule(
    "muster-tenants-need-ray-tokens",
    NAMESPACE,
    source="Ray, token authentication: its ports execute any code that reaches them",
    severity="high",
)
def tenants_need_ray_tokens(namespace: Resource) -> Iterator[str]:
    """Ray clusters of a tenant require a token, in addition to its NetworkPolicies."""
    if _is_tenant(namespace) and _labels(namespace).get(RAY_AUTH) != "token":
        yield f"label it {RAY_AUTH}: token (muster:tenants[].rayAuth)"


@stack_rule(
    "muster-tenant-egress-is-bounded",
    source="CIS GKE 1.9, 4.3.2; Kubernetes, NetworkPolicy: egress",
    severity="high",
)
def tenant_egress_is_bounded(resources: Sequence[Resource]) -> Iterator[Violation]:
    """A tenant's pods connect to ranges of at most a /8, and beyond these to public addresses by HTTPS only:
    wider ranges reach the databases of others and any server that takes data."""
    tenants = {_name(r) for r in resources if r.kind == NAMESPACE and _is_tenant(r)}
    for policy in resources:
        if policy.kind != NETWORK_POLICY or pick(policy.props, "metadata", "namespace") not in tenants:
            continue
        destinations: list[Network] = []
        for i, rule in enumerate(pick(policy.props, "spec", "egress") or ()):
            if not pick(rule, "to"):
                yield Violation(policy, f"set spec.egress[{i}].to: without it all addresses are allowed")
            destinations += _destinations(rule)
        for network in _wide(destinations):
            yield Violation(policy, f"narrow spec.egress to what pods need: it allows {network}")


@stack_rule(
    "muster-tenants-do-not-reach-operators",
    source="Kubernetes, NetworkPolicy: ingress; the page of Muster has no login",
    severity="high",
)
def tenants_do_not_reach_operators(resources: Sequence[Resource]) -> Iterator[Violation]:
    """NetworkPolicies of other namespaces admit no pods of tenants: operators' ports and the page of queues,
    which has no login, are not the teams'. The tenants of a stack without them are in another one."""
    tenants = {
        _name(r): _labels(r) | {NAME: _name(r)} for r in resources if r.kind == NAMESPACE and _is_tenant(r)
    }
    tenants = tenants or {"of another stack": {TENANT: "true"}}
    for policy in resources:
        if policy.kind != NETWORK_POLICY or pick(policy.props, "metadata", "namespace") in tenants:
            continue
        for peer in _peers(policy):
            for name, labels in tenants.items():
                if _selects(peer.selector, labels):
                    yield Violation(policy, f"narrow {peer.path}.namespaceSelector: it selects tenant {name}")


class Peer(NamedTuple):
    """A selector of namespaces in an ingress rule, and its path."""

    path: str
    selector: Mapping[str, Any]


def _is_tenant(namespace: Resource) -> bool:
    return _labels(namespace).get(TENANT) == "true"


def _labels(namespace: Resource) -> dict[str, str]:
    return dict(pick(namespace.props, "metadata", "labels") or {})


def _name(namespace: Resource) -> str:
    return pick(namespace.props, "metadata", "name") or namespace.name


def _destinations(rule: Mapping[str, Any]) -> Iterator[Network]:
    """Yields the ranges of an egress rule, except public addresses that it opens for HTTPS only."""
    https_only = [pick(port, "port") for port in rule.get("ports") or ()] == [HTTPS]
    for peer in rule.get("to") or ():
        if (block := pick(peer, "ipBlock")) is None:
            continue
        try:
            network = ip_network(block["cidr"])
        except UnknownValueError:  # of a resource that the same stack creates, such as its control plane
            continue
        excluded = [ip_network(each) for each in block.get("except") or ()]
        if not (https_only and set(NOT_PUBLIC) <= set(excluded)):
            yield network


def _wide(networks: Sequence[Network]) -> Iterator[Network]:
    """Yields the ranges that are too large, also if they are written as several parts."""
    yield from (
        n for n in collapse_addresses(n for n in networks if isinstance(n, IPv4Network)) if _is_wide(n)
    )
    yield from (
        n for n in collapse_addresses(n for n in networks if isinstance(n, IPv6Network)) if _is_wide(n)
    )


def _is_wide(network: Network) -> bool:
    return network.prefixlen < LARGEST[network.version]


def _peers(policy: Resource) -> Iterator[Peer]:
    for i, rule in enumerate(pick(policy.props, "spec", "ingress") or ()):
        for j, peer in enumerate(pick(rule, "from") or ()):
            if (selector := pick(peer, "namespaceSelector")) is not None:
                yield Peer(f"spec.ingress[{i}].from[{j}]", selector)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Returns whether a label selector matches the labels (Kubernetes, LabelSelector)."""
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(_meets(each, labels) for each in selector.get("matchExpressions") or ())


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
    return value is None
