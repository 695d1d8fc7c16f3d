"""Evaluation: results do not depend on processes or on what an earlier run left in the journal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from muster.forecast.assumptions import Assumptions
from muster.forecast.demand.resampling import Resampling
from muster.forecast.recommend.candidates import Candidate
from muster.forecast.recommend.evaluation import Evaluator, digest
from muster.forecast.recommend.goals import Measured, measured
from muster.forecast.recommend.journal import ResultStore
from muster.forecast.recommend.search import SearchStage
from muster.forecast.recommend.tasks import SearchInputs, Task, WorkerProcesses, measure
from muster.forecast.simulation.simulator import Simulator
from tests.unit.forecast.recommend.builders import candidates, goals, placed, request, waits

pytestmark = pytest.mark.slow

RANDOM = replace(request("a p90 <= 5m"), assumptions=Assumptions(failures_per_node_hour=1))
STAGE = SearchStage(range(3), 24)


def two() -> list[Candidate]:
    combinations = candidates("queues.a.l4=4,8")
    smaller = combinations.at((0,))
    assert smaller is not None
    return [combinations.present, smaller]


class Counting:
    """Runs tasks one by one, the last first, and counts them."""

    def __init__(self, request: SearchInputs) -> None:
        self._request, self.count = request, 0

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Measured]]:
        for number, task in reversed(list(enumerate(tasks))):
            self.count += 1
            yield number, measure(self._request, task)


def evaluated(
    request: SearchInputs, journal: ResultStore, stage: SearchStage = STAGE
) -> tuple[list[Sequence[Measured]], int]:
    executor = Counting(request)
    results = Evaluator(digest(request), executor, journal)(two(), stage)
    return list(results), executor.count


@pytest.mark.parametrize("processes", [1, 2])
def test_results_are_in_order_on_any_number_of_processes(processes: int, tmp_path: Path) -> None:
    with WorkerProcesses(RANDOM, processes) as executor, ResultStore(tmp_path / "j") as journal:
        results = Evaluator(digest(RANDOM), executor, journal)(two(), STAGE)
    with ResultStore(tmp_path / "other") as journal:
        assert (list(results), 6) == evaluated(RANDOM, journal)
    assert len({item.wait_s for item in results[0]}) == 3, "seeds give the same future"


def test_a_prefix_of_the_trace_is_its_first_jobs(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "j") as journal:
        ((first, *_), *_), _ = evaluated(request("a mean <= 5m"), journal, SearchStage([0], 4))
    assert first == measure(
        replace(request("a mean <= 5m"), jobs=placed()[:4]), Task(two()[0].built.configuration, 0, 4)
    )


DEMAND = [*placed()[:10], placed()[-1]]
"""Ten jobs in five minutes, none in the next five, and another one, which ends the trace."""
BLOCKS = Resampling(block_ms=300_000, blocks=2, span_ms=660_000, jobs=len(DEMAND))
RESAMPLED = replace(request("mean <= 5m"), jobs=DEMAND, resampling=BLOCKS)
STAGES: Mapping[str, tuple[int, int | None]] = {
    "all jobs, of which a future has up to 24": (len(DEMAND), None),
    "the first jobs": (4, 4),
}


@pytest.mark.parametrize("name", STAGES)
def test_all_candidates_have_the_jobs_that_a_seed_draws(name: str) -> None:
    jobs, end = STAGES[name]
    for configuration in (candidate.built.configuration for candidate in two()):
        results = [measure(RESAMPLED, Task(configuration, seed, jobs)) for seed in range(10)]
        futures = [BLOCKS.drawn(DEMAND, seed)[:end] for seed in range(10)]
        assert results == [
            measured(Simulator(configuration, future, RESAMPLED.assumptions, seed).run(), RESAMPLED.goals)
            for seed, future in enumerate(futures)
        ]
        assert len({len(future) for future in futures}) > 1


def test_what_is_in_the_journal_is_not_simulated_again(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "j") as journal:
        first = evaluated(RANDOM, journal)
    with ResultStore(tmp_path / "j") as journal:
        assert evaluated(RANDOM, journal) == (first[0], 0)
    with ResultStore(tmp_path / "j", fresh=True) as journal:
        assert evaluated(RANDOM, journal) == first


def test_equal_candidates_are_simulated_once(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "j") as journal:
        executor = Counting(RANDOM)
        present = two()[0]
        first, second = Evaluator(digest(RANDOM), executor, journal)([present, present], STAGE)
    assert first == second
    assert executor.count == 3


CHANGED: dict[str, tuple[SearchInputs, SearchStage]] = {
    "another goal": (replace(RANDOM, goals=goals("a p50 <= 5m")), STAGE),
    "another assumption": (replace(RANDOM, assumptions=Assumptions(failures_per_node_hour=2)), STAGE),
    "another trace": (replace(RANDOM, jobs=[replace(placed()[0], run_ms=1), *placed()[1:]]), STAGE),
    "drawn weeks": (replace(RANDOM, resampling=BLOCKS), STAGE),
    "other seeds": (RANDOM, SearchStage(range(3, 6), 24)),
    "fewer jobs": (RANDOM, SearchStage(range(3), 20)),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_result_of_other_inputs_is_not_used(name: str, tmp_path: Path) -> None:
    with ResultStore(tmp_path / "j") as journal:
        evaluated(RANDOM, journal)
        assert evaluated(*_with(journal, CHANGED[name]))[1] == 6


def _with(
    journal: ResultStore, changed: tuple[SearchInputs, SearchStage]
) -> tuple[SearchInputs, ResultStore, SearchStage]:
    return changed[0], journal, changed[1]


def test_a_line_is_on_disk_when_its_candidate_is_finished(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "j") as journal:
        journal.add("key", "a.l4 4", [waits(1, inf, wait_s=2, never=3)])
        (line,) = (tmp_path / "j").read_text().splitlines()
    row = json.loads(line, parse_constant=pytest.fail)
    assert row == {
        "key": "key",
        "candidate": "a.l4 4",
        "futures": [{"values": [1, None], "wait_s": 2, "never": 3, "cost": None}],
    }
    with ResultStore(tmp_path / "j") as journal:
        assert journal.get("key") == [waits(1, inf, wait_s=2, never=3)]


TAILS = {
    "a part of a line": b'{"key": "two", "fut',
    "a line without its end": b'{"key": "two", "candidate": "", "futures": []}',
    "a part of a character": b'{"key": "\xc3',
    "a line of something else": b"[]\n",
    "zeros, as after a power failure": b"\0\0\0\0",
}


@pytest.mark.parametrize("name", TAILS)
def test_a_line_that_is_not_whole_is_ignored(name: str, tmp_path: Path) -> None:
    path = tmp_path / "j"
    with ResultStore(path) as journal:
        journal.add("one", "", [waits(1)])
    path.write_bytes(path.read_bytes() + TAILS[name])
    with ResultStore(path) as journal:
        assert journal.keys == {"one"}
        journal.add("three", "", [waits(3)])
    with ResultStore(path) as journal:
        assert journal.get("one") == [waits(1)]
        assert journal.get("three") == [waits(3)]
        assert journal.keys == {"one", "three"}
