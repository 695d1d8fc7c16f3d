"""Differences between Kueue and the core: which ones count, how they are shrunk and saved."""

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.differential import core_side, run
from tests.conformance.differential.found import Found, read, save
from tests.conformance.differential.outcome import Outcome
from tests.conformance.differential.run import INTERRUPTED, Counts, Player, Runs
from tests.conformance.differential.scenario import CLASSICAL, FAIR, Finish, Scenario
from tests.conformance.differential.shrink import ROUNDS_MAX, Disagreement, shrunk
from tests.conformance.differential.stage import Moment, Play
from tests.unit.conformance.differential import api_objects, as_served, found_difference, scenario, workload
from tools.toolchain.steps import Screen, StepError

ADMITTED = {"w0": {"main": "1 x cpu:f0"}}


@pytest.mark.parametrize(
    ("ours", "kueue", "lines"),
    [
        pytest.param(Outcome(ADMITTED, {}), Outcome(ADMITTED, {}), [], id="the same"),
        pytest.param(
            Outcome({}, {}), Outcome(ADMITTED, {}), ["w0: Muster waits, Kueue main 1 x cpu:f0"], id="waits"
        ),
        pytest.param(
            Outcome({"w0": {"main": "1 x cpu:f1"}}, {}),
            Outcome(ADMITTED, {}),
            ["w0: Muster main 1 x cpu:f1, Kueue main 1 x cpu:f0"],
            id="another flavor",
        ),
        pytest.param(
            Outcome({}, {"w0": "InClusterQueue"}),
            Outcome({}, {}),
            ["w0 preempted: Muster InClusterQueue, Kueue no"],
            id="a victim more",
        ),
        pytest.param(
            Outcome({}, {"w0": "InClusterQueue"}),
            Outcome({}, {"w0": "InCohortReclamation"}),
            ["w0 preempted: Muster InClusterQueue, Kueue InCohortReclamation"],
            id="for another reason",
        ),
    ],
)
def test_differences_name_the_workload_and_both_outcomes(
    ours: Outcome, kueue: Outcome, lines: list[str]
) -> None:
    assert ours.differences(kueue) == lines


@pytest.mark.parametrize(
    ("held", "cpu", "lines"),
    [
        pytest.param(ADMITTED, "1", [], id="it fits"),
        pytest.param({}, "0", [], id="it does not"),
        pytest.param({}, "1", ["w0: Muster main 1 x cpu:f0, Kueue waits"], id="the core differs"),
    ],
)
def test_the_core_decides_a_kept_step(held: dict[str, dict[str, str]], cpu: str, lines: list[str]) -> None:
    assert found_difference(held, cpu=cpu).differences() == lines


def test_a_kept_step_is_read_as_it_was_saved(tmp_path: Path) -> None:
    saved = found_difference(ADMITTED)
    file = tmp_path / "folder" / "case.json"
    save(saved, file)
    again = read(file)
    assert again == saved
    save(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("pod_sets", "flavors", "chooses"),
    [(1, 1, False), (2, 1, False), (1, 2, False), (2, 2, True)],
    ids=["neither", "several pod sets", "several flavors", "both"],
)
def test_gangs_with_a_choice_of_flavors_are_found(pod_sets: int, flavors: int, chooses: bool) -> None:
    assert found_difference({}, pod_sets=pod_sets, flavors=flavors).has_choosing_gang() is chooses


# A history differs if it has a Finish of place 7; at that step Kueue leaves the workload pending.
WRONG = Finish(7)


def play(of: Scenario, differs: bool = True) -> Play:
    played = Play(of, "ns", api_objects())
    for step in of.steps:
        played.before.append(Moment(played.objects, as_served(workload("w0"))))
        played.outcomes.append(Outcome({} if differs and step == WRONG else ADMITTED, {}))
    return played


Times = Callable[[int], bool]


def runs(differs: Times, asked: list[tuple[str, str, int]]) -> Runs:
    """Returns runs of which the n-th differs if `differs(n)`."""

    def played(mode: str, scenarios: Sequence[Scenario], run: str) -> list[Play]:
        asked.append((mode, run, len(scenarios)))
        return [play(scenario, differs(len(asked))) for scenario in scenarios]

    return Runs(played)


def test_modes_are_run_apart_and_runs_have_unique_names() -> None:
    asked: list[tuple[str, str, int]] = []
    counts = Counts()
    both = [scenario(Finish(0), mode=mode) for mode in (CLASSICAL, FAIR, CLASSICAL)]
    assert list(runs(lambda _: True, asked).compare(both, counts)) == []
    assert asked == [(CLASSICAL, "r1s", 2), (FAIR, "r2s", 1)]
    assert (counts.scenarios, counts.steps, counts.restless) == (3, 3, 0)


def test_the_first_step_that_differs_is_reported() -> None:
    differing = scenario(Finish(0), WRONG, WRONG)
    (disagreements,) = runs(lambda _: True, []).compare([differing], Counts())
    assert (disagreements.scenario, disagreements.step) == (differing, 1)
    assert disagreements.differences == ("w0: Muster main 1 x cpu:f0, Kueue waits",)


def test_a_core_that_fails_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_side, "ROUNDS_MAX", 0)
    (disagreements,) = runs(lambda _: False, []).compare([scenario(Finish(0))], Counts())
    assert disagreements.differences == ("Muster fails: AssertionError: nothing settled after 0 rounds",)


