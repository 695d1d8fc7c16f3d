"""YAML is decoded into a type, or refused with what is expected."""

import sys

import pytest

from muster.forecast.traces import yaml_text
from muster.forecast.traces.trace import TraceError


def test_value_of_another_type_is_refused_with_what_is_expected() -> None:
    with pytest.raises(TraceError, match=r"^a\.yaml: Expected `int`, got `str`; expected a number$"):
        yaml_text.decode("five", int, "a.yaml", "expected a number")


def test_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(TraceError, match=r"a\.yaml: reading YAML needs PyYAML: pip install PyYAML"):
        yaml_text.decode("5", int, "a.yaml", "expected a number")
