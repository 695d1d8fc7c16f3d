"""Compares code without its docstrings and comments: reviews of commits that only change prose."""

import ast
import subprocess

from tools.toolchain.paths import CHECKOUT


def same_code(revision: str) -> int:
    """Prints each Python file whose code differs from that of `revision`; returns 1 if there is any."""
    changed = [path for path in _changed(revision) if not _same(path, revision)]
    for path in changed:
        print(f"{path}: its code differs, beyond docstrings and comments")
    print(f"files with other code than {revision}: {len(changed)}")
    return 1 if changed else 0


def without_prose(source: str) -> str:
    """Returns a dump of the syntax tree without docstrings, those of attributes included."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_docstring(statement)]
    return ast.dump(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False


def _same(path: str, revision: str) -> bool:
    before = subprocess.run(
        ["git", "show", f"{revision}:{path}"], cwd=CHECKOUT, capture_output=True, text=True
    )
    file = CHECKOUT / path
    if before.returncode != 0 or not file.exists():
        return False  # created or deleted
    return without_prose(before.stdout) == without_prose(file.read_text())


def _changed(revision: str) -> list[str]:
    argv = ["git", "diff", "--name-only", "-z", revision, "--", "*.py"]
    return subprocess.check_output(argv, cwd=CHECKOUT, text=True).split("\0")[:-1]
