"""Generators of the admission core remain lazy when compiled."""

import ast
from pathlib import Path

import muster.admission

CORE = Path(muster.admission.__file__).parent


def test_no_function_of_the_core_returns_a_generator_expression() -> None:
    """mypyc evaluates a generator expression eagerly, as a list: a search for victims that takes the first
    candidate of each queue would read all of them. A generator function is lazy, compiled or not."""
    generators = [
        f"{path.relative_to(CORE)}:{node.lineno}"
        for path in sorted(CORE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.GeneratorExp)
    ]
    assert not generators, "make it a generator function"
