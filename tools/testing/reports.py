"""Reads the JUnit reports of pytest: counts, the outcome of each test, and error messages."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

FAILED = {"failure", "error"}
MESSAGE_MAX = 160


@dataclass(frozen=True)
class Counts:
    """Number of tests by outcome, in one or more layers."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_counts(report: Path) -> Counts:
    """Returns the counts of one JUnit report; an error, such as a broken fixture, counts as failed."""
    total = Counts()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, skipped = int(suite.get("tests", "0")), int(suite.get("skipped", "0"))
        failed = int(suite.get("failures", "0")) + int(suite.get("errors", "0"))
        total += Counts(tests - failed - skipped, failed, skipped)
    return total


def read_outcomes(report: Path) -> dict[str, str]:
    """Returns the outcome of each test in a JUnit report: passed, failed or skipped."""
    outcomes: dict[str, str] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        tags = {child.tag for child in case}
        outcome = "failed" if tags & FAILED else "skipped" if "skipped" in tags else "passed"
        name = _name(case)
        # A test whose teardown fails occurs twice in the report.
        if outcomes.get(name) != "failed":
            outcomes[name] = outcome
    return outcomes


def read_failures(report: Path) -> list[str]:
    """Returns the failed tests, each with the first MESSAGE_MAX characters of its error's first line."""
    failures = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        for child in case:
            if child.tag in FAILED:
                first_line, _, _ = child.get("message", "").partition("\n")
                failures.append(f"{_name(case)}: {first_line[:MESSAGE_MAX]}")
    return failures


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"
