"""A journal of finished simulations, so that a search that was killed goes on where it was."""

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


class Journal:
    """One line of JSON for each finished candidate, by a key that covers all that its result depends on.

    Each line is on disk before `add` returns. Lines that are not whole are ignored, and a last one without
    its end is cut off. Raises: RecommendError if another process has the journal open."""

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
        self._found = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(self._found)

    def get(self, key: str) -> Sequence[Measured] | None:
        return self._found.get(key)

    def add(self, key: str, what: str, results: Sequence[Measured]) -> None:
        """Appends a result; `what` tells readers which candidate it is."""
        row = {"key": key, "candidate": what, "futures": [_encoded(one) for one in results]}
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._found[key] = results

    def _read(self) -> dict[str, Sequence[Measured]]:
        self._file.seek(0)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self._file.truncate(whole)
        found: dict[str, Sequence[Measured]] = {}
        for line in text[:whole].splitlines():
            try:
                row = json.loads(line)
                found[row["key"]] = [_decoded(one) for one in row["futures"]]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return found


def _encoded(one: Measured) -> dict[str, Any]:
    """JSON has no infinity: null is the wait of a job that never starts."""
    values = [None if value == inf else value for value in one.values]
    return {"values": values, "wait_s": one.wait_s, "never": one.never}


def _decoded(row: dict[str, Any]) -> Measured:
    values = tuple(inf if value is None else float(value) for value in row["values"])
    return Measured(values, float(row["wait_s"]), int(row["never"]))


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
