"""Checks the device claims of pods (dynamic resource allocation), which quota does not count.

Tenants can create neither ResourceClaims nor ResourceClaimTemplates (components/tenants/team_access.py), so
the tenant may use every existing template, any number of times.
"""

from muster.cluster.cluster_state import ClusterState
from muster.objects import kueue
from muster.objects.derived import Derived
from muster.objects.pods import read_template


def claims_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    """Returns a sentence about the first claim that prevents pods from running or is not allowed; None if
    there is none."""
    problem, templates = _claims(workload.spec)
    if problem is not None:
        return problem
    namespace = workload.metadata.namespace
    for pod_set, template in templates:
        if f"{namespace}/{template}" not in cluster.claim_templates:
            return (
                f"pod set {pod_set!r}: namespace {namespace} has no ResourceClaimTemplate {template!r}, so "
                f"no pod can run: choose one of {_templates_in(namespace, cluster)}, or ask an administrator "
                "to declare it (muster:tenants[].deviceClaims)"
            )
    return None


def _templates_in(namespace: str, cluster: ClusterState) -> str:
    names = (t.metadata.name for t in cluster.claim_templates.values() if t.metadata.namespace == namespace)
    return ", ".join(sorted(names)) or "none"


def uncounted(workload: kueue.Workload) -> str:
    """Returns a sentence to append to the message of QuotaReserved; empty without claims."""
    _, templates = _claims(workload.spec)
    names = ", ".join(sorted({template for _, template in templates}))
    return f". Devices claimed by ResourceClaimTemplate {names} are not counted in quota" if names else ""


@Derived
def _claims(spec: kueue.WorkloadSpec) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Returns the first problem of the claims themselves, and the pairs of pod set and
    ResourceClaimTemplate."""
    templates: list[tuple[str, str]] = []
    for pod_set in spec.pod_sets:
        for claim in read_template(pod_set.template).spec.resource_claims:
            if claim.resource_claim_name is not None:
                return (
                    f"pod set {pod_set.name!r}: claim {claim.name!r} names ResourceClaim "
                    f"{claim.resource_claim_name!r}, whose devices are not in quota and may be in use "
                    "by other gangs: set resourceClaimTemplateName to a template of the namespace instead",
                    (),
                )
            if claim.resource_claim_template_name is not None:
                templates.append((pod_set.name, claim.resource_claim_template_name))
    return None, tuple(dict.fromkeys(templates))
