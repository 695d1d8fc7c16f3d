"""Every key that takes a list accepts one, wherever it is in the stack file."""

import inspect
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from settings.load import parse
from settings.model.stack import Settings
from settings.problems import SettingsError


class ListKey(NamedTuple):
    """A key that takes a list, and a configuration with an empty one."""

    path: str
    config: Any


def list_keys(annotation: Any, path: str = "") -> Iterator[ListKey]:
    """Yields the keys that take lists inside a field's type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from list_keys(arguments[0], path)
    elif origin in (Union, UnionType):
        for argument in arguments:
            yield from list_keys(argument, path)
    elif origin is tuple:
        yield ListKey(path, [])
        for key in list_keys(arguments[0], f"{path}[0]"):
            yield ListKey(key.path, [key.config])
    elif origin is dict:
        for key in list_keys(arguments[1], f"{path}.x"):
            yield ListKey(key.path, {"x": key.config})
    elif inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        kinds = {
            name: get_args(field.annotation)[0]
            for name, field in annotation.model_fields.items()
            if get_origin(field.annotation) is Literal and field.is_required()
        }
        for name, field in annotation.model_fields.items():
            alias = field.alias or name
            for key in list_keys(field.annotation, f"{path}.{alias}" if path else alias):
                yield ListKey(key.path, {**kinds, alias: key.config})


KEYS = list(list_keys(Settings))


@pytest.mark.parametrize("key", KEYS, ids=[f"{number} {key.path}" for number, key in enumerate(KEYS)])
def test_a_list_is_accepted_as_one(key: ListKey) -> None:
    with pytest.raises(SettingsError) as error:  # the other keys are missing
        parse(key.config, "stack.yaml")
    refused = [str(p) for p in error.value.problems if p.path == key.path and p.expected == "a list"]
    assert refused == []


def test_keys_in_models_lists_and_unions_are_among_them() -> None:
    nested = {"muster:pools", "muster:cluster.gke.zones", "muster:tenants[0].network.destinations[0].ports"}
    assert nested <= {key.path for key in KEYS}