def test_recurring_differences_count() -> None:
    counts, asked = Counts(), list[tuple[str, str, int]]()
    (disagreements,) = runs(lambda _: True, asked).confirmed(
        [scenario(WRONG), scenario(Finish(0), name="two")], counts
    )
    assert (disagreements.scenario.name, counts.by_chance) == ("one", [])
    assert asked == [(CLASSICAL, "r1s", 2), (CLASSICAL, "r2s", 1)]
    assert counts.scenarios == 2, "repeated runs are not counted"


def test_differences_that_do_not_recur_are_named() -> None:
    counts = Counts()
    assert runs(lambda time: time == 1, []).confirmed([scenario(WRONG)], counts) == []
    assert counts.by_chance == ["one"]


def disagreement(of: Scenario) -> Disagreement | None:
    return next(iter(runs(lambda _: True, []).compare([of], Counts())), None)


def compare(scenarios: Sequence[Scenario]) -> list[Disagreement]:
    return list(runs(lambda _: True, []).compare(scenarios, Counts()))


def test_a_scenario_is_shrunk_to_what_it_needs() -> None:
    whole = disagreement(scenario(*(Finish(n) for n in range(4)), WRONG, Finish(0), Finish(1)))
    assert whole is not None
    (smallest,) = shrunk([whole], compare)
    assert smallest.scenario.steps == (WRONG,)
    assert smallest.scenario.objects == (), "the player of this test needs no objects"


def test_all_are_shrunk_in_the_same_rounds() -> None:
    batches: list[int] = []

    def counting(scenarios: Sequence[Scenario]) -> list[Disagreement]:
        batches.append(len({scenario.name for scenario in scenarios}))
        return compare(scenarios)

    wholes = [disagreement(scenario(Finish(0), WRONG, name=name)) for name in ("one", "two")]
    smallest = shrunk([whole for whole in wholes if whole is not None], counting)
    assert [whole.scenario.name for whole in smallest] == ["one", "two"]
    assert set(batches) == {2}  # names
    assert len(batches) <= ROUNDS_MAX


def test_a_minimal_scenario_is_not_shrunk() -> None:
    whole = disagreement(scenario(Finish(0), WRONG))
    assert whole is not None
    assert shrunk([whole], lambda _: []) == [whole]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Player | BaseException], None]:
    """Sets the player that `main` uses, or the exception that it raises."""

    def use(this: Player | BaseException) -> None:
        @contextmanager
        def player(_screen: Screen) -> Iterator[Player]:
            if isinstance(this, BaseException):
                raise this
            yield this

        monkeypatch.setattr(run, "_player", player)

    monkeypatch.setattr(run, "DISAGREEMENTS", tmp_path)
    monkeypatch.setattr(run, "scenario", lambda seed: scenario(Finish(0), WRONG, name=f"seed {seed}"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return use


def plays(differ: bool) -> Player:
    return lambda _mode, scenarios, _run: [play(scenario, differ) for scenario in scenarios]


Use = Callable[[Player | BaseException], None]


def test_main_returns_0_if_all_agree(on: Use, capsys: pytest.CaptureFixture[str]) -> None:
    on(plays(differ=False))
    assert run.main(range(5, 8)) == 0
    output = re.sub(r"in \d+ s", "in N s", capsys.readouterr().out)
    assert output.splitlines() == [
        "seeds 5 to 7: 3 histories, 6 steps compared in N s; "
        "0 histories stopped early, as Kueue preempts in a circle",
        "3 agree, 0 disagree",
    ]


def test_differences_are_saved_to_a_file(on: Use, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on(plays(differ=True))
    assert run.main(range(5, 6)) == 1
    output = capsys.readouterr().out.splitlines()
    assert output[:3] == [
        "seed 5 (classical) differs; shrinking it",
        f"seed 5 (classical), 1 steps: kept as {tmp_path / 'seed-5.json'}",
        "    w0: Muster main 1 x cpu:f0, Kueue waits",
    ]
    assert output[-1] == "0 agree, 1 disagree"
    assert read(tmp_path / "seed-5.json").kueue == Outcome({}, {})


def test_differences_are_saved_if_shrinking_fails(
    on: Use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[str] = []

    def player(_mode: str, scenarios: Sequence[Scenario], run: str) -> list[Play]:
        runs.append(run)
        if len(runs) > 2:
            raise StepError("kueue does not answer")
        return [play(scenario) for scenario in scenarios]

    on(player)
    assert run.main(range(5, 6)) == 1
    output = capsys.readouterr().out.splitlines()
    assert output[1:4] == [
        "shrinking failed",
        "  why: kueue does not answer",
        f"seed 5 (classical), 2 steps: kept as {tmp_path / 'seed-5.json'}",
    ]
    assert output[-1] == "0 agree, 1 disagree"


def test_differences_that_kueues_memory_may_explain_are_counted(
    on: Use, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(plays(differ=True))
    monkeypatch.setattr(Found, "has_choosing_gang", lambda _: True)
    assert run.main(range(5, 6)) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 of the differences have a gang of several pod sets that can use several flavors: "
        "docs/conformance.md explains them",
        "0 agree, 1 disagree",
    ]


@pytest.mark.parametrize(
    ("wrong", "code", "output"),
    [
        (StepError("kueue does not build"), 2, "nothing was compared\n  why: kueue does not build\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted: all processes are stopped\n"),
    ],
    ids=["no tools", "interrupted"],
)
def test_main_fails_without_a_cluster(
    on: Use, wrong: BaseException, code: int, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    on(wrong)
    assert run.main(range(1)) == code
    assert capsys.readouterr().out == output
