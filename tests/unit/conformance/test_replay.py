"""Reading and judging cases: their outcomes, and contradictions to docs/conformance.md."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.case import Case, NotApplicable, load
from tests.conformance.replay import FAILED, NOT_APPLICABLE, PASSED, listed, replay, show, unexpected


def case(name: str = "one", suite: str = "TestSuite") -> Case:
    return Case(suite, name, input={}, expect={}, config={}, gates={}, now_ms=0)


def passes(_case: Case) -> None:
    pass


def differs(_case: Case) -> None:
    raise AssertionError("wanted 1, got 2")


def stumbles(_case: Case) -> None:
    raise KeyError("spec")


def does_not_apply(_case: Case) -> None:
    raise NotApplicable("no such feature")


@pytest.mark.parametrize(
    ("how", "outcome", "why"),
    [
        pytest.param(passes, PASSED, "", id="passed"),
        pytest.param(differs, FAILED, "wanted 1, got 2", id="another answer"),
        pytest.param(stumbles, FAILED, "KeyError: 'spec'", id="an error is no pass"),
        pytest.param(does_not_apply, NOT_APPLICABLE, "no such feature", id="not applicable"),
    ],
)
def test_a_replay_has_an_outcome_and_a_reason(how: Any, outcome: str, why: str) -> None:
    result = replay(case(), {"TestSuite": how})
    assert (result.outcome, why in result.why) == (outcome, True)


def test_a_suite_without_a_replay_does_not_apply() -> None:
    assert replay(case(suite="TestOther"), {"TestSuite": passes}).outcome == NOT_APPLICABLE


PAGE = """
| case | why |
|---|---|
| `TestSuite: one` | a reason |
"""


@pytest.mark.parametrize(
    ("how", "page", "wrong"),
    [
        pytest.param(passes, "", [], id="passes"),
        pytest.param(differs, PAGE, [], id="fails as the page says"),
        pytest.param(
            differs,
            "",
            ["TestSuite: one: fails, and conformance.md does not list it"],
            id="fails unexplained",
        ),
        pytest.param(
            passes, PAGE, ["TestSuite: one: passes, and conformance.md lists it as failing"], id="out of date"
        ),
    ],
)
def test_contradictions_to_the_page_are_reported(
    how: Any, page: str, wrong: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "page.md"
    file.write_text(page)
    assert unexpected([replay(case(), {"TestSuite": how})], listed(file)) == wrong


def test_results_are_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    how = {"TestA": passes, "TestB": differs}
    show([replay(case(suite="TestA"), how), replay(case(suite="TestB"), how)], details=False)
    assert capsys.readouterr().out.splitlines() == [
        "failed: TestB: one",
        "  wanted 1, got 2",
        "suite  passed  failed  not applicable",
        "TestA       1       0               0",
        "TestB       0       1               0",
        "1 passed, 1 failed, 0 not applicable",
    ]


def test_cases_with_refused_objects_are_listed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    twice = {"workloads": [{"metadata": {"name": "w"}, "spec": {"podSets": [{"name": "a"}, {"name": "a"}]}}]}
    invalid = replay(replace(case(), input=twice), {"TestSuite": differs})
    assert unexpected([invalid], set()) == []
    show([invalid], details=False)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "0 passed, 0 failed, 0 not applicable",
        "1 not counted, as Kueue's webhooks refuse one of their objects:",
        "  failed: TestSuite: one: Workload w: pod set a twice",
    ]


def test_a_missing_folder_of_cases_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "none"
    assert main(["--cases", str(folder)]) == 1
    assert (
        capsys.readouterr().out == f"no cases at {folder}; expected a folder with a folder for each suite\n"
    )


def write(folder: Path, data: Mapping[str, Any]) -> Path:
    file = folder / "TestSuite" / "one.json"
    file.parent.mkdir()
    file.write_text(json.dumps(data))
    return file


def test_gates_of_a_case_are_those_that_all_runs_share(tmp_path: Path) -> None:
    runs = [
        {"gatesDifferingFromDefault": {"A": True, "Detail": True}},
        {"gatesDifferingFromDefault": {"A": True}},
    ]
    data = {"suite": "TestSuite", "name": "one", "input": {}, "expect": {}, "featureGates": {"B": False}}
    write(tmp_path, {**data, "runs": runs})
    assert [case.gates for case in load(tmp_path)] == [{"A": True, "B": False}]


def test_an_invalid_file_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, {"suite": "TestSuite"})
    with pytest.raises(ValueError, match="no case: KeyError: 'name'") as error:
        list(load(tmp_path))
    assert str(error.value).startswith(str(file))
