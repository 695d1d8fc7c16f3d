"""The policy pack (policies/) as the CLI runs it, and its findings as users read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.toolchain.paths import CHECKOUT

PACK = CHECKOUT / "policies"


def violations(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the engine stopped at, a text a rule: its id and what it asks, then resources and what to do."""
    found: dict[str, list[str]] = {}
    for event in events:
        violation = event.get("policyEvent", {})
        if violation.get("enforcementLevel") != "mandatory":
            continue
        # The pack puts what is asked on the first line, what to do about this resource on the next.
        asked, _, remedy = violation["message"].strip().partition("\n")
        resources = found.setdefault(f"{violation['policyName']}: {asked}", [])
        resources.append(f"  {_resource(violation['resourceUrn'])}: {remedy}")
    return ["\n".join([rule, *resources]) for rule, resources in found.items()]


def _resource(urn: str) -> str:
    """Type and name: a URN is urn:pulumi:<stack>::<project>::<parent type>$<type>::<name>."""
    _, _, kind_and_name = urn.split("::", 2)
    kind, _, name = kind_and_name.partition("::")
    return f"{kind.rpartition('$')[2]} {name}"
