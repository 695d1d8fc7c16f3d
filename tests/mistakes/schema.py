"""Values at and beyond the boundaries of every field of the model, whether or not a shipped stack has it."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

from settings.model.stack import Settings
from settings.rules.registry import RULES
from tests.mistakes.mutants import Place, config_of

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


def pairs(stack: str, random: Random, count: int) -> Iterator[Change]:
    """Yields this many changes of two fields in the sections that one rule reads."""
    by_section: dict[str, list[tuple[Place, Schema]]] = {}
    for place, schema in fields(SCHEMA, config_of(stack)):
        if len(place) > 1:
            by_section.setdefault(str(place[0]), []).append((place, schema))
    names = {name: str(field.alias) for name, field in Settings.model_fields.items()}
    reads = [[names[section] for section in sections] for sections in RULES.values() if sections]
    pairs_count = 0
    while pairs_count < count:
        inside = [each for section in random.choice(reads) for each in by_section.get(section, ())]
        if len(inside) < 2:
            continue
        (first, its), (second, other) = random.sample(inside, 2)
        if first[: len(second)] == second or second[: len(first)] == first:
            continue
        choices = [list(values(its)), list(values(other))]
        if all(choices):
            pairs_count += 1
            yield Change(stack, ((first, random.choice(choices[0])), (second, random.choice(choices[1]))))
