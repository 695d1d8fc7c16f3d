"""What counts as a difference, which ones count, how they get small, and how they are kept."""

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.toolchain.steps import Screen, StepError
from tests.conformance.differential import core_side, run
from tests.conformance.differential.found import Found, read, save
from tests.conformance.differential.outcome import Outcome
from tests.conformance.differential.run import INTERRUPTED, Counts, Player, Runs
from tests.conformance.differential.scenario import CLASSICAL, FAIR, Finish, Scenario
from tests.conformance.differential.shrink import ROUNDS_MAX, Disagreement, shrunk
from tests.conformance.differential.stage import Moment, Play
from tests.unit.conformance.differential import api_objects, found, scenario, standing, workload

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
def test_differences(ours: Outcome, kueue: Outcome, lines: list[str]) -> None:
    assert ours.differences(kueue) == lines


@pytest.mark.parametrize(
    ("held", "cpu", "lines"),
    [
        pytest.param(ADMITTED, "1", [], id="it fits"),
        pytest.param({}, "0", [], id="it does not"),
        pytest.param({}, "1", ["w0: Muster main 1 x cpu:f0, Kueue waits"], id="the core differs"),
    ],
)
def test_the_core_decides_on_what_was_found(
    held: dict[str, dict[str, str]], cpu: str, lines: list[str]
) -> None:
    assert found(held, cpu=cpu).differences() == lines


def test_a_found_case_is_read_as_it_was_saved(tmp_path: Path) -> None:
    saved = found(ADMITTED)
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
def test_gangs_that_choose(pod_sets: int, flavors: int, chooses: bool) -> None:
    assert found({}, pod_sets=pod_sets, flavors=flavors).has_choosing_gang() is chooses


# A history differs wherever a Finish of place 7 is in it; at that step Kueue leaves the workload waiting.
WRONG = Finish(7)


def play(of: Scenario, differs: bool = True) -> Play:
    played = Play(of, "ns", api_objects())
    for step in of.steps:
        played.before.append(Moment(played.objects, standing(workload("w0"))))
        played.outcomes.append(Outcome({} if differs and step == WRONG else ADMITTED, {}))
    return played


Times = Callable[[int], bool]


def runs(differs: Times, asked: list[tuple[str, str, int]]) -> Runs:
    """The n-th run differs as `differs` says."""

    def played(mode: str, scenarios: Sequence[Scenario], run: str) -> list[Play]:
        asked.append((mode, run, len(scenarios)))
        return [play(one, differs(len(asked))) for one in scenarios]

    return Runs(played)


def test_modes_are_played_apart_and_runs_have_names_of_their_own() -> None:
    asked: list[tuple[str, str, int]] = []
    counts = Counts()
    both = [scenario(Finish(0), mode=mode) for mode in (CLASSICAL, FAIR, CLASSICAL)]
    assert list(runs(lambda _: True, asked).compare(both, counts)) == []
    assert asked == [(CLASSICAL, "r1s", 2), (FAIR, "r2s", 1)]
    assert (counts.scenarios, counts.steps, counts.restless) == (3, 3, 0)


def test_the_first_step_that_differs_is_told() -> None:
    one = scenario(Finish(0), WRONG, WRONG)
    (told,) = runs(lambda _: True, []).compare([one], Counts())
    assert (told.scenario, told.step) == (one, 1)
    assert told.differences == ("w0: Muster main 1 x cpu:f0, Kueue waits",)


def test_a_core_that_fails_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_side, "ROUNDS_MAX", 0)
    (told,) = runs(lambda _: False, []).compare([scenario(Finish(0))], Counts())
    assert told.differences == ("Muster fails: AssertionError: nothing settled after 0 rounds",)


def test_what_differs_twice_counts() -> None:
    counts, asked = Counts(), list[tuple[str, str, int]]()
    (told,) = runs(lambda _: True, asked).confirmed(
        [scenario(WRONG), scenario(Finish(0), name="two")], counts
    )
    assert (told.scenario.name, counts.by_chance) == ("one", [])
    assert asked == [(CLASSICAL, "r1s", 2), (CLASSICAL, "r2s", 1)]
    assert counts.scenarios == 2, "what is played again is not counted again"


