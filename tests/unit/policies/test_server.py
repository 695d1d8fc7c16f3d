"""Policies that the pack's server asks about a resource."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel

from policies.pack import policies
from policies.rule import Resource, Violation, resource_rule, stack_rule
from policies.rules import RULES
from policies.server import EnvironmentAnalyzer

POOL = "gcp:container/nodePool:NodePool"
BUCKET = "gcp:storage/bucket:Bucket"


@pytest.fixture
def analyzer(monkeypatch: pytest.MonkeyPatch) -> EnvironmentAnalyzer:
    monkeypatch.setattr(EnvironmentAnalyzer, "rules", {rule.id: rule for rule in RULES})
    return EnvironmentAnalyzer("muster", "1.0.0", policies(RULES), EnforcementLevel.MANDATORY)


def request(token: str) -> Any:
    return proto.AnalyzeRequest(type=token, name="a", urn=f"urn:pulumi:s::p::{token}::a")


def test_policies_of_the_kind_are_asked(analyzer: EnvironmentAnalyzer) -> None:
    violated = {diagnostic.policyName for diagnostic in analyzer.Analyze(request(POOL), None).diagnostics}
    assert "cis-gke-5.4.1-metadata-server" in violated
    names = [policy.name for policy in analyzer._of_kind(POOL)]
    assert violated <= set(names)
    assert "cis-gke-4.1.3-no-wildcards" not in names


def test_all_policies_that_read_a_kind_are_asked(analyzer: EnvironmentAnalyzer) -> None:
    for rule in RULES:
        for kind in getattr(rule, "kinds", ()):
            kind = kind.replace("*", "iap/a:A").replace("[Aa]", "A").replace("[Mm]", "M")
            group, _, name = kind.rpartition(":")
            versioned = f"{group}/v1:{name}" if kind.startswith("kubernetes:") else kind
            assert rule.id in [policy.name for policy in analyzer._of_kind(versioned)]


def test_resources_that_only_rules_of_the_stack_read_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine passes their properties to rules of resources only."""
    calls: list[Any] = []

    @resource_rule("of-pools", POOL, source="here", severity="low")
    def of_pools(pool: Resource) -> Iterator[str]:
        """Pools are pools."""
        yield from ()

    @stack_rule("of-all", source="here", severity="low")
    def of_all(resources: Sequence[Resource]) -> Iterator[Violation]:
        """Everything is something."""
        calls.extend(each.props["location"] for each in resources)
        yield from ()

    rules = (of_pools, of_all)
    monkeypatch.setattr(EnvironmentAnalyzer, "rules", {rule.id: rule for rule in rules})
    analyzer = EnvironmentAnalyzer("muster", "1.0.0", policies(rules), EnforcementLevel.MANDATORY)
    bucket = request(BUCKET)
    bucket.properties["location"] = "US"
    analyzer.Analyze(bucket, None)
    listed = proto.AnalyzerResource(type=BUCKET, name="a", urn=bucket.urn)
    analyzer.AnalyzeStack(proto.AnalyzeStackRequest(resources=[listed]), None)  # type: ignore[no-untyped-call]
    assert calls == ["US"]


def test_nothing_is_remediated_unless_it_is_enabled(analyzer: EnvironmentAnalyzer) -> None:
    assert analyzer.Remediate(request(BUCKET), None) == proto.RemediateResponse()
