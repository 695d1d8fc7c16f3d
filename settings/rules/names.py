"""Names that must not be given twice."""

from collections.abc import Iterable, Iterator

from settings.problems import Finding, Path


def unique(named: Iterable[tuple[Path, str]], what: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            yield Finding(path, f"a {what} of its own", f"{name} is taken already; choose another name")
        seen.add(name)
