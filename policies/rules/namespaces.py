"""Namespaces: pod security and network access (CIS GKE Benchmark 1.9, 4.2 to 4.6).

System namespaces are not checked because no stack declares them; a declared namespace that cannot comply is
exempt by name, with a reason, in the environment's configuration.
"""

from collections.abc import Iterator, Sequence

from policies.pods import POD_SPECS
from policies.reading import pick
from policies.rule import Resource, Violation, resource_rule, stack_rule
from policies.rules.charts import RELEASE

NAMESPACE = "kubernetes:core:Namespace"
NETWORK_POLICY = "kubernetes:networking.k8s.io:NetworkPolicy"
ENFORCE = "pod-security.kubernetes.io/enforce"
LEVELS = ("baseline", "restricted")

NAMESPACED = (
    *POD_SPECS,
    "kubernetes:core:ConfigMap",
    "kubernetes:core:LimitRange",
    "kubernetes:core:PersistentVolumeClaim",
    "kubernetes:core:ResourceQuota",
    "kubernetes:core:Secret",
    "kubernetes:core:Service",
    "kubernetes:core:ServiceAccount",
    "kubernetes:gateway.networking.k8s.io:Gateway",
    "kubernetes:gateway.networking.k8s.io:HTTPRoute",
    "kubernetes:kueue.x-k8s.io:LocalQueue",
    "kubernetes:networking.k8s.io:Ingress",
    NETWORK_POLICY,
    "kubernetes:policy:PodDisruptionBudget",
    "kubernetes:rbac.authorization.k8s.io:Role",
    "kubernetes:rbac.authorization.k8s.io:RoleBinding",
    "kubernetes:secrets-store.csi.x-k8s.io:SecretProviderClass",
)


def _created_by_helm(release: Resource) -> str | None:
    """Returns the namespace that Helm creates for a release, which is not a Pulumi resource."""
    return release.props.get("namespace") if release.props.get("createNamespace") else None


@resource_rule(
    "cis-gke-4.2.1-pod-security",
    NAMESPACE,
    RELEASE,
    source="CIS GKE 1.9, 4.2.1; Kubernetes, Pod Security Standards",
    severity="high",
)
def pod_security(resource: Resource) -> Iterator[str]:
    """A namespace refuses pods that violate the Pod Security Standard baseline, such as privileged ones."""
    if resource.kind == NAMESPACE:
        level = pick(resource.props, "metadata", "labels", ENFORCE)
        if level not in LEVELS:
            yield f"label it {ENFORCE}: {' or '.join(LEVELS)}"
    elif namespace := _created_by_helm(resource):
        yield (
            f"declare Namespace {namespace} with the label {ENFORCE} and remove createNamespace: "
            "Helm would create it without the label"
        )


@stack_rule(
    "cis-gke-4.3.2-namespace-has-network-policy",
    source="CIS GKE 1.9, 4.3.2; Checkov CKV2_K8S_6",
    severity="high",
)
def namespace_has_network_policy(resources: Sequence[Resource]) -> Iterator[Violation]:
    """A namespace has a NetworkPolicy: without one, every pod of the cluster can reach its pods."""
    guarded = {pick(r.props, "metadata", "namespace") for r in resources if r.kind == NETWORK_POLICY}
    for resource in resources:
        if resource.kind == NAMESPACE:
            name = pick(resource.props, "metadata", "name")
        elif resource.kind == RELEASE:
            name = _created_by_helm(resource)
        else:
            continue
        if name is not None and name not in guarded:
            yield Violation(
                resource, f"declare a NetworkPolicy in namespace {name} that denies traffic by default"
            )


@resource_rule(
    "cis-gke-4.6.4-no-default-namespace",
    *NAMESPACED,
    RELEASE,
    source="CIS GKE 1.9, 4.6.4; Checkov CKV_K8S_21",
    severity="low",
)
def no_default_namespace(resource: Resource) -> Iterator[str]:
    """No objects are in the namespace default, where they cannot be separated by team or purpose."""
    path = "namespace" if resource.kind == RELEASE else "metadata.namespace"
    if pick(resource.props, *path.split(".")) in (None, "", "default"):
        yield f"set {path} to a namespace other than default"
