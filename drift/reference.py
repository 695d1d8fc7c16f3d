"""Writes the tables of docs/drift.md from the rules of the comparison."""

from collections.abc import Iterable, Iterator

from drift.controllers import OWNED
from drift.undeclared import EXEMPT, WATCHED
from preview.resources.differences import property_path
from tools.docs.sections import GeneratedSection
from tools.toolchain.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "drift.md"
SECTION = GeneratedSection("<!-- rules: written by make docs -->", "<!-- end of rules -->")


def page_with_tables(page: str) -> str:
    """Returns the page with one table per kind of rule."""
    return SECTION.put(page, "\n".join(_tables()))


def write_tables() -> None:
    """Rewrites the tables of docs/drift.md."""
    PAGE.write_text(page_with_tables(PAGE.read_text()))


def _tables() -> Iterator[str]:
    yield "### Fields that controllers own\n"
    owned = ((", ".join(o.kinds) or "all", _field(o.path), ", ".join(o.managers), o.why) for o in OWNED)
    yield _table(("kinds", "field", "only if written by", "why"), owned)
    yield "### Objects that the stack does not declare\n"
    yield _table(("kind", "is drift", "why"), ((w.kind, w.where, w.why) for w in WATCHED))
    yield "Except these:\n"
    yield _table(("objects", "why"), EXEMPT.items())


def _field(path: tuple[str, ...]) -> str:
    return f"`{property_path(path)}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    write_tables()
