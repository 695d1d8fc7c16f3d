"""The settings of the admission policies, read from those of the stack."""

from components.admission.policies import AdmissionPoliciesArgs
from components.admission.priorities import PriorityNames
from components.queues.kai_policies import KaiNames
from settings.model.split import Part
from settings.model.stack import Settings


def policies_of(settings: Settings, parts: frozenset[Part]) -> AdmissionPoliciesArgs:
    """Returns the settings of the policies that belong to these parts."""
    engine, priorities = settings.admission.engine, tuple(settings.admission.priorities)
    kai = KaiNames(settings.local_queues, priorities) if engine == "kai" else None
    tenants = {
        tenant.namespace: priorities if tenant.priorities is None else tenant.priorities
        for tenant in settings.tenants
    }
    accounts = tuple(tenant.identity.service_account for tenant in settings.tenants if tenant.identity)
    return AdmissionPoliciesArgs(
        engine,
        settings.cluster.serves_mutating_policies,
        settings.admission.max_pods,
        accounts,
        kai,
        PriorityNames(priorities, tenants),
        any(tenant.secrets for tenant in settings.tenants),
        engine != "kueue" or settings.kueue.elastic_jobs,
        parts,
    )
