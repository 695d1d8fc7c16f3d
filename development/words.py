"""Words that docs/style.md asks to avoid: found in code, comments, messages, docs and test names."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.toolchain.paths import CHECKOUT

AVOIDED = "who|whom|whoever|nobody|somebody|stand|stands|stood|standing|anew|mend|mends|mended|mending|be had"
WORD = re.compile(rf"(?<![A-Za-z])(?:{AVOIDED})(?![A-Za-z]|-ins?\b|_ins\b)", re.IGNORECASE)
DOCSTRING = re.compile(r'"""(?:Of|Who|Whom|What) ')
PATTERNS = (WORD, DOCSTRING)
TEXTS = {".md", ".py", ".toml", ".yaml", ".yml", ".json", ""}
# Generated, kept as recorded, or about the words.
LEFT_OUT = (
    "LICENSE",
    "tests/stacks/golden/",
    "tests/simulation/kept/",
    "docs/style.md",
    "development/words.py",
    "tests/unit/development/test_words.py",
)


@dataclass(frozen=True)
class Use:
    """One use of an avoided word: the path in the checkout, the line from 1, and the words."""

    path: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words!r}: see docs/style.md"


def uses(path: str, text: str) -> Iterator[Use]:
    """Yields every use in `text`, and in the name of a file as line 0."""
    for pattern in PATTERNS:
        if found := pattern.search(Path(path).name):
            yield Use(path, 0, found.group())
        for number, line in enumerate(text.splitlines(), start=1):
            for found in pattern.finditer(line):
                yield Use(path, number, found.group())


def words(paths: list[str]) -> int:
    """Prints each use in the tracked files below `paths`, then their number; returns 1 if there is any."""
    found = [use for path in _tracked() if path.startswith(tuple(paths)) for use in uses(path, _text(path))]
    for use in found:
        print(use)
    print(f"words to avoid (docs/style.md): {len(found)} uses")
    return 1 if found else 0


def _text(path: str) -> str:
    return (CHECKOUT / path).read_text()


def _tracked() -> list[str]:
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True)
    return [path for path in listed.split("\0") if path and _checked(path)]


def _checked(path: str) -> bool:
    return Path(path).suffix in TEXTS and not path.startswith(LEFT_OUT) and (CHECKOUT / path).exists()
