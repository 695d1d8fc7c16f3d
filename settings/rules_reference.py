"""Generates the list of rules between settings (docs/settings-rules.md) from the rules' docstrings."""

import inspect
import sys
from collections.abc import Callable, Iterator
from itertools import groupby

from settings.rules import DOUBTS, RULES

HEAD = """# Rules between settings

Requirements of a stack file in addition to the formats of its values, which are in
[settings.md](settings.md). `make docs` generates this page from the docstrings of the rules in
`settings/rules/`. A stack that breaks a rule is refused before anything is deployed, with the path, the
value, what is expected and what to do; `make preview STACK=dev` checks a stack.

A rule's source is in parentheses: documentation of Google Cloud, Kubernetes, Kueue, Ray or KAI, an API's
field, or the code of a peer. Two checks are of the file itself: each key occurs once in its mapping, and a
key at the top belongs to `muster`, to `gcp` or to another package: `mustr:tenants` is refused, as it would
drop all tenants.
"""
WARNINGS = """## Warnings

Where sources disagree, or a setting may be meant, a stack is accepted with a warning.
"""
TABLE = "| rule | requirement |\n|---|---|"


def rules_reference() -> str:
    """Returns the whole page as Markdown."""
    sections = [
        "\n".join([f"## {_title(module)}\n", TABLE, *_rows(rules), ""])
        for module, rules in groupby(sorted(RULES, key=_title_of), key=_module)
    ]
    return "\n".join([HEAD, *sections, WARNINGS, TABLE, *_rows(iter(DOUBTS)), ""])


def requirement(rule: Callable[..., object]) -> str:
    """Returns the first paragraph of the rule's docstring: what it requires, and its source."""
    first = inspect.cleandoc(rule.__doc__ or "").partition("\n\n")[0]
    return " ".join(first.split())


def _module(rule: Callable[..., object]) -> str:
    return rule.__module__


def _title_of(rule: Callable[..., object]) -> str:
    return _title(rule.__module__)


def _title(module: str) -> str:
    """Returns the title of a module's rules: its docstring begins with "Rules of …: details"."""
    summary = (sys.modules[module].__doc__ or "").splitlines()[0].removeprefix("Rules of ").rstrip(".")
    title = summary.partition(":")[0].partition(",")[0].partition(" (")[0]
    return f"{title[0].upper()}{title[1:]}"


def _rows(rules: Iterator[Callable[..., object]]) -> list[str]:
    return [f"| `{rule.__name__}` | {requirement(rule)} |" for rule in rules]
