"""Recording Kueue's cases: the calls in its tests, the neutral form, and what is said if it is impossible."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.recorder import neutral, record
from tests.conformance.recorder.place import Place, PlaceError, with_import
from tools.toolchain.steps import StepError

SOURCE = """package queue

import (
	"testing"
)

func TestOther(t *testing.T) {
}

func TestQueue(t *testing.T) {
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got != tc.want {
				t.Error("differs")
			}
		})
	}
}
"""
PLACE = Place(
    "pkg/queue_test.go", "TestQueue", input={"workloads": "tc.workloads"}, expect={"head": "tc.want"}
)


def test_the_call_ends_the_subtest() -> None:
    before, _, after = PLACE.insert(SOURCE).partition(PLACE.call() + "\n")

    assert before.endswith('\t\t\t\tt.Error("differs")\n\t\t\t}\n')
    assert after.startswith("\t\t})\n")


def test_the_call_comes_before_a_line() -> None:
    place = Place(PLACE.file, "TestQueue", before="if got != tc.want")
    before, _, after = place.insert(SOURCE).partition(place.call() + "\n")

    assert before.endswith("func(t *testing.T) {\n")
    assert after.startswith("\t\t\tif got")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        pytest.param(Place("f_test.go", "TestGone"), "f_test.go has no function TestGone", id="no function"),
        pytest.param(
            Place("f_test.go", "TestOther"), "TestOther has 0 subtests, expected one", id="no subtest"
        ),
        pytest.param(
            Place("f_test.go", "TestQueue", before="absent"),
            "'absent' 0 times, expected once",
            id="no such line",
        ),
        pytest.param(
            Place("f_test.go", "TestQueue", before="tc"),
            "'tc' 2 times, expected once",
            id="an ambiguous line",
        ),
        pytest.param(
            Place("f_test.go", "TestQueue", changes={"for _, tc": "for name, tc"}),
            "'for _, tc' 0 times, expected once",
            id="nothing to change",
        ),
    ],
)
def test_a_test_that_kueue_has_changed_is_named(place: Place, message: str) -> None:
    with pytest.raises(PlaceError, match=message):
        place.insert(SOURCE)


def test_a_file_without_imports_is_named() -> None:
    with pytest.raises(PlaceError, match="has no import block"):
        with_import("package queue\n", "pkg/queue_test.go")


def test_a_missing_file_of_kueue_is_named(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    with pytest.raises(PlaceError, match=r"pkg/queue_test\.go is missing"):
        record.add_recorder(tmp_path, [PLACE])


def test_each_suite_has_one_place() -> None:
    suites = [suite for place in record.PLACES for suite in place.all_suites]

    assert len(suites) == len(set(suites))


def test_without_go_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_go() -> None:
        raise StepError("no Go on PATH", try_this="install Go")

    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    monkeypatch.setattr(record, "find_go", no_go)

    assert main([]) == 1
    printed = capsys.readouterr().out
    assert "there are no cases of Kueue to replay" in printed
    assert "why: no Go on PATH" in printed
    assert "install Go" in printed
    assert record.cached_cases() is None


def test_times_are_moved_to_the_time_of_cases() -> None:
    recorded = {"at": ["2030-05-01T10:00:01Z"], "message": "at 2030-05-01T10:00:01Z"}
    moved = {"at": ["2026-01-01T12:00:01Z"], "message": "at 2030-05-01T10:00:01Z"}

    assert neutral.shifted(recorded, "2030-05-01T10:00:00Z") == moved


def test_a_compressed_assignment_is_expanded() -> None:
    slices = [
        {
            "domainCount": 2,
            "valuesPerLevel": [
                {"universal": "b1"},
                {"individual": {"prefix": "x", "roots": ["1", "2"], "suffix": ".net"}},
            ],
            "podCounts": {"individual": [3, 4]},
        },
        {
            "domainCount": 1,
            "valuesPerLevel": [{"universal": "b2"}, {"universal": "x3"}],
            "podCounts": {"universal": 5},
        },
    ]

    assert neutral.expanded({"levels": ["block", "host"], "slices": slices}) == {
        "levels": ["block", "host"],
        "domains": [
            {"values": ["b1", "x1.net"], "count": 3},
            {"values": ["b1", "x2.net"], "count": 4},
            {"values": ["b2", "x3"], "count": 5},
        ],
    }


def _workload(name: str, **conditions: str) -> Mapping[str, Any]:
    listed = [
        {"type": kind, "status": status, "reason": kind, "message": "why"}
        for kind, status in conditions.items()
    ]
    admission = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 1}]}
    return {
        "metadata": {"namespace": "ns", "name": name},
        "status": {"conditions": listed, "admission": admission},
    }


def test_a_summary_has_what_the_cycle_changed() -> None:
    reserved, why = {"QuotaReserved": "True"}, {"message": "why"}
    before = [
        _workload("held", **reserved),
        _workload("victim", **reserved),
        _workload("new"),
        _workload("waits"),
    ]
    after = [
        _workload("held", **reserved),
        _workload("victim", **reserved, Evicted="True", Preempted="True"),
        _workload("new", **reserved, Admitted="True"),
        _workload("waits", QuotaReserved="False"),
    ]

    summary = neutral.summary(before, after)

    assert list(summary["newlyQuotaReserved"]) == ["ns/new"]
    assert summary["newlyQuotaReserved"]["ns/new"]["admitted"] is True
    assert summary["preempted"] == [{"workload": "ns/victim", "reason": "Preempted", **why}]
    assert summary["evicted"] == [{"workload": "ns/victim", "reason": "Evicted", **why}]
    assert summary["quotaReservedFalse"] == {"ns/waits": {"reason": "QuotaReserved", **why}}


def test_nulls_and_kinds_of_objects_are_dropped() -> None:
    recorded = {
        "kind": "Workload",
        "metadata": {"name": "w", "creationTimestamp": None, "ownerReferences": [{"kind": "Job"}]},
        "status": {"admission": None},
    }

    assert neutral.cleaned(recorded) == {"metadata": {"name": "w", "ownerReferences": [{"kind": "Job"}]}}
