"""Values at and beyond the boundaries of every field of the model, whether or not a shipped stack has it."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, NamedTuple

from settings.model.stack import Settings
from tests.mistakes.mutants import STACKS, Place, config_of
from tests.mistakes.mutants import places as places_of
from tests.mistakes.reads import reads_of

Schema = Mapping[str, Any]
OF_TYPES: dict[str, tuple[Any, ...]] = {
    "integer": (-1, 0, 2**31, 2**63, 0.5, "7", None, True),
    "number": (-1, 0, 1e300, "7", None),
    "boolean": (True, False, "yes", 1, None),
    "string": ("", " ", "x" * 300, "ä", "a\nb", 7, None, []),
    "array": ([], [None], [[]], "x", {}),
    "object": ({}, {"": None}, {"x y": 1}, [], "x"),
}


def values(schema: Schema) -> Iterator[Any]:
    """Yields the boundaries of a field with this JSON schema, values next to them, and of other types."""
    for option in options(schema):
        yield from OF_TYPES.get(option.get("type", ""), ())
        for bound, step in (("minimum", -1), ("maximum", 1)):
            if bound in option:
                yield option[bound]
                yield option[bound] + step
        for choice in option.get("enum", ()):
            yield choice
            yield f"{choice}x"
        if "maxLength" in option:
            yield "x" * (option["maxLength"] + 1)


def options(schema: Schema) -> Iterator[Schema]:
    """Yields the schemas of which one must hold, without references."""
    if "$ref" in schema:
        yield from options(definitions()[schema["$ref"].rpartition("/")[2]])
    elif alternatives := schema.get("anyOf", schema.get("oneOf")):
        for alternative in alternatives:
            yield from options(alternative)
    else:
        yield schema


def definitions() -> Mapping[str, Any]:
    """Returns the models' schemas by their names."""
    models: Mapping[str, Any] = SCHEMA["$defs"]
    return models


SCHEMA: dict[str, Any] = Settings.model_json_schema(by_alias=True)


def fields(schema: Schema, here: Any, above: Place = ()) -> Iterator[tuple[Place, Schema]]:
    """Yields every field of the model below a value of a stack file. Missing parents are empty mappings."""
    for option in options(schema):
        kind = option.get("properties", {}).get("kind", {}).get("const")
        if kind is not None and isinstance(here, Mapping) and here.get("kind") != kind:
            continue
        for name, inner in option.get("properties", {}).items():
            yield (*above, name), inner
            yield from fields(inner, here.get(name) if isinstance(here, Mapping) else None, (*above, name))
        if isinstance(here, list) and here and "items" in option:
            yield from fields(option["items"], here[0], (*above, 0))
        names = option.get("additionalProperties")
        if isinstance(names, Mapping) and isinstance(here, Mapping) and here:
            first = next(iter(here))
            yield (*above, first), names
            yield from fields(names, here[first], (*above, first))


class Change(NamedTuple):
    """Values at places of a shipped stack: of one field, or of two that one rule reads."""

    stack: str
    values: tuple[tuple[Place, Any], ...]

    def __str__(self) -> str:
        return f"{self.stack}: " + ", ".join(
            f"{'.'.join(map(str, place))} = {value!r:.40}" for place, value in self.values
        )

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the stack with these values."""
        config: dict[str, Any] = deepcopy(config_of(self.stack))
        for place, value in self.values:
            inside: Any = config
            for part in place[:-1]:
                if isinstance(inside, dict) and not isinstance(inside.get(part), (dict, list)):
                    inside[part] = {}
                inside = inside[part]
            inside[place[-1]] = value
        return config


def boundaries(stack: str) -> Iterator[Change]:
    """Yields a change for each boundary of each field."""
    for place, schema in fields(SCHEMA, config_of(stack)):
        for value in {repr(value): value for value in values(schema)}.values():
            yield Change(stack, ((place, value),))


def pairs(stack: str, random: Random, each: int) -> Iterator[Change]:
    """Yields changes of two fields that one check reads, this many for each check and stack."""
    for places in reads_of(stack):
        drawn = [(place, choices) for place in places if (choices := _choices(stack, place))]
        for _ in range(each if len(drawn) > 1 else 0):
            (first, its), (second, other) = random.sample(drawn, 2)
            if first[: len(second)] == second or second[: len(first)] == first:
                continue
            yield Change(stack, ((first, random.choice(its)), (second, random.choice(other))))


@cache
def _choices(stack: str, place: Place) -> tuple[Any, ...]:
    """Returns values that the field usually accepts alone: otherwise no rule would read them."""
    schema = schema_at(stack, place)
    if schema is None:
        return ()
    drawn = (*_of_type(schema), *_elsewhere(place[-1]))
    return tuple({repr(value): value for value in drawn}.values())


def _of_type(schema: Schema) -> Iterator[Any]:
    for option in options(schema):
        kind = option.get("type")
        if kind in ("integer", "number"):
            least, most = option.get("minimum", 0), option.get("maximum", 2**31 - 1)
            yield from (least, min(least + 1, most), most)
        elif kind == "boolean":
            yield from (True, False)
        elif kind == "array":
            yield []
        elif kind == "object":
            yield {}
        elif kind == "null":
            yield None
        yield from option.get("enum", ())
        yield from (option["const"],) if "const" in option else ()


@cache
def _elsewhere(key: str | int) -> tuple[Any, ...]:
    """Returns the values that keys of this name have in the shipped stacks."""
    named = [
        (stack, place) for stack in STACKS for place in places_of(config_of(stack)) if place[-1:] == (key,)
    ]
    return tuple(_at(config_of(stack), place) for stack, place in named if isinstance(key, str))


def _at(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part]
    return value


@cache
def schema_at(stack: str, place: Place) -> Schema | None:
    """Returns the schema of the field at this place of a shipped stack; None if the place is no field, such
    as one of a kind of cluster that the stack does not have."""
    schemas: list[Schema] = [SCHEMA]
    here: Any = config_of(stack)
    for part in place:
        schemas = [
            inner for schema in schemas for option in options(schema) for inner in _inside(option, part, here)
        ]
        if isinstance(part, int):
            here = here[part] if isinstance(here, list) and part < len(here) else None
        else:
            here = here.get(part) if isinstance(here, Mapping) else None
    return {"anyOf": schemas} if schemas else None


def _inside(option: Schema, part: str | int, here: Any) -> Iterator[Schema]:
    """Yields the schema of a key or of an entry of a value with this schema."""
    kind = option.get("properties", {}).get("kind", {}).get("const")
    if kind is not None and isinstance(here, Mapping) and here.get("kind") != kind:
        return
    if isinstance(part, int):
        yield from (option["items"],) if "items" in option else ()
    elif part in option.get("properties", {}):
        yield option["properties"][part]
    elif isinstance(names := option.get("additionalProperties"), Mapping):
        yield names
