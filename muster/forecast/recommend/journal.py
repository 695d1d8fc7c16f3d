"""A journal of finished simulations, from which an interrupted search resumes."""

import fcntl
import json
import os
from collections.abc import Sequence
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from muster.forecast.recommend.errors import RecommendError
from muster.forecast.recommend.goals import Measured


class ResultStore:
    """Stores one line of JSON per finished candidate, by a key that covers everything its result depends on.

    Each line is on disk before `add` returns. Incomplete lines are ignored, and an unterminated last line is
    truncated. Raises: RecommendError if another process has the journal open."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "ab+")  # noqa: SIM115 - closed by __exit__
        try:
            # A POSIX lock: forked workers, which may outlive this process for a moment, do not inherit it.
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise RecommendError(f"{path} is in use by another search with the same inputs") from None
        if fresh:
            self._file.truncate(0)
        if is_new:
            _sync_folder(path.parent)
        self._results = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all stored results."""
        return frozenset(self._results)

    def get(self, key: str) -> Sequence[Measured] | None:
        """Returns the stored results of a key, one for each seed; None if there are none."""
        return self._results.get(key)

    def add(self, key: str, candidate: str, results: Sequence[Measured]) -> None:
        """Appends a result; `candidate` describes the candidate for readers of the file."""
        row = {"key": key, "candidate": candidate, "futures": [_encoded(result) for result in results]}
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._results[key] = results

    def _read(self) -> dict[str, Sequence[Measured]]:
        self._file.seek(0)
        text = self._file.read()
        complete = text.rfind(b"\n") + 1
        if complete < len(text):
            self._file.truncate(complete)
        results: dict[str, Sequence[Measured]] = {}
        for line in text[:complete].splitlines():
            try:
                row = json.loads(line)
                results[row["key"]] = [_decoded(future) for future in row["futures"]]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return results


def _encoded(result: Measured) -> dict[str, Any]:
    """Returns a result for JSON, which has no infinity: null is the wait of a job that never starts."""
    values = [None if value == inf else value for value in result.values]
    return {"values": values, "wait_s": result.wait_s, "never": result.never, "cost": result.cost}


def _decoded(row: dict[str, Any]) -> Measured:
    values = tuple(inf if value is None else float(value) for value in row["values"])
    cost = None if row["cost"] is None else float(row["cost"])
    return Measured(values, float(row["wait_s"]), int(row["never"]), cost)


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
