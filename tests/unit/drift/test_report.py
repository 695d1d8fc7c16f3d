"""The report of drift: lines, JSON, exit codes."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drift import report as module
from drift.comparison import Drift
from drift.deployed import Declared, Deployed
from drift.report import DRIFTED, report
from preview.plan import ResourceChange

QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
URN = f"urn:pulumi:s::p::{QUEUE}::team-b"


def drift(op: str = "update", declared: Declared | None = None, **fields: Any) -> Drift:
    change = ResourceChange(op, QUEUE, URN, note="by kubectl-edit", **fields)
    return Drift(SimpleNamespace(), change, {}, declared)  # type: ignore[arg-type]  # no API server


STOPPED = drift(
    declared=Declared(URN, QUEUE, {}, "", ""),
    before={"spec": {"stopPolicy": "Hold"}},
    after={"spec": {"stopPolicy": "None"}},
)
EXTRA = drift("delete", before={"spec": {"cohortName": "ml"}})


def report_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *rounds: list[Drift],
    refused: tuple[str, ...] = (),
    **options: Any,
) -> tuple[int, list[str]]:
    """Returns the exit code and the lines, for clusters in which these are found one after the other."""
    finds = iter(rounds)

    class Clusters:
        def __init__(self, *_: object) -> None: ...

        def __enter__(self) -> "Clusters":
            return self

        def __exit__(self, *_: object) -> None: ...

        def drift(self) -> list[Drift]:
            return next(finds)

        def fix(self, drifts: list[Drift]) -> list[str]:
            return list(refused)

    monkeypatch.setattr(module, "Clusters", Clusters)
    code = report(Deployed(), {}, revert="make drift FIX=1", **options)
    assert list(finds) == []
    return code, [line for line in capsys.readouterr().out.splitlines() if line[-2:] != " s"]


def test_no_drift(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = report_lines(monkeypatch, capsys, [], fix=False)
    assert code == 0
    assert lines[-1] == "0 objects compared with what was deployed: nothing was changed by hand"


def test_drift_is_shown_as_the_changes_that_revert_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, lines = report_lines(monkeypatch, capsys, [STOPPED, EXTRA], fix=False, file=tmp_path / "drift.json")
    assert code == DRIFTED
    assert "~ ClusterQueue team-b  spec.stopPolicy: Hold → None (by kubectl-edit)" in lines
    assert lines[-1].endswith(
        "to revert changes made by hand: 1 to delete, 1 to update; make drift FIX=1 does it"
    )
    entries = json.loads((tmp_path / "drift.json").read_text())["drift"]
    assert entries[0] == {
        "operation": "update",
        "kind": "ClusterQueue",
        "name": "team-b",
        "urn": URN,
        "note": "by kubectl-edit",
        "fields": [{"path": "spec.stopPolicy", "live": "Hold", "declared": "None"}],
        "reverted": False,
    }
    assert (entries[1]["operation"], entries[1]["urn"]) == ("delete", None)


@pytest.mark.parametrize(
    ("remaining", "refused", "code", "output"),
    [
        pytest.param([], (), 0, "1 to update; done", id="all of it"),
        pytest.param([STOPPED], ("cannot revert it",), DRIFTED, "1 to update; 1 left", id="not all of it"),
    ],
)
def test_fix_tells_what_is_left(
    remaining: list[Drift],
    refused: tuple[str, ...],
    code: int,
    output: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report, lines = report_lines(monkeypatch, capsys, [STOPPED], remaining, fix=True, refused=refused)
    assert report == code
    assert lines[-1].endswith(output)
    assert [line for line in lines if line in refused] == list(refused)
