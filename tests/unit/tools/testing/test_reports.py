"""Tests of what the reports of a run say."""

from pathlib import Path

import pytest

from tools.testing.reports import MESSAGE_MAX, Counts, read_counts, read_failures, read_outcomes

REPORT = """<testsuites><testsuite tests="6" failures="1" errors="2" skipped="1">
<testcase classname="tests.unit.test_a" name="test_passes[1]"/>
<testcase classname="tests.unit.test_a" name="test_fails"><failure message="no&#10;because"/></testcase>
<testcase classname="tests.unit.test_a" name="test_broken"><error message="fixture"/></testcase>
<testcase classname="tests.unit.test_a" name="test_skipped"><skipped message="why"/></testcase>
<testcase classname="tests.unit.test_a" name="test_broken_at_its_end"><error message="fixture"/></testcase>
<testcase classname="tests.unit.test_a" name="test_broken_at_its_end"/>
</testsuite></testsuites>"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    return report


def test_counts_are_read_from_the_report_and_errors_are_failures(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_text(
        '<testsuites><testsuite name="pytest" tests="10" failures="1" errors="2" skipped="3"/></testsuites>'
    )
    assert read_counts(report) == Counts(passed=4, failed=3, skipped=3)
    assert str(Counts(1, 2, 3) + Counts(1, 0, 0)) == "2 passed, 2 failed, 3 skipped"


def test_failures_have_the_first_line_of_their_errors(report: Path) -> None:
    assert read_failures(report) == [
        "tests.unit.test_a::test_fails: no",
        "tests.unit.test_a::test_broken: fixture",
        "tests.unit.test_a::test_broken_at_its_end: fixture",
    ]


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT.replace("fixture", "f" * 1000))
    assert {len(failure.split(": ")[1]) for failure in read_failures(report)} == {2, MESSAGE_MAX}


def test_a_report_says_what_each_test_did(report: Path) -> None:
    assert read_outcomes(report) == {
        "tests.unit.test_a::test_passes[1]": "passed",
        "tests.unit.test_a::test_fails": "failed",
        "tests.unit.test_a::test_broken": "failed",
        "tests.unit.test_a::test_skipped": "skipped",
        "tests.unit.test_a::test_broken_at_its_end": "failed",
    }
