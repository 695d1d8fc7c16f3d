"""The stack's admission policies: the API server runs them, without a webhook."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    ApplyConfigurationArgs,
    JSONPatchArgs,
    MatchConditionArgs,
    MatchResourcesArgs,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingAdmissionPolicyBindingSpecArgs,
    MutatingAdmissionPolicySpecArgs,
    MutationArgs,
    NamedRuleWithOperationsArgs,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBindingSpecArgs,
    ValidatingAdmissionPolicySpecArgs,
    ValidationArgs,
    VariableArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, LabelSelectorRequirementArgs, ObjectMetaArgs

from components.admission.accelerators import accelerators_need_a_queue
from components.admission.autoscaling import changes_of_workloads, own_accounts
from components.admission.controller_writes import DRY_RUNS_ONLY, GATES_ONLY
from components.admission.elastic_jobs import annotating_mutation
from components.admission.gangs import queued_gangs
from components.admission.gangs.redis_cleanup import REDIS_CLEANUP_HAS_QUOTA
from components.admission.kueue_objects import kueue_objects
from components.admission.pods import pods_of_gangs
from components.admission.priorities import PriorityNames, allowed_priorities
from components.admission.queues import (
    Mutation,
    created_suspended,
    queue_required,
    suspendable,
    suspending_mutations,
)
from components.admission.ray import Engine, Policy, asked_by_users
from components.admission.reserved_labels import reserved_labels
from components.admission.scales import kept_scales
from components.admission.schedules import (
    SHORT_NAMES,
    annotating_mutations,
    checked_templates,
    labelling_mutations,
    no_ray_cron_jobs,
)
from components.admission.secrets import mounted_secrets
from components.admission.services import cluster_internal_services
from components.admission.sizes import bounded_sizes
from components.admission.tenants import NODES_AND_DEVICES, VPA_MODE_OFF, token_required, without_claims
from components.base import Component
from components.queues.kai_policies import KaiNames, kai_mutations, kai_validations
from settings.model.split import PARTS, Part


@dataclass(frozen=True)
class AdmissionPoliciesArgs:
    """Settings of the policies.

    `serves_mutating`: whether the cluster serves MutatingAdmissionPolicy in v1. `kai`: KAI's queues and
    priorities if it is the engine. `priorities`: of the stack and its tenants. `max_pods`: of a Ray
    object. `shared_accounts`: service accounts that the stack declares for tenants' pods. `secrets`:
    whether tenants have secrets of Secret Manager. `autoscaled`: whether the engine admits queued objects
    that Ray's autoscaler scales. `parts`: those that the stack deploys; policies that name tenants belong to
    the part `tenants`.
    """

    engine: Engine
    serves_mutating: bool
    max_pods: int
    shared_accounts: tuple[str, ...] = ()
    kai: KaiNames | None = None
    priorities: PriorityNames = field(default_factory=PriorityNames)
    secrets: bool = False
    autoscaled: bool = True
    parts: frozenset[Part] = frozenset(PARTS)


class AdmissionPolicies(Component):
    """Suspends queued Ray objects at creation, and keeps them as their queue admitted them.

    KAI does not suspend jobs but holds pods back: with engine `kai` objects get its labels instead.
    """

    def __init__(
        self, name: str, args: AdmissionPoliciesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("AdmissionPolicies", name, opts)
        if "cluster" in args.parts:
            self._mutations(args)
        for policy in validating_policies(args):
            self._validate(policy)
        self.register_outputs({})

    def _mutations(self, args: AdmissionPoliciesArgs) -> None:
        if args.kai is not None:
            self._mutate(kai_mutations(args.kai), args.engine)
        elif args.serves_mutating:
            self._mutate(_mutations_of_queued(args), args.engine)

    def _mutate(self, policies: Mapping[str, Mutation], engine: Engine) -> None:
        for name, mutation in policies.items():
            rule = _requests(**mutation.requests, operations=mutation.operations)
            policy = MutatingAdmissionPolicy(
                self.named(name),
                metadata=ObjectMetaArgs(name=name),
                spec=_mutate(rule, mutation, engine),
                opts=self.child(),
            )
            MutatingAdmissionPolicyBinding(
                self.named(name),
                metadata=ObjectMetaArgs(name=name),
                spec=MutatingAdmissionPolicyBindingSpecArgs(policy_name=name),
                opts=self.child(depends_on=[policy]),
            )

    def _validate(self, policy: Policy) -> None:
        declared = ValidatingAdmissionPolicy(
            self.named(policy.name),
            metadata=ObjectMetaArgs(name=policy.name),
            spec=_validate(policy),
            opts=self.child(),
        )
        ValidatingAdmissionPolicyBinding(
            self.named(policy.name),
            metadata=ObjectMetaArgs(name=policy.name),
            spec=ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=policy.name, validation_actions=["Deny"]
            ),
            opts=self.child(depends_on=[declared]),
        )


def _mutations_of_queued(args: AdmissionPoliciesArgs) -> dict[str, Mutation]:
    mutations = suspending_mutations(args.engine) | labelling_mutations()
    if args.engine == "kueue" and args.autoscaled:
        mutations["muster-queued-autoscaled-ray-is-elastic"] = annotating_mutation()
        mutations |= annotating_mutations()
    return mutations


def validating_policies(args: AdmissionPoliciesArgs) -> list[Policy]:
    """Returns the ValidatingAdmissionPolicies of the stack's parts."""
    of_cluster = _of_cluster(args) if "cluster" in args.parts else []
    policies = [*of_cluster, *(_of_tenants(args) if "tenants" in args.parts else [])]
    if args.serves_mutating and args.kai is None:
        return [*policies, *checked_templates(policies)]
    return [*policies, *([no_ray_cron_jobs(args.engine)] if of_cluster else [])]


