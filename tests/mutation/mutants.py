"""Mutants of a source file: their list, text and compiled code."""

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType

from tests.mutation.operators import OPERATORS

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("muster/admission", "muster/cluster", "muster/controller")
TYPE_VARIABLES = {"TypeVar", "NewType", "TypeVarTuple", "ParamSpec"}
LISTS_OF_NAMES = {"__all__", "__slots__"}


@dataclass(frozen=True)
class Edit:
    """One node of a parsed file and the node that replaces it; the node lies in `parent.field[index]`."""

    operator: str
    parent: ast.AST
    field: str
    index: int | None
    old: ast.AST
    new: ast.AST
    first: int
    last: int
    """The first and last line of the statement that contains it, without the statements inside."""

    def apply(self) -> None:
        """Puts the new node into the tree."""
        if self.index is None:
            setattr(self.parent, self.field, self.new)
        else:
            getattr(self.parent, self.field)[self.index] = self.new
        ast.copy_location(self.new, self.old)
        ast.fix_missing_locations(self.new)


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `number` counts the mutants of the file in the order of the source."""

    path: str
    number: int
    operator: str
    first: int
    last: int

    @property
    def package(self) -> str:
        """The package in whose statistics it counts: one of PACKAGES."""
        return next(package for package in PACKAGES if self.path.startswith(f"{package}/"))

    @property
    def room(self) -> str:
        """The folder of the file below its package, or the file itself where there is none."""
        return "/".join(Path(self.path).parts[:3])

    @property
    def file(self) -> str:
        """The absolute path of the file."""
        return str(CHECKOUT / self.path)

    @cached_property
    def source(self) -> str:
        """The text of the file with the change."""
        edit = _edits(self.path)[self.number]
        old, new = edit.old, edit.new
        if isinstance(old, ast.comprehension) and isinstance(new, ast.comprehension):
            place = next(
                i for i, pair in enumerate(zip(old.ifs, new.ifs, strict=True)) if pair[0] is not pair[1]
            )
            old, new = old.ifs[place], new.ifs[place]
        elif isinstance(old, ast.If | ast.While) and isinstance(new, ast.If | ast.While):
            old, new = old.test, new.test
        assert isinstance(old, ast.expr | ast.stmt)
        assert old.end_lineno is not None
        assert old.end_col_offset is not None
        lines = _text(self.path).encode().splitlines(keepends=True)
        start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
        end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
        whole = b"".join(lines)
        return (whole[:start] + ast.unparse(new).encode() + whole[end:]).decode()

    @property
    def line(self) -> int:
        """The number of the first line that the change touches."""
        pairs = zip(_text(self.path).splitlines(), self.source.splitlines(), strict=False)
        return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), self.first)

    @property
    def diff(self) -> str:
        """The changed lines, `-` before and `+` after."""
        before, after = _text(self.path).splitlines(), self.source.splitlines()
        compared = difflib.unified_diff(before, after, n=0, lineterm="")
        return "\n".join(line for line in compared if not line.startswith(("---", "+++", "@@")))

    def compile(self) -> CodeType:
        """Returns the code of the changed module."""
        tree = ast.parse(_text(self.path))
        next(edit for number, edit in enumerate(edits(tree)) if number == self.number).apply()
        return compile(tree, self.file, "exec", dont_inherit=True)

    def compile_original(self) -> CodeType:
        """Returns the code of the module without the change."""
        return compile(_text(self.path), self.file, "exec", dont_inherit=True)


def mutants(paths: Sequence[str]) -> list[Mutant]:
    """Returns all mutants of these files (paths from the checkout), in order."""
    return [
        Mutant(path, number, edit.operator, edit.first, edit.last)
        for path in paths
        for number, edit in enumerate(_edits(path))
    ]


def source_files(prefix: str = "") -> list[str]:
    """Returns the files of the mutated packages whose path or dotted name begins with the prefix."""
    expected = prefix if prefix.endswith(".py") else prefix.replace(".", "/")
    files = (path for package in PACKAGES for path in (CHECKOUT / package).rglob("*.py"))
    return sorted(name for path in files if (name := str(path.relative_to(CHECKOUT))).startswith(expected))


def edits(tree: ast.Module) -> Iterator[Edit]:
    """Yields every edit of a tree; the order depends on the tree alone."""
    for parent, field, index, node, (first, last) in _nodes(tree, (1, 1)):
        for operator in OPERATORS:
            for new in operator(node):
                yield Edit(operator.__name__, parent, field, index, node, new, first, last)


Place = tuple[ast.AST, str, int | None, ast.AST, tuple[int, int]]


def _nodes(parent: ast.AST, lines: tuple[int, int]) -> Iterator[Place]:
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(
            parent, ast.Call
        ):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(node, ast.AST) and not _is_skipped(node):
                inside = _lines(node) or lines
                yield parent, field, index, node, inside
                yield from _nodes(node, inside)


def _is_skipped(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring, or `...`
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in TYPE_VARIABLES
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in LISTS_OF_NAMES
        case ast.keyword(arg="strict"):  # zip's assertion
            return True
    return False


def _lines(node: ast.AST) -> tuple[int, int] | None:
    """Returns the lines of a statement without those of the statements in its body; None for the rest."""
    if not isinstance(node, ast.stmt):
        return None
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if body:
        inside = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        return node.lineno, max(node.lineno, inside.lineno - 1)
    return node.lineno, node.end_lineno or node.lineno


@lru_cache(maxsize=256)
def _edits(path: str) -> Sequence[Edit]:
    """Returns the edits of a file, read-only: they share the tree."""
    return tuple(edits(ast.parse(_text(path))))


@lru_cache(maxsize=256)
def _text(path: str) -> str:
    return (CHECKOUT / path).read_text()
