"""The lock files that `make lock` writes, and their sources."""

from pathlib import Path
from pkgutil import resolve_name

import pytest

from tools.__main__ import CHORES
from tools.chores import LOCKS
from tools.toolchain.paths import CHECKOUT

SUFFIXES = {".in", ".lock", ".toml"}


def test_every_lock_file_is_written_by_make_lock() -> None:
    files = {
        str(path.relative_to(CHECKOUT)) for path in CHECKOUT.rglob("*.lock") if ".muster" not in path.parts
    }
    assert set(LOCKS) == files


@pytest.mark.parametrize("lock_file", LOCKS)
def test_sources_of_lock_files_exist(lock_file: str) -> None:
    sources = [source for source in LOCKS[lock_file] if Path(source).suffix in SUFFIXES]
    assert sources
    assert [source for source in sources if not (CHECKOUT / source).is_file()] == []


@pytest.mark.parametrize("verb", CHORES)
def test_the_function_of_a_verb_exists(verb: str) -> None:
    assert callable(resolve_name(CHORES[verb][0]))
