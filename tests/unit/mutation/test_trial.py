"""The original code gives way to the code of a mutant, wherever functions of it are held."""

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutation.trial import NotExchangeable, exchange

BEFORE = """
import functools
LIMIT = 1
def plain(n, m=1): return n + 1
def outer(n):
    def inner(m): return m + 1
    return inner(n)
class A:
    @property
    def prop(self): return 1 + 1
    @staticmethod
    def static(n): return n + 1
@functools.wraps(plain)
def wrapped(n): return plain(n)
"""


def load(source: str) -> tuple[dict[str, Any], list[FunctionType], CodeType]:
    code = compile(source, "module.py", "exec")
    names: dict[str, Any] = {}
    exec(code, names)
    of_class = vars(names["A"])
    functions = [names["plain"], names["outer"], of_class["prop"].fget, of_class["static"].__func__]
    return names, functions, code


CALLS: dict[str, tuple[str, str, Callable[[dict[str, Any]], int]]] = {
    "function": ("n + 1\ndef outer", "n - 1\ndef outer", lambda names: names["plain"](1)),
    "nested function": ("m + 1", "m - 1", lambda names: names["outer"](1)),
    "property": ("1 + 1", "1 - 1", lambda names: names["A"]().prop),
    "static method": ("return n + 1\n@", "return n - 1\n@", lambda names: names["A"].static(1)),
    "imported elsewhere": ("n + 1\ndef outer", "n - 1\ndef outer", lambda names: names["wrapped"](1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_changed_code_runs(name: str) -> None:
    old, new, call = CALLS[name]
    names, functions, original = load(BEFORE)
    assert call(names) == 2
    exchange(functions, original, compile(BEFORE.replace(old, new), "module.py", "exec"))
    assert call(names) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("LIMIT = 1", "LIMIT = 2", id="a constant of the module"),
        pytest.param("m=1", "m=2", id="a default argument"),
        pytest.param("    def inner(m): return m + 1\n    return inner(n)", "    pass", id="a function goes"),
        pytest.param("return m + 1", "return n + 1", id="a variable of the closure comes"),
    ],
)
def test_what_takes_effect_on_import_is_not_exchangeable(old: str, new: str) -> None:
    _, functions, original = load(BEFORE)
    inner = functools.partial(exchange, [functions[0]], original)
    with pytest.raises(NotExchangeable):
        inner(compile(BEFORE.replace(old, new), "module.py", "exec"))