def _of_tenants(args: AdmissionPoliciesArgs) -> list[Policy]:
    """Returns the policies that name tenants, their priorities and their accounts."""
    engine = args.engine
    policies = [*own_accounts(engine, args.shared_accounts), *allowed_priorities(args.priorities, engine)]
    return [*policies, *(mounted_secrets(engine) if args.secrets else [])]


def _of_cluster(args: AdmissionPoliciesArgs) -> list[Policy]:
    engine = args.engine
    policies = [
        VPA_MODE_OFF,
        *cluster_internal_services(engine),
        *token_required(engine),
    ]
    policies += [*without_claims(engine), *accelerators_need_a_queue(engine)]
    policies += [*queue_required(engine), *reserved_labels(engine), *pods_of_gangs(engine)]
    policies += [*kept_scales(engine), *NODES_AND_DEVICES]
    policies += [*changes_of_workloads(), *bounded_sizes(engine, args.max_pods)]
    if args.kai is not None:
        policies += kai_validations(args.kai)
    else:
        policies += [suspendable(engine), *queued_gangs(engine, args.autoscaled)]
        policies += [SHORT_NAMES] if args.serves_mutating else created_suspended(engine)
    return (
        [*policies, *kueue_objects(), DRY_RUNS_ONLY, GATES_ONLY, REDIS_CLEANUP_HAS_QUOTA]
        if engine == "muster"
        else policies
    )


def _mutate(
    rule: NamedRuleWithOperationsArgs, mutation: Mutation, engine: Engine
) -> MutatingAdmissionPolicySpecArgs:
    if mutation.condition:
        condition = _condition(mutation.condition, "of-a-schedule")
    else:
        condition = _condition(asked_by_users(engine, mutation.operator))
    return MutatingAdmissionPolicySpecArgs(
        match_constraints=MatchResourcesArgs(
            object_selector=_labelled(mutation.label) if mutation.label else None, resource_rules=[rule]
        ),
        match_conditions=[condition, *_not_by(mutation.exempt_operators)],
        mutations=[
            MutationArgs(
                patch_type="ApplyConfiguration",
                apply_configuration=ApplyConfigurationArgs(expression=mutation.applied),
            ),
            *(
                MutationArgs(patch_type="JSONPatch", json_patch=JSONPatchArgs(expression=patch))
                for patch in mutation.patches
            ),
        ],
        # Fail closed: a job that runs without quota is worse than no job.
        failure_policy="Fail",
        reinvocation_policy="Never",
    )


def _validate(policy: Policy) -> ValidatingAdmissionPolicySpecArgs:
    namespaces = LabelSelectorArgs(match_labels=policy.namespaces) if policy.namespaces else None
    return ValidatingAdmissionPolicySpecArgs(
        match_constraints=MatchResourcesArgs(
            namespace_selector=namespaces,
            object_selector=_labelled(policy.label) if policy.label else None,
            resource_rules=[_requests(policy.group, policy.resources, policy.operations, policy.version)],
        ),
        match_conditions=[
            *([_condition(policy.condition)] if policy.condition else []),
            *([_condition(f"!({policy.exempt})", "not-by-a-controller")] if policy.exempt else []),
            *_not_by(policy.exempt_operators),
        ]
        or None,
        variables=[VariableArgs(name=key, expression=value) for key, value in policy.variables.items()]
        or None,
        validations=[
            ValidationArgs(expression=rule, message=message, reason=policy.reason)
            for rule, message in policy.rules.items()
        ],
        failure_policy="Fail",
    )


def _not_by(operators: Mapping[str, str]) -> list[MatchConditionArgs]:
    return [_condition(f"!({is_it})", f"not-by-{it}") for it, is_it in operators.items()]


def _condition(expression: str, name: str = "asked-by-users") -> MatchConditionArgs:
    return MatchConditionArgs(name=name, expression=expression)


def _labelled(key: str) -> LabelSelectorArgs:
    """Selects objects with the label; on an update, before or after it."""
    return LabelSelectorArgs(match_expressions=[LabelSelectorRequirementArgs(key=key, operator="Exists")])


def _requests(
    group: str, resources: Iterable[str], operations: Iterable[str], version: str = "v1"
) -> NamedRuleWithOperationsArgs:
    return NamedRuleWithOperationsArgs(
        api_groups=[group],
        api_versions=[version],
        operations=list(operations),
        resources=list(resources),
    )
