"""Runs Vale with the house style over tracked files."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.prose.extract import Line, as_text, prose
from tools.toolchain.build import can_be_built
from tools.toolchain.ensure import ensure_tools, find_tool
from tools.toolchain.paths import CHECKOUT
from tools.toolchain.steps import Screen, StepError
from tools.toolchain.tools import TOOLS

CONFIGURATION = CHECKOUT / "tools" / "prose" / "vale.ini"


@dataclass(frozen=True)
class ValeAlert:
    """A match of a rule: the path in the checkout, the line from 1, what to write instead.

    `refused`: the rule allows no match in any room.
    """

    path: str
    line: int
    message: str
    refused: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def vale(screen: Screen) -> Path | None:
    """Returns Vale, built if necessary; None if it must be built and there is no C compiler."""
    tool = TOOLS["vale"]
    if find_tool(tool) is None and not can_be_built(tool):
        return None
    return ensure_tools(["vale"], screen)["vale"].path


def alerts(executable: Path, texts: Mapping[str, str]) -> list[ValeAlert]:
    """Returns the alerts of Vale for files by their path in the checkout, in order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in texts.items():
            _write(folder, path, text)
        report = _run(executable, folder)
    unordered = {alert for file, entries in report.items() for alert in _alerts(folder, file, entries)}
    return sorted(unordered, key=lambda alert: (alert.path, alert.line, alert.message))


def _write(folder: Path, path: str, text: str) -> None:
    if path.endswith(".md"):
        _write_file(folder / path, text)
        return
    lines = list(prose(path, text))
    _write_part(folder / f"{path}.summary.txt", (line for line in lines if line.summary))
    _write_part(folder / f"{path}.txt", (line for line in lines if not line.summary))


def _write_part(file: Path, lines: Iterable[Line]) -> None:
    if text := as_text(lines):
        _write_file(file, text)


def _write_file(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _run(executable: Path, folder: Path) -> dict[str, list[dict[str, object]]]:
    argv = [str(executable), "--config", str(CONFIGURATION), "--output=JSON", "--no-exit", "--no-global", "."]
    answer = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if answer.returncode != 0:
        raise StepError(f"Vale failed: {answer.stderr or answer.stdout}")
    report: dict[str, list[dict[str, object]]] = json.loads(answer.stdout)
    return report


def _alerts(folder: Path, file: str, entries: list[dict[str, object]]) -> Iterator[ValeAlert]:
    path = os.path.relpath(folder / file, folder).removesuffix(".txt").removesuffix(".summary")
    for entry in entries:
        line, message = entry["Line"], entry["Message"]
        assert isinstance(line, int)
        yield ValeAlert(path, line, str(message), refused=entry["Severity"] == "error")
