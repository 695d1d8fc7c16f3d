"""Errors, warnings and counts of the engine's event log."""

import json
from pathlib import Path
from typing import Any

from preview.engine_events import counts, errors, policies_passed, read_events, warnings


def diagnostic(severity: str, message: str) -> dict[str, Any]:
    return {"diagnosticEvent": {"severity": severity, "message": message}}


def judged(level: str, message: str) -> dict[str, Any]:
    urn = "urn:pulumi:dev::muster::gcp:storage/bucket:Bucket::logs"
    violation = {
        "enforcementLevel": level,
        "policyName": "CKV_GCP_29",
        "message": message,
        "resourceUrn": urn,
    }
    return {"policyEvent": violation}


def test_incomplete_last_line_is_skipped(tmp_path: Path) -> None:
    log = tmp_path / "events"
    log.write_text(json.dumps(diagnostic("info", "hello")) + '\n{"diagn')
    assert read_events(log) == [diagnostic("info", "hello")]
    assert read_events(tmp_path / "none") == []


def test_errors_are_reported_once_without_the_engines_generic_ones() -> None:
    events = [
        diagnostic("error", "no such zone\n"),
        diagnostic("error", "no such zone"),
        diagnostic("error", "preview failed"),
    ]
    assert errors([*events, diagnostic("warning", "mind the gap")]) == ["no such zone"]


ENDED = (
    "Detected that /plugins/resource-gcp exited prematurely. \n"
    "       This is *always* a bug in the provider. Please report the issue to the provider author.\n"
    "       To assist with debugging we have dumped the STDOUT and STDERR streams of the plugin:"
)


def test_a_plugin_that_ended_silently_hides_no_other_error() -> None:
    """An engine on a busy machine may not announce its end in time."""
    crashed = f"{ENDED}\nMemoryError"
    assert errors([diagnostic("error", f"{ENDED}\n"), diagnostic("error", "no such zone")]) == [
        "no such zone"
    ]
    assert errors([diagnostic("error", f"{ENDED}\n")]) == []
    assert errors([diagnostic("error", crashed)]) == [crashed]


def test_repeated_warnings_are_reported_once_with_their_number() -> None:
    events = [
        diagnostic("warning", "not known during preview\n"),
        diagnostic("error", "no such zone"),
        diagnostic("warning", "not known during preview\n"),
        judged("advisory", "uniform access\nset it"),
        judged("mandatory", "public"),
    ]
    assert warnings(events) == (
        "not known during preview (2 times)",
        "CKV_GCP_29: logs: uniform access\nset it",
    )


def test_counts_exclude_unchanged_resources() -> None:
    assert counts([{"summaryEvent": {"resourceChanges": {"create": 2, "same": 5}}}]) == {"create": 2}
    assert counts([]) == {}


def checked(*passed: str) -> dict[str, Any]:
    return {"policyAnalyzeSummaryEvent": {"passed": list(passed)}}


def test_policies_pass_if_no_resource_violates_them() -> None:
    of_stack = {"policyAnalyzeStackSummaryEvent": {"passed": ["a-stack-rule"]}}
    events = [{"policyLoadEvent": {}}, checked("a", "CKV_GCP_29"), checked("a", "b"), of_stack]
    assert policies_passed([*events, judged("advisory", "advice")]) == 3
    assert policies_passed([checked("a")]) is None  # no pack was loaded
