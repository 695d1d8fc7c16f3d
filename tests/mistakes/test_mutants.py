"""Mutants of the shipped stack files: none is accepted silently, and none makes the program crash."""

import traceback
from collections import Counter
from pathlib import Path

import pytest

from tests.mistakes.judge import Fate, Fault, fate
from tests.mistakes.mutants import STACKS, mutants
from tools.testing.effort import MUTANTS, MUTANTS_SEED

PARTS = 5
EACH = MUTANTS // (PARTS * len(STACKS))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("stack", STACKS)
def test_every_mutant_is_refused_or_previewed_or_harmless(stack: str, part: int, tmp_path: Path) -> None:
    print(f"MUTANTS_SEED={MUTANTS_SEED}, part {part}")  # pytest shows it if a test fails
    fates: Counter[Fate] = Counter()
    faults = []
    for number, mutant in enumerate(mutants(stack, f"{MUTANTS_SEED} {part}", EACH)):
        try:
            fates[fate(mutant, tmp_path)] += 1
        except Exception as error:
            problem = str(error) if isinstance(error, Fault) else traceback.format_exc()
            faults.append(f"mutant {number}: {mutant}\n  {problem}")
    assert not faults, "\n".join([f"{len(faults)} of {EACH} mutants; the others: {dict(fates)}", *faults])
