"""The fields that a rule reads, recorded while it runs."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any
from unittest import mock

from pydantic import BaseModel

from settings.load import parse
from settings.model.base import Model
from settings.model.stack import Settings
from settings.rules.registry import DOUBTS, RULES
from tests.mistakes.mutants import Place, config_of

Check = Callable[[Settings], Iterator[object]]
CHECKS: tuple[Check, ...] = (*RULES, *DOUBTS)


def fields_read(check: Check, settings: Settings) -> tuple[Place, ...]:
    """Returns the places of the fields that the check reads of these settings, in the order of first reads.

    A check reads a field by its name, or with all others of its section by `model_fields_set`.
    """
    place_of = {id(model): place for place, model in _models(settings, ())}
    read: dict[Place, None] = {}

    def record(model: BaseModel, name: str) -> Any:
        place, model_fields = place_of.get(id(model)), type(model).model_fields
        if place is not None and name in model_fields:
            read[(*place, str(model_fields[name].alias))] = None
        return object.__getattribute__(model, name)

    with mock.patch.object(Model, "__getattribute__", record):
        list(check(settings))
    return tuple(read)


@cache
def reads_of(stack: str) -> tuple[tuple[Place, ...], ...]:
    """Returns the fields of a shipped stack that each check reads, for checks that read two or more."""
    settings = parse(config_of(stack), "stack")
    reads = (tuple(p for p in fields_read(check, settings) if len(p) > 1) for check in CHECKS)
    return tuple(places for places in reads if len(places) > 1)


def _models(value: object, place: Place) -> Iterator[tuple[Place, BaseModel]]:
    """Yields the models inside a value, with their places in the stack file."""
    if isinstance(value, BaseModel):
        yield place, value
        for name, field in type(value).model_fields.items():
            yield from _models(getattr(value, name), (*place, str(field.alias)))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _models(inner, (*place, key))
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _models(inner, (*place, index))