def test_what_differs_once_is_told_by_name() -> None:
    counts = Counts()
    assert runs(lambda time: time == 1, []).confirmed([scenario(WRONG)], counts) == []
    assert counts.by_chance == ["one"]


def disagreement(of: Scenario) -> Disagreement | None:
    return next(iter(runs(lambda _: True, []).compare([of], Counts())), None)


def compare(scenarios: Sequence[Scenario]) -> list[Disagreement]:
    return list(runs(lambda _: True, []).compare(scenarios, Counts()))


def test_shrunk_to_what_it_needs() -> None:
    whole = disagreement(scenario(*(Finish(n) for n in range(4)), WRONG, Finish(0), Finish(1)))
    assert whole is not None
    (smallest,) = shrunk([whole], compare)
    assert smallest.scenario.steps == (WRONG,)
    assert smallest.scenario.objects == (), "the players of this test need none"


def test_all_are_shrunk_in_the_same_rounds() -> None:
    batches: list[int] = []

    def counting(scenarios: Sequence[Scenario]) -> list[Disagreement]:
        batches.append(len({one.name for one in scenarios}))
        return compare(scenarios)

    wholes = [disagreement(scenario(Finish(0), WRONG, name=name)) for name in ("one", "two")]
    smallest = shrunk([one for one in wholes if one is not None], counting)
    assert [one.scenario.name for one in smallest] == ["one", "two"]
    assert set(batches) == {2}  # names
    assert len(batches) <= ROUNDS_MAX


def test_what_can_not_be_smaller_stays() -> None:
    whole = disagreement(scenario(Finish(0), WRONG))
    assert whole is not None
    assert shrunk([whole], lambda _: []) == [whole]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Player | BaseException], None]:
    """What `main` plays on: a player, or what goes wrong instead."""

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
    return lambda _mode, scenarios, _run: [play(one, differ) for one in scenarios]


Use = Callable[[Player | BaseException], None]


def test_all_agree(on: Use, capsys: pytest.CaptureFixture[str]) -> None:
    on(plays(differ=False))
    assert run.main(range(5, 8)) == 0
    said = re.sub(r"in \d+ s", "in N s", capsys.readouterr().out)
    assert said.splitlines() == [
        "seeds 5 to 7: 3 histories, 6 steps compared in N s; "
        "in 0 histories Kueue preempts without end and is left there",
        "3 agree, 0 disagree",
    ]


def test_what_differs_is_kept_in_a_file(on: Use, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on(plays(differ=True))
    assert run.main(range(5, 6)) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        "seed 5 (classical) differs; it is made smaller",
        f"seed 5 (classical), 1 steps: kept as {tmp_path / 'seed-5.json'}",
        "    w0: Muster main 1 x cpu:f0, Kueue waits",
    ]
    assert said[-1] == "0 agree, 1 disagree"
    assert read(tmp_path / "seed-5.json").kueue == Outcome({}, {})


def test_what_was_found_is_kept_though_it_can_not_be_made_smaller(
    on: Use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[str] = []

    def player(_mode: str, scenarios: Sequence[Scenario], run: str) -> list[Play]:
        runs.append(run)
        if len(runs) > 2:
            raise StepError("kueue does not answer")
        return [play(one) for one in scenarios]

    on(player)
    assert run.main(range(5, 6)) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1:4] == [
        "made no smaller than this",
        "  why: kueue does not answer",
        f"seed 5 (classical), 2 steps: kept as {tmp_path / 'seed-5.json'}",
    ]
    assert said[-1] == "0 agree, 1 disagree"


def test_what_only_kueues_memory_may_explain_is_told(
    on: Use, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(plays(differ=True))
    monkeypatch.setattr(Found, "has_choosing_gang", lambda _: True)
    assert run.main(range(5, 6)) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 of those that disagree have a gang of several pod sets that may choose between flavors: "
        "docs/conformance.md says why they may",
        "0 agree, 1 disagree",
    ]


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        (StepError("kueue does not build"), 2, "nothing was compared\n  why: kueue does not build\n"),
        (KeyboardInterrupt(), INTERRUPTED, "interrupted: nothing is left running\n"),
    ],
    ids=["no tools", "interrupted"],
)
def test_nothing_to_play_on(
    on: Use, wrong: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    on(wrong)
    assert run.main(range(1)) == code
    assert capsys.readouterr().out == said
