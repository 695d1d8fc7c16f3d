"""Results of the checks by file, cached by the digest of the file and of the rules."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tools.bootstrap import cache_directory
from tools.prose import names
from tools.prose.extract import words
from tools.prose.vale import ValeAlert

RULES = Path(__file__).parent
"""The checks: all files below this folder."""
STALE_FACTOR = 3
"""The cache of several checkouts may have this many times the files of one, then it begins again."""


@dataclass(frozen=True)
class FileResult:
    """The words in the prose of a file, and its alerts: of turns (None without Vale) and of names."""

    words: int
    turns: tuple[ValeAlert, ...] | None
    names: tuple[ValeAlert, ...]


Alerts = Callable[[Mapping[str, str]], list[ValeAlert]]
"""Runs Vale over texts by path."""


def results(texts: Mapping[str, str], turns: Alerts | None) -> dict[str, FileResult]:
    """Returns the result of each file, by path; only files that the cache lacks are checked."""
    rules = _digest(*_rules(), "turns" if turns is not None else "no turns")
    file = cache_directory() / "prose" / f"{rules}.json"
    cached = _read(file)
    keys = {path: _digest(path, text) for path, text in texts.items()}
    missing = {path: texts[path] for path, key in keys.items() if key not in cached}
    checked = _checked(missing, turns)
    if checked:
        entries = {keys[path]: result for path, result in checked.items()}
        reusable = cached if len(cached) < STALE_FACTOR * len(texts) else {}
        _write(file, reusable | entries)
    return {path: checked.get(path) or cached[key] for path, key in keys.items()}


def _checked(texts: Mapping[str, str], turns: Alerts | None) -> dict[str, FileResult]:
    if not texts:
        return {}
    by_path: dict[str, list[ValeAlert]] = {path: [] for path in texts}
    for alert in turns(texts) if turns is not None else ():
        by_path[alert.path].append(alert)
    return {
        path: FileResult(
            words(path, text),
            None if turns is None else tuple(by_path[path]),
            tuple(names.alerts(path, text)),
        )
        for path, text in texts.items()
    }


def _rules() -> list[str]:
    """Returns the paths and texts of the checks."""
    files = sorted(path for path in RULES.rglob("*") if path.suffix in {".py", ".yml", ".ini"})
    return [part for path in files for part in (str(path.relative_to(RULES)), path.read_text())]


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8))
        digest.update(encoded)
    return digest.hexdigest()[:32]


def _read(file: Path) -> dict[str, FileResult]:
    """Returns the cached results by digest; none if the file is missing or damaged."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, FileResult])
    except (OSError, msgspec.DecodeError):
        return {}


def _write(file: Path, results: Mapping[str, FileResult]) -> None:
    """Replaces the cache; other rules' results are removed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".part", delete=False) as output:
        output.write(msgspec.json.encode(results))
    os.replace(output.name, file)
    for other in file.parent.glob("*.json"):
        if other != file:
            other.unlink(missing_ok=True)
