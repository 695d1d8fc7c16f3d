"""Words that docs/style.md asks to avoid are found wherever they are written."""

import pytest

from development.words import Use, uses

CASES = {
    "a word in a sentence": ("a.md", "jobs whom quota waits for\n", [(1, "whom")]),
    "a word in a name": ("a.py", "def test_who_waits() -> None: ...\n", [(1, "who")]),
    "a word in upper case": ("a.py", "\nNOBODY = 1\n", [(2, "NOBODY")]),
    "a docstring that begins with Of": (
        "a.py",
        '"""Of one queue: its usage."""\n',
        [(1, '"""Of ')],
    ),
    "the name of a file": ("tests/test_who_waits.py", "", [(0, "who")]),
    "two in a line": ("a.md", "stands for what is made anew\n", [(1, "stands"), (1, "anew")]),
    "a part of another word": ("a.md", "whole, standard, understand, recommend\n", []),
    "stand-ins": ("sandbox/stand_ins/a.py", "a stand-in, stand_ins, stand-ins\n", []),
}


@pytest.mark.parametrize(("path", "text", "found"), CASES.values(), ids=CASES)
def test_use_is_found_with_its_place(path: str, text: str, found: list[tuple[int, str]]) -> None:
    assert list(uses(path, text)) == [Use(path, line, words) for line, words in found]
