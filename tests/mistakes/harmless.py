"""Mistakes that change nothing in the plan, with the reason why no rule can refuse them.

Each is a pattern for the stack and the place of every difference, as `dev muster:pools.nodes.max`, without
indexes.
"""

import re

# Lists whose entries are declared or read each by itself.
_UNORDERED = r"muster:(pools|tenants|observability.*|queues\.(cohorts|clusterQueues))"
HARMLESS: dict[str, str] = {
    r"local muster:pools\.nodes\..*": "the sandbox reads it: a plan has no pools of an existing cluster",
    r"\w+ muster:environment": "it selects the policies, which the plan passes",
    rf"\w+ {_UNORDERED} \(order\)": "the order of this list means nothing",
    r"\w+ muster:kuberay\.version": "the stack files write the version that is the default",
    r"local muster:(kai|kueue|kuberay)(\..*)?": "the operator is installed by the sandbox, not by the plan",
    r"\w+ muster:forecast(\..*)?": "forecasts read it: another trace or limit may be intended",
}


def reason(stack: str, places: list[str]) -> str | None:
    """Returns why differences at these places are harmless; None if one of them is not known to be."""
    reasons = [
        next((why for pattern, why in HARMLESS.items() if re.fullmatch(pattern, f"{stack} {place}")), None)
        for place in places
    ]
    return reasons[0] if reasons and None not in reasons else None
