"""Names of classes in the core."""

import ast
from collections import defaultdict
from pathlib import Path

CORE = Path(__file__).parents[3] / "muster/admission"


def test_class_names_are_unique_in_the_core() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(CORE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(CORE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_import_in_the_core_renames_a_class() -> None:
    renamed = [
        f"{path.relative_to(CORE)}: {alias.name} as {alias.asname}"
        for path in sorted(CORE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom | ast.Import)
        for alias in node.names
        if alias.asname is not None
    ]
    assert renamed == []
