"""Cases of the rules of tenants' namespaces, and of images."""

from typing import Any

from policies.rules import tenants as rules
from policies.rules import workloads
from tests.unit.policies.builders import (
    DIGEST,
    Case,
    deployment,
    fails,
    kubernetes,
    namespace,
    passes,
    release,
)

TENANT = namespace(tenant="true", queue_required="true", ray_auth="token")
PLAIN = namespace(tenant="true")
OPERATORS = namespace("muster-system")
PRIVATE = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]
REGISTRIES = {"environment": "prod", "registries": ["*-docker.pkg.dev/*", "quay.io/kuberay/*"]}
NARROW = "narrow spec.egress to what pods need: it allows"


def to(*cidrs: str, ports: tuple[int, ...] = (), excluding: list[str] | None = None) -> dict[str, Any]:
    """Returns an egress rule."""
    blocks = [{"cidr": cidr, **({"except": excluding} if excluding else {})} for cidr in cidrs]
    rule: dict[str, Any] = {"to": [{"ipBlock": block} for block in blocks]}
    return {**rule, "ports": [{"port": port} for port in ports]} if ports else rule


def policy(*egress: dict[str, Any], home: str = "team-a", name: str = "egress") -> Any:
    spec = {"egress": list(egress)}
    return kubernetes("networking.k8s.io/v1:NetworkPolicy", name, namespace=home, spec=spec)


def admits(*selectors: dict[str, Any], home: str = "muster-system") -> Any:
    """Returns a NetworkPolicy that admits pods of the namespaces of each selector."""
    peers = [{"namespaceSelector": selector} for selector in selectors]
    spec = {"ingress": [{"ports": [{"port": 8090}]}, {"from": peers}]}
    return kubernetes("networking.k8s.io/v1:NetworkPolicy", "ingress", namespace=home, spec=spec)


def named(*names: str) -> dict[str, Any]:
    return {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(names)}]
    }


def expression(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "muster.dev/tenant", "operator": operator, "values": list(values)}]}


CASES: tuple[Case, ...] = (
    passes(rules.tenants_need_queues, "required, or no tenant", TENANT, OPERATORS),
    fails(
        rules.tenants_need_queues,
        "not required",
        PLAIN,
        "team-a: label it muster.dev/queue-required: true (muster:tenants[].queueRequired)",
    ),
    passes(rules.tenants_need_ray_tokens, "required, or no tenant", TENANT, OPERATORS),
    fails(
        rules.tenants_need_ray_tokens,
        "not required",
        PLAIN,
        "team-a: label it muster.dev/ray-auth: token (muster:tenants[].rayAuth)",
    ),
    passes(
        rules.tenant_egress_is_bounded,
        "ranges, HTTPS to public addresses, and other namespaces",
        TENANT,
        policy(
            to("10.0.0.0/8", "192.0.2.7/32"),
            to("0.0.0.0/0", ports=(443,), excluding=PRIVATE),
            to("2001:db8::/32"),
            {"to": [{"podSelector": {}}]},
        ),
        policy(to("0.0.0.0/0"), {}, home="kuberay-system"),
    ),
    fails(
        rules.tenant_egress_is_bounded,
        "everywhere, in parts, on other ports, private addresses included",
        [
            TENANT,
            policy(to("0.0.0.0/0")),
            policy(to("0.0.0.0/1", ports=(443,)), to("128.0.0.0/1", ports=(22,)), name="parts"),
            policy(to("0.0.0.0/0", ports=(443, 22), excluding=PRIVATE), name="ports"),
            policy(to("0.0.0.0/0", ports=(443,), excluding=PRIVATE[1:]), name="private"),
            policy({"ports": [{"port": 53}]}, name="open"),
            policy(to("::/0"), name="six"),
        ],
        f"egress: {NARROW} 0.0.0.0/0",
        f"parts: {NARROW} 0.0.0.0/0",
        f"ports: {NARROW} 0.0.0.0/0",
        f"private: {NARROW} 0.0.0.0/0",
        "open: set spec.egress[0].to: without it all addresses are allowed",
        f"six: {NARROW} ::/0",
    ),
    passes(
        rules.tenants_do_not_reach_operators,
        "other namespaces, and tenants among themselves",
        TENANT,
        OPERATORS,
        admits(named("gmp-system"), expression("DoesNotExist"), expression("NotIn", "true")),
        admits(named("team-a"), home="team-a"),
    ),
    fails(
        rules.tenants_do_not_reach_operators,
        "by name, by label, by no condition",
        [TENANT, admits(named("team-a"), {"matchLabels": {"muster.dev/tenant": "true"}}, {}), OPERATORS],
        *(
            f"ingress: narrow spec.ingress[1].from[{i}].namespaceSelector: it selects tenant team-a"
            for i in range(3)
        ),
    ),
    fails(
        rules.tenants_do_not_reach_operators,
        "tenants of another stack",
        [admits({"matchLabels": {"muster.dev/tenant": "true"}}), OPERATORS],
        "ingress: narrow spec.ingress[1].from[0].namespaceSelector: it selects tenant of another stack",
    ),
    fails(
        rules.tenants_do_not_reach_operators,
        "by an expression",
        [TENANT, admits(expression("Exists"), expression("In", "true"), expression("NotIn", "false"))],
        *(
            f"ingress: narrow spec.ingress[1].from[{i}].namespaceSelector: it selects tenant team-a"
            for i in range(3)
        ),
    ),
    passes(
        workloads.images_are_from_allowed_registries,
        "allowed, and charts' own",
        deployment("us-docker.pkg.dev/acme/app:1"),
        release(values={"image": {"repository": "quay.io/kuberay/operator", "tag": "v1.6.2"}}),
        release(values={"operator": {"replicas": 2}}),
        config=REGISTRIES,
    ),
    passes(workloads.images_are_from_allowed_registries, "no list", deployment("app:1")),
    fails(
        workloads.images_are_from_allowed_registries,
        "of docker.io, by name or by default, and of others",
        [
            deployment("app:1", f"docker.io/acme/app{DIGEST}", "localhost:5000/app:1"),
            release(values={"a": [{"image": "acme/operator:1"}], "registry": "ghcr.io", "repository": "b/c"}),
        ],
        *(
            f"{where} to one of *-docker.pkg.dev/*, quay.io/kuberay/*, or add its registry to "
            f'policies/config/prod.json: it is "{image}"'
            for where, image in (
                ("app: copy spec.template.spec.containers[0].image", "docker.io/app:1"),
                ("app: copy spec.template.spec.containers[1].image", f"docker.io/acme/app{DIGEST}"),
                ("app: copy spec.template.spec.containers[2].image", "localhost:5000/app:1"),
                ("kuberay-operator: copy values", "ghcr.io/b/c"),
                ("kuberay-operator: copy values.a[0].image", "docker.io/acme/operator:1"),
            )
        ),
        config=REGISTRIES,
    ),
    fails(
        workloads.images_have_a_digest,
        "of a chart",
        [
            release(values={"image": {"repository": "quay.io/kuberay/operator", "tag": f"v1{DIGEST}"}}),
            release(values={"image": {"repository": "quay.io/kuberay/operator", "tag": "v1.6.2"}}),
        ],
        "kuberay-operator: write values.image as repository@sha256:…: it is "
        '"quay.io/kuberay/operator:v1.6.2"',
    ),
)
