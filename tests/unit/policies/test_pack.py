"""Rules as policies: reasons, exemptions, unknown values, remediation."""

from typing import Any

import pytest
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import _NotApplicableError
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from policies.pack import policies
from policies.rule import Resource
from policies.rules import RULES, capacity, cluster, costs, node_pools, queues, workloads
from tests.unit.policies.builders import (
    UNKNOWN,
    deployment,
    flavor,
    l4_pool,
    pool,
    queue,
    resource,
)
from tests.unit.policies.builders import cluster as a_cluster

BUCKET = "gcp:storage/bucket:Bucket"
PUBLIC = a_cluster(privateClusterConfig=None)
MAKE_PRIVATE = "set privateClusterConfig.enablePrivateNodes to true: it is absent"


def options(protect: bool) -> PolicyResourceOptions:
    return PolicyResourceOptions(protect, [], None, [], PolicyCustomTimeouts(0, 0, 0), [])


def shown(target: Resource, config: dict[str, Any] | None = None) -> ResourceValidationArgs:
    """A resource as the engine passes it to a resource policy."""
    properties = unknown_checking_proxy(dict(target.props))
    return ResourceValidationArgs(
        target.type, properties, target.urn, target.name, options(target.protect), None, config
    )


class Engine:
    """Runs the policies of some rules as the engine does: resources first, then the stack."""

    def __init__(self, *rules: Any, config: dict[str, Any] | None = None) -> None:
        self.policies = policies(rules)
        self.config = config
        self.reported: list[tuple[str, str | None]] = []

    def _report(self, message: str, urn: str | None = None) -> None:
        self.reported.append((message, urn))

    def judge(self, *resources: Resource) -> list[tuple[str, str | None]]:
        for policy in self.policies:
            for target in resources:
                if isinstance(policy, ResourceValidationPolicy):
                    policy.validate(shown(target, self.config), self._report)
        return self.reported

    def judge_stack(self, *resources: Resource) -> list[tuple[str, str | None]]:
        """Passes the empty objects that stack policies get while the cluster does not exist."""
        empty = unknown_checking_proxy({})
        stack = [
            PolicyResource(target.type, empty, target.urn, target.name, options(False), None, None, [], {})
            for target in resources
        ]
        for policy in self.policies:
            if isinstance(policy, StackValidationPolicy):
                policy.validate(StackValidationArgs(stack, self.config), self._report)
        return self.reported


def remediated(config: dict[str, Any], target: Resource) -> Any:
    (policy,) = policies([costs.cost_labels])
    assert isinstance(policy, ResourceValidationPolicy)
    return policy.remediate(shown(target, config))


def test_every_rule_is_a_policy_with_description_and_source() -> None:
    for rule, policy in zip(RULES, policies(RULES), strict=True):
        assert policy.name == rule.id
        assert policy.description == f"{rule.description} ({rule.source})"
        assert "\n" not in policy.description
        has_remedy = isinstance(policy, ResourceValidationPolicy) and policy.has_remediation()
        assert has_remedy is (rule is costs.cost_labels)


def test_only_resources_of_the_rules_kinds_are_checked() -> None:
    assert Engine(cluster.private_nodes).judge(PUBLIC, pool()) == [(MAKE_PRIVATE, None)]


def test_reason_for_a_level_is_shown() -> None:
    engine = Engine(cluster.private_nodes, config={"because": "no Cloud NAT"})
    assert engine.judge(PUBLIC) == [(f"{MAKE_PRIVATE} (in this environment: no Cloud NAT)", None)]


def test_resource_is_exempt_by_name_with_a_reason() -> None:
    exempt = {"exempt": {"ray": "moved next week"}}
    with pytest.raises(_NotApplicableError) as left_alone:
        Engine(cluster.private_nodes, config=exempt).judge(PUBLIC)
    assert left_alone.value.reason == "moved next week"
    other = {"exempt": {"l4": "moved next week"}}
    assert Engine(cluster.private_nodes, config=other).judge(PUBLIC) == [(MAKE_PRIVATE, None)]


def test_stack_rule_names_the_resource_and_allows_exemptions() -> None:
    stack = (l4_pool(), flavor(), queue())
    rules = (queues.queued_pool_has_checked_flavor, cluster.private_nodes)
    engine = Engine(*rules)
    engine.judge(*stack)
    ((message, urn),) = engine.judge_stack(*stack)
    assert message.endswith("pool l4 is queued")
    assert urn == "urn:pulumi:prod::muster::kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue::team-a"

    with_reason = Engine(*rules, config={"because": "a test"})
    with_reason.judge(*stack)
    assert with_reason.judge_stack(*stack)[0][0].endswith("is queued (in this environment: a test)")

    exempting = Engine(*rules, config={"exempt": {"team-a": "a test"}})
    exempting.judge(*stack)
    assert exempting.judge_stack(*stack) == []


def test_accounts_and_images_that_the_stack_creates_pass() -> None:
    engine = Engine(
        node_pools.node_service_account,
        workloads.images_are_pinned,
        workloads.images_are_from_allowed_registries,
        config={"environment": "prod", "registries": ["gcr.io/*"]},
    )
    assert engine.judge(pool(config={"serviceAccount": UNKNOWN}), deployment(UNKNOWN)) == []


def test_unknown_value_is_not_checked() -> None:
    """pulumi_policy turns it into a warning that names the rule."""
    with pytest.raises(UnknownValueError):
        Engine(capacity.deletion_protection).judge(a_cluster(deletionProtection=UNKNOWN))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, {"environment": "dev", "cost-center": "none"}),
        ({"environment": "test"}, {"environment": "test", "cost-center": "none"}),
        ({"environment": "test", "cost-center": "ml"}, None),
    ],
    ids=["both are missing", "existing labels stay", "nothing is missing"],
)
def test_missing_labels_are_added(labels: dict[str, str], expected: dict[str, str] | None) -> None:
    config = {"labels": {"environment": "dev", "cost-center": "none"}}
    result = remediated(config, resource(BUCKET, "logs", {"labels": labels, "location": UNKNOWN}))
    if expected is None:
        assert result is None
    else:
        assert result["labels"] == expected
        # Kept, and still unknown.
        with pytest.raises(UnknownValueError):
            result["location"]


def test_nothing_is_remediated_without_values_or_for_other_kinds() -> None:
    assert remediated({}, resource(BUCKET, "logs", {})) is None
    assert remediated({"labels": {"environment": "dev"}}, pool()) is None
