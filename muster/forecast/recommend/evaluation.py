"""Evaluates candidates: reads results from the journal, simulates the missing ones, and reports progress."""

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import muster
from muster.forecast.recommend.candidates import Candidate
from muster.forecast.recommend.goals import Measured
from muster.forecast.recommend.journal import ResultStore
from muster.forecast.recommend.search import SearchStage
from muster.forecast.recommend.tasks import Executor, SearchInputs, Task

CODE = ("admission", "configuration", "forecast", "objects", "translation")
"""Packages whose code determines the result of a simulation."""


def digest(request: SearchInputs) -> str:
    """Returns a hash of the inputs that all candidates share: jobs, their resampling, assumptions,
    goals, prices of usage, and this code."""
    parts: Iterable[object] = (
        request.assumptions,
        request.resampling,
        request.prices,
        *request.goals,
        *request.jobs,
    )
    hashed = sha256()
    for part in parts:
        hashed.update(repr(part).encode())
    root = Path(muster.__file__).parent
    for file in sorted(file for package in CODE for file in (root / package).rglob("*.py")):
        hashed.update(file.read_bytes())
    return hashed.hexdigest()


class Evaluator:
    """Evaluates candidates in stages. `progress` is called with the completed share of `effort` (in jobs)."""

    def __init__(
        self,
        inputs: str,
        executor: Executor,
        journal: ResultStore,
        effort: int = 0,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self._inputs, self._executor, self._journal = inputs, executor, journal
        self._effort, self._progress, self._done = effort, progress, 0
        self._earlier = journal.keys
        self._used: set[str] = set()

    @property
    def resumed(self) -> int:
        """The number of results from an earlier run."""
        return len(self._used & self._earlier)

    def __call__(self, candidates: Sequence[Candidate], stage: SearchStage) -> Sequence[Sequence[Measured]]:
        """Returns the futures of each candidate, in the order of the stage's seeds."""
        keys = [self._key(candidate, stage) for candidate in candidates]
        self._used.update(keys)
        missing: dict[str, Candidate] = {}
        for key, candidate in zip(keys, candidates, strict=True):
            if self._journal.get(key) is not None:
                self._advance(stage.effort)
            else:
                missing.setdefault(key, candidate)
        self._simulate(missing, stage)
        return [futures for key in keys if (futures := self._journal.get(key)) is not None]

    def _simulate(self, missing: dict[str, Candidate], stage: SearchStage) -> None:
        """Simulates candidates one after the other, seed by seed, so that an interruption loses few
        results."""
        owners = list(missing)
        count = len(stage.seeds)
        tasks = [
            Task(candidate.built.configuration, seed, stage.jobs)
            for candidate in missing.values()
            for seed in stage.seeds
        ]
        futures: dict[str, dict[int, Measured]] = {key: {} for key in owners}
        for number, result in self._executor.run(tasks):
            key = owners[number // count]
            futures[key][number % count] = result
            self._advance(stage.jobs)
            if len(futures[key]) == count:
                in_order = [futures[key][at] for at in range(count)]
                self._journal.add(key, missing[key].changes, in_order)

    def _key(self, candidate: Candidate, stage: SearchStage) -> str:
        parts = [self._inputs, candidate.built.digest, list(stage.seeds), stage.jobs]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _advance(self, jobs: int) -> None:
        self._done += jobs
        if self._progress is not None and self._effort:
            self._progress(min(1.0, self._done / self._effort))
