"""Violated policies as text, grouped by rule."""

from typing import Any

from preview.engine_events import violations

CLUSTER = "gcp:container/cluster:Cluster"


def event(policy: str, name: str, message: str, level: str = "mandatory") -> dict[str, Any]:
    urn = f"urn:pulumi:prod::muster::muster:platform:Platform$muster:platform:GkeCluster${CLUSTER}::{name}"
    body = {
        "resourceUrn": urn,
        "policyName": policy,
        "message": f"{policy} is why.\n{message}\n",
        "enforcementLevel": level,
    }
    return {"sequence": 1, "policyEvent": body}


def test_violations_are_grouped_by_rule() -> None:
    events = [
        {"sequence": 0, "summaryEvent": {}},
        event("private-nodes", "one", "set it"),
        event("no-alpha", "one", "leave it out"),
        event("private-nodes", "two", "set it too"),
    ]
    assert violations(events) == [
        f"private-nodes: private-nodes is why.\n  {CLUSTER} one: set it\n  {CLUSTER} two: set it too",
        f"no-alpha: no-alpha is why.\n  {CLUSTER} one: leave it out",
    ]


def test_advisory_policies_are_not_violations() -> None:
    assert violations([event("private-nodes", "one", "set it", level="advisory")]) == []
