"""Checks that names are unique."""

from collections.abc import Iterable, Iterator

from settings.problems import Finding, Path


def unique(named: Iterable[tuple[Path, str]], what: str) -> Iterator[Finding]:
    """Yields a finding for each name that occurred before; `what` is its kind, such as "pool name"."""
    names_so_far: set[str] = set()
    for path, name in named:
        if name in names_so_far:
            yield Finding(path, f"a unique {what}", f"{name} is already in use; choose another name")
        names_so_far.add(name)
