"""The registry of rules: a rule registers itself with the sections of a stack file that it reads.

A rule reads settings whose sections are valid by themselves, and yields the conflicts between them. It runs
if all of its sections exist: a stack file has all, a component of the Pulumi package has its inputs'
sections.
"""

from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from settings.model.stack import SECTIONS, Settings
from settings.problems import Doubt, Finding

Rule = Callable[[Settings], Iterator[Finding]]
Warned = Callable[[Settings], Iterator[Doubt]]
R = TypeVar("R", bound=Callable[..., object])

RULES: dict[Rule, frozenset[str]] = {}
"""The sections that each rule reads, in the order in which problems are reported."""
LAST: set[Rule] = set()
"""Rules that run if all others are kept."""
DOUBTS: dict[Warned, frozenset[str]] = {}
"""The sections that each warning reads."""


def rule(*sections: str, last: bool = False) -> Callable[[Rule], Rule]:
    """Registers a rule that reads these sections, by their names in Settings; without any, it reads whatever
    sections exist. `last`: it relies on all other rules."""
    register = _registered(RULES, sections)

    def registered(function: Rule) -> Rule:
        if last:
            LAST.add(function)
        return register(function)

    return registered


def doubt(*sections: str) -> Callable[[Warned], Warned]:
    """Registers a warning about settings that may not work although no rule is broken."""
    return _registered(DOUBTS, sections)


def _registered(registry: dict[R, frozenset[str]], sections: Collection[str]) -> Callable[[R], R]:
    assert set(sections) <= SECTIONS, f"the sections of a rule must be among {sorted(SECTIONS)}"

    def register(function: R) -> R:
        registry[function] = frozenset(sections)
        return function

    return register


def broken_rules(settings: Settings, sections: Collection[str] = SECTIONS) -> Iterator[Finding]:
    """Yields a finding for every violation of a rule whose sections exist."""
    checks = [check for check, reads in RULES.items() if reads <= set(sections)]
    broken = [finding for check in checks if check not in LAST for finding in check(settings)]
    yield from broken
    if not broken:
        for check in LAST.intersection(checks):
            yield from check(settings)


def doubts(settings: Settings, sections: Collection[str] = SECTIONS) -> Iterator[Doubt]:
    """Yields the warnings whose sections exist."""
    for check, reads in DOUBTS.items():
        if reads <= set(sections):
            yield from check(settings)
