"""Each operator's mutants of a piece of code, and the code that is left alone."""

import ast

import pytest

from tests.mutation.mutants import edits


def mutated(source: str) -> list[str]:
    """Returns the source once for each mutation, in order."""
    count = len(list(edits(ast.parse(source))))
    mutant_texts = []
    for number in range(count):
        tree = ast.parse(source)
        list(edits(tree))[number].apply()
        mutant_texts.append(ast.unparse(tree))
    return mutant_texts


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("a < b", ["a <= b"], id="boundary"),
        pytest.param("a in b", ["a not in b"], id="membership"),
        pytest.param("a < b <= c", ["a <= b <= c", "a < b < c"], id="chain"),
        pytest.param("a and b", ["a or b"], id="and"),
        pytest.param("not a", ["a"], id="not"),
        pytest.param("key(-a)", ["pass", "key(a)"], id="sign"),
        pytest.param("a if b else c", ["a if not b else c"], id="conditional expression"),
        pytest.param("[a for a in b if c(a)]", ["[a for a in b if not c(a)]"], id="comprehension"),
        pytest.param("a if b == c else d", ["a if b != c else d"], id="negated once"),
        pytest.param("a - b", ["a + b"], id="arithmetic"),
        pytest.param("a + (b,)", [], id="a tuple is only concatenated"),
        pytest.param("a += b", ["a -= b", "pass"], id="augmented"),
        pytest.param("a = 1", ["a = 2"], id="number"),
        pytest.param("a = True", ["a = False"], id="truth"),
        pytest.param("a = 'Ready'", ["a = 'Ready-mutated'"], id="string"),
        pytest.param("a.b = c", ["pass"], id="assignment to an attribute"),
        pytest.param("a[b] = c", ["pass"], id="assignment to an item"),
        pytest.param("min(a)", ["pass", "max(a)"], id="min"),
        pytest.param(
            "def f(a=1):\n    return a",
            ["def f(a=2):\n    return a", "def f(a=1):\n    return None"],
            id="default and return",
        ),
        pytest.param("for a in b:\n    continue", ["for a in b:\n    pass"], id="jump"),
        pytest.param("raise A(b)", ["pass"], id="raise"),
        pytest.param("def f():\n    return True", ["def f():\n    return False"], id="returned once"),
        # left alone
        pytest.param("a = 'text of a message'", [], id="message"),
        pytest.param("a = f'{b + 1} pods'", [], id="f-string"),
        pytest.param("log.info('x', 1)", [], id="log"),
        pytest.param("assert a < 1", [], id="assertion"),
        pytest.param("'doc'", [], id="docstring"),
        pytest.param("a: tuple[int, 'b'] = c", [], id="annotation"),
        pytest.param(
            "@d(a=1)\nclass A(B, frozen=True):\n    ...", [], id="arguments of decorators and classes"
        ),
    ],
)
def test_operators(source: str, expected: list[str]) -> None:
    assert mutated(source) == expected
