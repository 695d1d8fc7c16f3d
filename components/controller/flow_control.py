"""The API server's priority levels for the controller's requests (Kubernetes, "API Priority and Fairness").

Without these, they share a level with the requests of all ServiceAccounts: tenants' programs that flood the
API server would delay admissions, and renewals of the Lease until it is lost.
"""

from collections.abc import Callable

import pulumi
from pulumi_kubernetes.flowcontrol.v1 import (
    FlowDistinguisherMethodArgs,
    FlowSchema,
    FlowSchemaSpecArgs,
    PolicyRulesWithSubjectsArgs,
    PriorityLevelConfigurationReferenceArgs,
    ResourcePolicyRuleArgs,
    ServiceAccountSubjectArgs,
    SubjectArgs,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.controller.pod import LABELS, NAME, NAMESPACE

ALL = ["*"]
LEASE = ResourcePolicyRuleArgs(
    api_groups=["coordination.k8s.io"],
    resources=["leases"],
    verbs=["get", "create", "patch"],
    namespaces=[NAMESPACE],
)
EVERYTHING = ResourcePolicyRuleArgs(
    api_groups=ALL, resources=ALL, verbs=ALL, namespaces=ALL, cluster_scope=True
)
# The API server's own have precedence 100 for leader elections of kube-system, 9000 for all ServiceAccounts.
SCHEMAS = (
    ("muster-leader-election", "leader-election", 200, LEASE),
    (NAME, "workload-high", 1000, EVERYTHING),
)


def flow_schemas(
    named: Callable[[str], str], options: Callable[[], pulumi.ResourceOptions]
) -> list[pulumi.Resource]:
    """Declares the FlowSchemas; `named` and `options` make the names and options of a component's
    children."""
    subject = SubjectArgs(
        kind="ServiceAccount",
        service_account=ServiceAccountSubjectArgs(name=NAME, namespace=NAMESPACE),
    )
    return [
        FlowSchema(
            named(name),
            metadata=ObjectMetaArgs(name=name, labels=LABELS),
            spec=FlowSchemaSpecArgs(
                priority_level_configuration=PriorityLevelConfigurationReferenceArgs(name=level),
                matching_precedence=precedence,
                distinguisher_method=FlowDistinguisherMethodArgs(type="ByUser"),
                rules=[PolicyRulesWithSubjectsArgs(subjects=[subject], resource_rules=[rule])],
            ),
            opts=options(),
        )
        for name, level, precedence, rule in SCHEMAS
    ]
