"""Admission policies: what the API server itself does to queued Ray objects, without a webhook."""

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    ApplyConfigurationArgs,
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
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, LabelSelectorRequirementArgs, ObjectMetaArgs

from components.base import Component

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
SUSPEND = "muster-suspend-queued-ray"
SUSPENDABLE = "muster-queued-rayjobs-can-be-suspended"
# KubeRay copies a RayJob's labels to the RayCluster it makes, which must start when its job is resumed.
NOT_OWNED = (
    "!has(object.metadata.ownerReferences) || "
    "!object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
)


# What KubeRay asks of a RayJob that is to be suspended (ray-operator/controllers/ray/utils/validation.go).
# One that breaks it is refused for good once it is suspended, so better before it is there.
SUSPENDABLE_RULES = {
    "has(object.spec.shutdownAfterJobFinishes) && object.spec.shutdownAfterJobFinishes": (
        "a queued RayJob needs spec.shutdownAfterJobFinishes: true, "
        "or KubeRay can't suspend it while it waits for quota"
    ),
    "!has(object.spec.clusterSelector) || size(object.spec.clusterSelector) == 0": (
        "a queued RayJob brings its own cluster: remove spec.clusterSelector, or the queue label"
    ),
    "!has(object.spec.deletionStrategy) || !has(object.spec.deletionStrategy.deletionRules)": (
        "a queued RayJob can't have spec.deletionStrategy.deletionRules: its cluster goes when the job ends"
    ),
}


class AdmissionPolicies(Component):
    """Ray objects that carry a queue's name are suspended at creation, until the engine admits them;
    those that could not be suspended are refused with the reason."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("AdmissionPolicies", name, opts)
        suspend = MutatingAdmissionPolicy(
            SUSPEND, metadata=ObjectMetaArgs(name=SUSPEND), spec=_suspend(), opts=self.child()
        )
        MutatingAdmissionPolicyBinding(
            SUSPEND,
            metadata=ObjectMetaArgs(name=SUSPEND),
            spec=MutatingAdmissionPolicyBindingSpecArgs(policy_name=SUSPEND),
            opts=self.child(depends_on=[suspend]),
        )
        suspendable = ValidatingAdmissionPolicy(
            SUSPENDABLE, metadata=ObjectMetaArgs(name=SUSPENDABLE), spec=_suspendable(), opts=self.child()
        )
        ValidatingAdmissionPolicyBinding(
            SUSPENDABLE,
            metadata=ObjectMetaArgs(name=SUSPENDABLE),
            spec=ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=SUSPENDABLE, validation_actions=["Deny"]
            ),
            opts=self.child(depends_on=[suspendable]),
        )
        self.register_outputs({"names": [SUSPEND, SUSPENDABLE]})


def _queued_on_creation(*resources: str) -> MatchResourcesArgs:
    queued = LabelSelectorArgs(
        match_expressions=[LabelSelectorRequirementArgs(key=QUEUE_LABEL, operator="Exists")]
    )
    created = NamedRuleWithOperationsArgs(
        api_groups=["ray.io"], api_versions=["v1"], operations=["CREATE"], resources=list(resources)
    )
    return MatchResourcesArgs(object_selector=queued, resource_rules=[created])


def _suspendable() -> ValidatingAdmissionPolicySpecArgs:
    return ValidatingAdmissionPolicySpecArgs(
        match_constraints=_queued_on_creation("rayjobs"),
        match_conditions=[MatchConditionArgs(name="no-controller-owns-it", expression=NOT_OWNED)],
        validations=[
            ValidationArgs(expression=rule, message=message, reason="Invalid")
            for rule, message in SUSPENDABLE_RULES.items()
        ],
        failure_policy="Fail",
    )


def _suspend() -> MutatingAdmissionPolicySpecArgs:
    return MutatingAdmissionPolicySpecArgs(
        match_constraints=_queued_on_creation("rayjobs", "rayclusters"),
        match_conditions=[MatchConditionArgs(name="no-controller-owns-it", expression=NOT_OWNED)],
        mutations=[
            MutationArgs(
                patch_type="ApplyConfiguration",
                apply_configuration=ApplyConfigurationArgs(
                    expression="Object{spec: Object.spec{suspend: true}}"
                ),
            )
        ],
        # Better no job than one that runs past its queue.
        failure_policy="Fail",
        reinvocation_policy="Never",
    )
