"""Stack files are read as the engine reads them; tests/stacks/test_stack_file_yaml.py asks the engine."""

import pytest
import yaml

from settings.stack_file_yaml import StackFileLoader
from tests.unit.settings.stack.scalars import KEYS, SCALARS, stack_file


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_plain_scalar_has_the_engines_value(text: str, value: object) -> None:
    read = yaml.load(f"- {text}", Loader=StackFileLoader)
    assert (read, type(read[0])) == ([value], type(value))


def test_keys_have_the_engines_names() -> None:
    content = yaml.load(stack_file("a"), Loader=StackFileLoader)
    assert list(content["config"]["a-keys"]) == list(KEYS.values())


def test_aliases_are_merged() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}"
    assert yaml.load(text, Loader=StackFileLoader)["b"] == {"x": 1, "y": 3}


@pytest.mark.parametrize("text", ["{a: 1, a: 2}", "{0777: 1, 511: 2}"])
def test_a_key_that_occurs_twice_is_an_error(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match="occurs twice"):
        yaml.load(text, Loader=StackFileLoader)
