"""Policies of tenants' namespaces: what their pods may become, and who may talk to their Ray."""

from components.admission.ray import RAY_KINDS, RAY_SERVICE, Engine, Policy, RayKind, asked_by_users, at

TENANT = {"muster.dev/tenant": "true"}
TOKEN_REQUIRED = {"muster.dev/ray-auth": "token"}
EMPTY = '""'

# Off is the one mode in which a VerticalPodAutoscaler changes no pod: Initial sizes pods as they are made,
# InPlaceOrRecreate while they run, the others by evicting them, which breaks the gang apart.
RECOMMENDATIONS_ONLY = Policy(
    name="muster-vpa-leaves-ray-alone",
    group="autoscaling.k8s.io",
    resources=("verticalpodautoscalers",),
    operations=("CREATE", "UPDATE"),
    rules={
        '!object.spec.?targetRef.?apiVersion.orValue("").startsWith("ray.io/") || '
        'object.spec.?updatePolicy.?updateMode.orValue("") == "Off"': (
            "a gang runs with the resources that its quota is reserved for: write "
            'spec.updatePolicy.updateMode: "Off", and put what is recommended into the next manifest'
        )
    },
    namespaces=TENANT,
)


def token_required(engine: Engine) -> list[Policy]:
    """For tenants with `rayAuth: token`: Ray itself asks for a token (Ray 2.52 or later; KubeRay makes the
    Secret and hands it to the pods, `kubectl get secret` gives it to the team)."""
    return [
        Policy(
            name=f"muster-{kind.resource}-need-a-token",
            resources=(kind.resource,),
            operations=("CREATE", "UPDATE"),
            rules={
                f'{at("object", f"{kind.cluster}.authOptions.mode", EMPTY)} == "token"': (
                    f"in this namespace Ray asks for a token: add {kind.cluster}.authOptions: "
                    "{mode: token}, with rayVersion 2.52.0 or later"
                )
            },
            namespaces=TOKEN_REQUIRED,
            condition=asked_by_users(engine),
        )
        for kind in RAY_KINDS
    ]


def heads_stay_inside(engine: Engine) -> list[Policy]:
    """A load balancer or an ingress would put Ray's dashboard and job port before whoever finds them.

    The way to those is `kubectl port-forward`, which the API server authenticates, and to Ray Serve the
    tenant's Gateway.
    """
    return [
        Policy(
            name=f"muster-{kind.resource}-stay-inside",
            resources=(kind.resource,),
            operations=("CREATE", "UPDATE"),
            rules=_inside(kind),
            namespaces=TENANT,
            condition=asked_by_users(engine),
        )
        for kind in RAY_KINDS
    ]


def _inside(kind: RayKind) -> dict[str, str]:
    head = f"{kind.cluster}.headGroupSpec"
    services = [f"{head}.serviceType", f"{head}.headService.spec.type"]
    if kind is RAY_SERVICE:
        services.append("spec.serveService.spec.type")
    inside = {f'{at("object", service, EMPTY)} in ["", "ClusterIP"]': service for service in services}
    ingress = f"{head}.enableIngress"
    inside[f"!{at('object', ingress, 'false')}"] = ingress
    return {
        rule: (
            f"Ray's ports ask nobody who they are, so they stay inside the cluster: remove {path}, and reach "
            "the dashboard by kubectl port-forward"
        )
        for rule, path in inside.items()
    }
