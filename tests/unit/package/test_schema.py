"""The package's schema: up to date, and with a description of everything in it."""

from collections.abc import Iterator
from typing import Any

import pytest

from package.components import EXPOSED
from package.schema import FILE, schema, text

SCHEMA = schema()


def test_the_kept_schema_is_that_of_the_models() -> None:
    assert FILE.read_text() == text(), "the models have changed: run `make docs`"


def test_every_component_is_in_the_schema() -> None:
    assert set(SCHEMA["resources"]) == {f"muster:index:{name}" for name in EXPOSED}


def described(part: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("properties", "inputProperties"):
        for name, value in part.get(key, {}).items():
            yield name, value.get("description", "")


@pytest.mark.parametrize("kind", ["resources", "types"])
def test_everything_is_described(kind: str) -> None:
    parts = SCHEMA[kind]
    undescribed = {(token, "") for token, part in parts.items() if not part["description"].endswith(".")}
    undescribed |= {
        (token, name)
        for token, part in parts.items()
        for name, description in described(part)
        if not description.endswith((".", "none by default"))
    }
    assert not undescribed


def later() -> Iterator[str]:
    for token, part in SCHEMA["resources"].items():
        for name, value in part["inputProperties"].items():
            if not value.get("plain"):
                yield f"{token.rpartition(':')[2]}.{name}"


def test_images_and_addresses_may_be_outputs() -> None:
    assert list(later()) == ["Tenant.apiServerAddress", "Controller.image"]


def test_types_have_other_names_than_the_arguments_of_components() -> None:
    assert not SCHEMA["types"].keys() & SCHEMA["resources"].keys()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_references_lead_to_types() -> None:
    assert set(references(SCHEMA)) == {f"#/types/{token}" for token in SCHEMA["types"]}
