"""Claims of pods for devices (dynamic resource allocation), which quota does not count.

Tenants can create neither ResourceClaims nor ResourceClaimTemplates (components/tenants/team_access.py), so a
template that exists is one that an administrator allows the tenant to use, any number of times.
"""

from muster.controller.cluster.cluster_state import ClusterState
from muster.objects import kueue
from muster.objects.derived import Derived
from muster.objects.pods import read_template


def claims_problem(workload: kueue.Workload, cluster: ClusterState) -> str | None:
    """Returns the first claim that keeps pods from running, or that the administrator has not allowed."""
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
    """Returns a sentence for the message of QuotaReserved; empty without claims."""
    _, templates = _claims(workload.spec)
    names = ", ".join(sorted({template for _, template in templates}))
    return f". Devices claimed by ResourceClaimTemplate {names} are not counted in quota" if names else ""


@Derived
def _claims(spec: kueue.WorkloadSpec) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Returns a problem of the claims themselves, and pairs of a pod set and the template that it names."""
    templates: list[tuple[str, str]] = []
    for pod_set in spec.pod_sets:
        for claim in read_template(pod_set.template).spec.resource_claims:
            if claim.resource_claim_name is not None:
                return (
                    f"pod set {pod_set.name!r}: claim {claim.name!r} names ResourceClaim "
                    f"{claim.resource_claim_name!r}, whose devices no quota counts and other gangs may hold: "
                    "set resourceClaimTemplateName to a template of the namespace instead",
                    (),
                )
            if claim.resource_claim_template_name is not None:
                templates.append((pod_set.name, claim.resource_claim_template_name))
    return None, tuple(dict.fromkeys(templates))
