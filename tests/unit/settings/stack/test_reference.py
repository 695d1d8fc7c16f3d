"""The settings reference: docs/settings.md is up to date and describes every key."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import BaseModel, Field
from typing_extensions import Doc

from settings.load import parse
from settings.model.split import Split
from settings.model.stack import Settings
from settings.reference import EXAMPLE, anchor, described, models_inside, reference

PAGE = Path(__file__).parents[4] / "docs" / "settings.md"

Short = Annotated[str, Doc("short text")]


class Inner(BaseModel):
    """Something inside."""

    size: int = 1


def all_models(model: type[BaseModel] = Settings) -> Iterator[type[BaseModel]]:
    yield model
    for key in model.model_fields.values():
        for _, inner in models_inside(key.annotation, ""):
            yield from all_models(inner)


ALL_MODELS: set[type[BaseModel]] = {Split, *all_models()}
MODELS = sorted(ALL_MODELS, key=lambda model: model.__name__)


def test_page_is_up_to_date_with_the_models() -> None:
    assert PAGE.read_text() == reference(), "the models have changed: run `make docs`"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_and_key_has_a_description(model: type[BaseModel]) -> None:
    assert model.__doc__, "the class must have a docstring"
    undescribed = [name for name, key in model.model_fields.items() if not key.description]
    assert undescribed == [], "each field must have a docstring under it"


def test_every_key_is_in_a_table() -> None:
    rows = [line.split(" | ")[0] for line in reference().splitlines() if line.startswith("| `")]
    keys = [f"| `{key.alias or name}`" for m in MODELS for name, key in m.model_fields.items()]
    assert sorted(rows) == sorted(keys)


def test_every_section_has_a_unique_heading() -> None:
    headings = [line.lstrip("# ") for line in reference().splitlines() if line.startswith("##")]
    assert len({anchor(heading) for heading in headings}) == len(headings)


def test_example_is_a_valid_stack() -> None:
    assert parse(yaml.safe_load(EXAMPLE)["config"], "the example").tenants[0].namespace == "vision"


VALUES: dict[str, tuple[Any, str]] = {
    "text": (str, "text"),
    "word": (Short, "short text"),
    "word, optional": (Short | None, "short text"),
    "at least": (Annotated[int, Field(ge=1)], "whole number (1 or more)"),
    "at most": (Annotated[int, Field(le=9)], "whole number (9 or less)"),
    "between": (Annotated[int, Field(ge=1, le=9)] | None, "whole number (1 to 9)"),
    "above": (Annotated[float, Field(gt=0)], "number (more than 0)"),
    "one choice": (Literal["a"], "`a`"),
    "choices": (Literal["a", "b", "c"], "`a`, `b` or `c`"),
    "list": (Annotated[tuple[Short, ...], Field(min_length=1)], "list of: short text (at least 1)"),
    "mapping": (dict[Short, bool], "mapping of short text to: `true` or `false`"),
    "model": (Inner, "[these keys](#inner)"),
    "models": (tuple[Inner, ...], "list of: [these keys](#inner)"),
}


@pytest.mark.parametrize(("annotation", "words"), VALUES.values(), ids=VALUES.keys())
def test_type_is_described_in_words(annotation: Any, words: str) -> None:
    assert described(annotation, {Inner: "inner"}) == words


ANCHORS = {
    "The whole file": "the-whole-file",
    "`muster:cluster`, kind gke": "mustercluster-kind-gke",
    "`muster:pools[].gpu`": "musterpoolsgpu",
    "Kueue (CRDs)": "kueue-crds",
}


@pytest.mark.parametrize(("heading", "expected"), ANCHORS.items(), ids=ANCHORS.keys())
def test_anchor_of_a_heading_is_githubs(heading: str, expected: str) -> None:
    assert anchor(heading) == expected
