"""Checks of identifiers: vague names of values and functions, and words that no name may contain."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.prose.vale import ValeAlert

VAGUE = {
    *("found", "given", "kept", "known", "left", "made", "one", "ones", "rest", "said", "seen", "told"),
    "wanted",
}
"""Participles and pronouns: a name says what the value is."""
REFUSED = re.compile(
    r"(?:^|_)(?:who|whom|whoever|nobody|somebody|stands?(?!_ins?\b)|stood|standing|anew|mend(?:s|ed|ing)?)(?=_|$)",
    re.IGNORECASE,
)


def alerts(path: str, text: str) -> Iterator[ValeAlert]:
    """Yields the alerts for the name of a file and, if it is Python, for the names that it binds."""
    for name in (re.sub(r"\W", "_", part) for part in Path(path).parts):
        if REFUSED.search(name):
            yield ValeAlert(path, 1, f"name {name!r} has a word that docs/style.md refuses", refused=True)
    if path.endswith(".py"):
        yield from _in_code(path, ast.parse(text))


def _in_code(path: str, tree: ast.Module) -> Iterator[ValeAlert]:
    bound = list(_bound(tree))
    has_right = any(name == "right" for name, _ in bound)  # the operands of a binary operation
    for name, line in bound:
        bare = name.strip("_")
        if bare in VAGUE and not (bare == "left" and has_right):
            yield ValeAlert(path, line, f"name {name!r}: name what the value is", refused=False)
        if REFUSED.search(name):
            yield ValeAlert(path, line, f"name {name!r} has a word that docs/style.md refuses", refused=True)


def _bound(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yields each name at its first binding in a function, class or module, with its line."""
    for scope in (node for node in ast.walk(tree) if isinstance(node, _SCOPES)):
        first = dict(reversed(list(_in_scope(scope))))
        yield from sorted(first.items(), key=lambda binding: binding[1])


_SCOPES = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _in_scope(scope: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.iter_child_nodes(scope):
        if name := _binds(node):
            yield name, getattr(node, "lineno", 1)
        if not isinstance(node, _SCOPES):
            yield from _in_scope(node)


def _binds(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.alias(asname=name):
            return name
        case _:
            return None
