"""The engine's event log: what it said while it worked, apart from the resources themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]

# What the engine says when others have said why.
_EMPTY_WORDS = frozenset({"", "preview failed", "update failed"})


def read_events(log: Path) -> list[Event]:
    """One JSON object a line; none when the engine failed before it started.

    The last line of an engine that was killed may be cut off.
    """
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def errors(events: Iterable[Event]) -> list[str]:
    """What the engine, the program and the providers reported as errors, each once."""
    messages = [text.removeprefix("Preview failed: ").strip() for text in _diagnostics(events, "error")]
    return list(dict.fromkeys(message for message in messages if message not in _EMPTY_WORDS))


def warnings(events: Iterable[Event]) -> tuple[str, ...]:
    """What the engine, the program, the providers and the policies warn of, each once."""
    counted: dict[str, int] = {}
    for text in [*_diagnostics(events, "warning"), *_advice(events)]:
        counted[text.strip()] = counted.get(text.strip(), 0) + 1
    return tuple(text if times == 1 else f"{text} ({times} times)" for text, times in counted.items())


def counts(events: Iterable[Event]) -> dict[str, int]:
    """Resources by op, without those that stay the same."""
    summaries = [event["summaryEvent"] for event in events if "summaryEvent" in event]
    found: Mapping[str, int] = summaries[-1]["resourceChanges"] if summaries else {}
    return {op: number for op, number in found.items() if op != "same"}


def _diagnostics(events: Iterable[Event], severity: str) -> Iterator[str]:
    for event in events:
        diagnostic = event.get("diagnosticEvent", {})
        if diagnostic.get("severity") == severity:
            yield diagnostic["message"]


def _advice(events: Iterable[Event]) -> Iterator[str]:
    """What policies say that do not stop anything."""
    for event in events:
        violation = event.get("policyEvent", {})
        if violation.get("enforcementLevel") == "advisory":
            name = violation.get("resourceUrn", "").rpartition("::")[2]
            yield f"{violation['policyName']}: {name}: {violation['message']}"
