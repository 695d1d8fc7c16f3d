"""Policies for tenants' namespaces: resizing of their pods, devices and nodes, storage, and Ray's tokens."""

from components.admission.ray import (
    RAY_KINDS,
    Engine,
    Policy,
    asked_by_users,
    may_write_status,
    requests_of,
    spec_is_written_by_users,
    users_of,
    value_at,
)
from components.admission.templates import template_variables
from muster.cluster.jobs.job_kind import JobKind
from muster.cluster.jobs.kinds import JOB_KINDS, RESOURCES
from muster.kube.kinds import PROVISIONING_REQUESTS, RESOURCE_CLAIM_TEMPLATES
from settings.model.tenants.tenant import NO_CLAIMS, TENANT, TOKEN_REQUIRED

EMPTY = '""'
NO_STORAGE = (
    "in this namespace administrators create PersistentVolumeClaims (it has no "
    "muster:tenants[].storage): use one of its claims or an emptyDir"
)

# Off is the only mode in which a VerticalPodAutoscaler changes no pod: Initial resizes pods at creation,
# InPlaceOrRecreate while they run, the others by evicting them, which breaks up the gang.
VPA_MODE_OFF = Policy(
    name="muster-vpa-leaves-ray-alone",
    group="autoscaling.k8s.io",
    resources=("verticalpodautoscalers",),
    operations=("CREATE", "UPDATE"),
    rules={
        f'!object.spec.?targetRef.?apiVersion.orValue("").startsWith("{group}/") || '
        'object.spec.?updatePolicy.?updateMode.orValue("") == "Off"': (
            "a gang runs with the resources that its quota was reserved for: set "
            'spec.updatePolicy.updateMode: "Off", and put the recommendations into the next manifest'
        )
        for group in RESOURCES
    },
    namespaces=TENANT,
)


def _of_administrators(group: str, resources: tuple[str, ...], why: str) -> Policy:
    """Returns the policy for objects that only identities with rights in all namespaces create."""
    creates = f'authorizer.group("{group}").resource(request.resource.resource).check("create").allowed()'
    return Policy(
        name=f"muster-tenants-have-no-{resources[0]}",
        group=group,
        version="*",
        resources=resources,
        operations=("CREATE", "UPDATE"),
        rules={"false": why},
        namespaces=TENANT,
        condition=f"!({creates} || {may_write_status(group, resources[0])})",
    )


# Quota counts the ResourceClaimTemplates that exist when a gang is admitted: another one of the same name
# would change what its pods take. A ResourceClaim may pass for that of a pod (k8s.io/kubernetes
# pkg/controller/resourceclaim: findPodResourceClaim). Kubernetes' roles `edit` and `admin` allow both.
NODES_AND_DEVICES = (
    _of_administrators(
        RESOURCE_CLAIM_TEMPLATES.group,
        ("resourceclaims", "resourceclaimtemplates"),
        "in this namespace devices have a quota, which counts the claims that administrators declare: use a "
        "ResourceClaimTemplate of muster:tenants[].deviceClaims in a queued job",
    ),
    _of_administrators(
        PROVISIONING_REQUESTS.group,
        ("provisioningrequests",),
        "in this namespace nodes are provisioned for jobs that have quota for them: create a job with the "
        "label of a queue, whose admission check creates the ProvisioningRequest",
    ),
)


def without_claims(engine: Engine) -> list[Policy]:
    """Returns policies for tenants without `storage`: Kubernetes creates a claim for each ephemeral volume of
    a pod, whether its user may create claims or not, and no ResourceQuota bounds these."""
    return [
        Policy(
            name=f"muster-{kind.plural}-claim-no-storage",
            **requests_of(kind),
            operations=("CREATE", "UPDATE"),
            rules={
                "variables.templates.all(t, t.?spec.?volumes.orValue([]).all(v, !has(v.ephemeral)))": (
                    f"{NO_STORAGE}, not ephemeral volumes"
                )
            }
            | _without_claim_templates(kind),
            namespaces=NO_CLAIMS,
            condition=spec_is_written_by_users(engine, kind.operator),
            exempt_operators=users_of(kind),
            variables=template_variables(kind),
        )
        for kind in JOB_KINDS
    ]


def _without_claim_templates(kind: JobKind) -> dict[str, str]:
    path = kind.claim_templates
    return {f"{value_at('object', path, '[]')}.size() == 0": f"{NO_STORAGE}, not {path}"} if path else {}


def token_required(engine: Engine) -> list[Policy]:
    """Returns policies for tenants with `rayAuth: token`: Ray itself requires a token (Ray 2.52 or later).

    KubeRay creates the Secret and passes it to the pods; the team reads it with `kubectl get secret`.
    """
    return [
        Policy(
            name=f"muster-{kind.plural}-need-a-token",
            resources=(kind.plural,),
            operations=("CREATE", "UPDATE"),
            rules={
                f'{value_at("object", f"{kind.ray_cluster}.authOptions.mode", EMPTY)} == "token"': (
                    f"in this namespace Ray requires a token: add {kind.ray_cluster}.authOptions: "
                    "{mode: token}, with rayVersion 2.52.0 or later"
                )
            },
            namespaces=TOKEN_REQUIRED,
            condition=asked_by_users(engine),
        )
        for kind in RAY_KINDS
    ]
