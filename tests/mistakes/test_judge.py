"""The judge of mutants: what it would not accept."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from settings import load
from tests.mistakes import judge
from tests.mistakes.judge import Fate, Fault, fate
from tests.mistakes.mutants import KEY_TYPO, Mutant, Place, config_of


def mutant(mistake: str, place: Place, changes: Mapping[str, Any]) -> Mutant:
    """Returns stack local with other keys at the top."""
    config = {**deepcopy(config_of("local")), **changes}
    return Mutant("local", mistake, place, json.dumps({"config": config}))


MISSPELT = mutant(KEY_TYPO, ("mustr:forecast",), {"mustr:forecast": {}})
PRIORITY = mutant(
    KEY_TYPO,
    ("muster:admission", "priorities", "training"),
    {"muster:admission": {**config_of("local")["muster:admission"], "priorities": {"trainin": 500}}},
)
UNUSED = mutant("a boundary value", ("muster:environment",), {"muster:environment": "dev"})
PREVIEWED = mutant("a boundary value", ("muster:pools",), {"muster:tenants": []})


def test_refused_mutant_is_no_fault(tmp_path: Path) -> None:
    assert fate(MISSPELT, tmp_path) is Fate.REFUSED
    assert fate(PRIORITY, tmp_path) is Fate.REFUSED  # a tenant uses the priority


def test_accepted_mutant_is_previewed(tmp_path: Path) -> None:
    assert fate(PREVIEWED, tmp_path) is Fate.PREVIEWED


def test_misspelt_key_that_is_accepted_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "misspelt_keys", lambda _keys: [])
    with pytest.raises(Fault, match="misspelt key"):
        fate(MISSPELT, tmp_path)


def test_mutant_without_effect_is_a_fault_unless_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fate(UNUSED, tmp_path) is Fate.HARMLESS
    monkeypatch.setattr(judge, "reason", lambda _stack, _places: None)
    with pytest.raises(Fault, match="changes nothing"):
        fate(UNUSED, tmp_path)


def test_refusal_without_help_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("settings.keys.did_you_mean", lambda *_: "")
    monkeypatch.setattr("settings.keys._alike", lambda *_: "muster:nothing")
    with pytest.raises(Fault, match="without help"):
        fate(MISSPELT, tmp_path)


def test_violation_of_a_policy_is_told_from_a_clean_preview(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "violations", lambda _plan, _environment: iter(["muster-rule: message"]))
    assert fate(PREVIEWED, tmp_path) is Fate.VIOLATES
