"""The list of equivalent mutants is about code that is there, and each entry says why."""

from collections import Counter

import pytest

from tests.mutation.equivalents import Equivalent, changed_lines, listed, outdated, without
from tests.mutation.mutants import mutants

TREE = "muster/admission/quota/tree.py"


def test_each_entry_is_about_one_mutant() -> None:
    entries = listed()
    assert outdated(entries) == []
    some = mutants(sorted({entry.file for entry in entries}))
    counts = Counter(entry for mutant in some for entry in entries if entry.describes(mutant))
    assert [entry for entry in entries if not counts[entry]] == []


def test_each_entry_has_a_reason() -> None:
    assert [entry for entry in listed() if len(entry.why.split()) < 4] == []


def test_only_the_described_mutant_is_left_out() -> None:
    some = mutants([TREE])
    entry = Equivalent(TREE, *changed_lines(some[3]), why="an example")
    remaining = without(some, [entry])
    assert some[3] not in remaining
    assert all(changed_lines(m) == changed_lines(some[3]) for m in some if m not in remaining)


@pytest.mark.parametrize("file", [TREE, "muster/admission/gone.py"])
def test_an_entry_whose_line_is_gone_is_told(file: str) -> None:
    entry = Equivalent(file, "return 42 apples", "return None", "an example")
    (message,) = outdated([entry])
    assert file in message
