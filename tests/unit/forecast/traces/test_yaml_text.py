"""YAML is decoded into a type, or refused with what is expected."""

import pytest

from muster.forecast.traces import yaml_text
from muster.forecast.traces.trace import TraceError


def test_value_of_another_type_is_refused_with_what_is_expected() -> None:
    with pytest.raises(TraceError, match=r"^a\.yaml: Expected `int`, got `str`; expected a number$"):
        yaml_text.decode("five", int, "a.yaml", "expected a number")
