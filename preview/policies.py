"""The policy pack (policies/) for the CLI, and its violations as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools.toolchain.paths import CHECKOUT

PACK = CHECKOUT / "policies"


def violations(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns a text per violated mandatory rule: id and requirement, then each resource and its remedy."""
    by_rule: dict[str, list[str]] = {}
    for event in events:
        violation = event.get("policyEvent", {})
        if violation.get("enforcementLevel") != "mandatory":
            continue
        # The pack writes the requirement on the first line and the remedy for this resource on the next.
        required, _, remedy = violation["message"].strip().partition("\n")
        resources = by_rule.setdefault(f"{violation['policyName']}: {required}", [])
        resources.append(f"  {_resource(violation['resourceUrn'])}: {remedy}")
    return ["\n".join([rule, *resources]) for rule, resources in by_rule.items()]


def _resource(urn: str) -> str:
    """Returns type and name; a URN is urn:pulumi:<stack>::<project>::<parent type>$<type>::<name>."""
    _, _, kind_and_name = urn.split("::", 2)
    kind, _, name = kind_and_name.partition("::")
    return f"{kind.rpartition('$')[2]} {name}"
