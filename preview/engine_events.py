"""Reads the engine's event log: errors, warnings, violations of policies, and counts."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]

# Messages of the engine that add nothing to the errors of the program and the providers.
_EMPTY_WORDS = frozenset({"", "preview failed", "update failed"})

# Reported of a plugin that has ended, or, on a busy machine, does not confirm within 5 s that it will. The
# plugin's output follows; if there is none, other errors explain the failure.
_UNANSWERED_END = re.compile(r"Detected that .* exited prematurely\..*of the plugin:\s*", re.DOTALL)


def read_events(log: Path) -> list[Event]:
    """Reads one JSON object per line; returns none if the engine failed before it started.

    The last line may be incomplete if the engine was killed.
    """
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def errors(events: Iterable[Event]) -> list[str]:
    """Returns the errors of the engine, the program and the providers, each once."""
    messages = [text.removeprefix("Preview failed: ").strip() for text in _diagnostics(events, "error")]
    informative = (message for message in messages if message not in _EMPTY_WORDS)
    return list(dict.fromkeys(message for message in informative if not _UNANSWERED_END.fullmatch(message)))


def warnings(events: Iterable[Event]) -> tuple[str, ...]:
    """Returns the warnings of the engine, the program, the providers and the policies, each once."""
    counted: dict[str, int] = {}
    for text in [*_diagnostics(events, "warning"), *_advice(events)]:
        counted[text.strip()] = counted.get(text.strip(), 0) + 1
    return tuple(text if times == 1 else f"{text} ({times} times)" for text, times in counted.items())


def policies_passed(events: Iterable[Event]) -> int | None:
    """Returns the number of policies that were checked and violated by no resource; None without a pack."""
    events = list(events)
    summaries = [
        event[name]
        for event in events
        for name in ("policyAnalyzeSummaryEvent", "policyAnalyzeStackSummaryEvent")
        if name in event
    ]
    if not any("policyLoadEvent" in event for event in events):
        return None
    passed = {policy for summary in summaries for policy in summary.get("passed") or ()}
    violated = {event["policyEvent"]["policyName"] for event in events if "policyEvent" in event}
    return len(passed - violated)


def counts(events: Iterable[Event]) -> dict[str, int]:
    """Returns the number of resources by op, without unchanged ones."""
    summaries = [event["summaryEvent"] for event in events if "summaryEvent" in event]
    changes: Mapping[str, int] = summaries[-1]["resourceChanges"] if summaries else {}
    return {op: number for op, number in changes.items() if op != "same"}


def _diagnostics(events: Iterable[Event], severity: str) -> Iterator[str]:
    for event in events:
        diagnostic = event.get("diagnosticEvent", {})
        if diagnostic.get("severity") == severity:
            yield diagnostic["message"]


def _advice(events: Iterable[Event]) -> Iterator[str]:
    """Yields the violations of advisory policies."""
    for event in events:
        violation = event.get("policyEvent", {})
        if violation.get("enforcementLevel") == "advisory":
            name = violation.get("resourceUrn", "").rpartition("::")[2]
            yield f"{violation['policyName']}: {name}: {violation['message']}"


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
