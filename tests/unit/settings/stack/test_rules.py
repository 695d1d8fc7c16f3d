"""The registry of rules: sections that a rule declares, and rules whose sections do not exist."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from settings.load import Settings, SettingsError, load, parse
from settings.model.stack import SECTIONS
from settings.rules import DOUBTS, RULES
from settings.rules.registry import rule
from tests.unit.settings.builders import FILE, GOOD, put

STACKS = sorted((Path(__file__).parents[4] / "stacks").glob("Pulumi.*.yaml"))
LOADED = (parse(GOOD, FILE), *map(load, STACKS))


class Recorder:
    """Passes reads on to settings, and records the sections that are read."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.sections = settings, set[str]()

    def __getattr__(self, name: str) -> Any:
        if name in SECTIONS:
            self.sections.add(name)
        elif isinstance(derived := getattr(Settings, name), property):
            assert derived.fget is not None
            return derived.fget(self)
        return getattr(self._settings, name)


@pytest.mark.parametrize("check", [*RULES, *DOUBTS], ids=lambda check: check.__name__)
def test_a_rule_reads_only_the_sections_that_it_declares(check: Callable[..., Any]) -> None:
    registry: dict[Callable[..., Any], frozenset[str]] = {**RULES, **DOUBTS}
    for settings in LOADED:
        recorder = Recorder(settings)
        list(check(recorder))
        assert recorder.sections <= registry[check]


def test_a_rule_runs_if_its_sections_exist() -> None:
    wrong = put("muster:tenants", 0, "queues", {"user-queue": "unknown"})
    with pytest.raises(SettingsError, match="cluster queue in this file"):
        parse(wrong, FILE)
    del wrong["muster:queues"]
    assert parse(wrong, FILE, SECTIONS - {"queues"}).tenants[0].queues == {"user-queue": "unknown"}


def test_an_unknown_section_is_refused() -> None:
    with pytest.raises(AssertionError, match="the sections of a rule"):
        rule("pool")
