"""Rules of operators hold for every operator of the model, not for those that they were written with."""

from typing import Any

import pytest

from settings.load import SettingsError, parse, warnings
from settings.model.stack import Settings
from tests.unit.settings.builders import FILE, section, with_kueue


def sections_with(*names: str) -> list[str]:
    """Returns the sections that have all of these keys."""
    models = {field.alias: field.annotation for field in Settings.model_fields.values() if field.alias}
    keys = {alias: set(getattr(model, "model_fields", ())) for alias, model in models.items()}
    return sorted(alias for alias in keys if set(names) <= keys[alias])


def config(key: str, **values: Any) -> dict[str, Any]:
    if key == "muster:kueue":
        return with_kueue(**values)
    if key == "muster:kai":
        return {**with_kueue(), "muster:admission": {"engine": "kai"}, "muster:kueue": {}, key: values}
    return section(key, **values, **({"install": "helm"} if key in sections_with("install") else {}))


@pytest.mark.parametrize("key", sections_with("image", "version"))
def test_an_image_of_another_version_is_warned_of(key: str) -> None:
    stack = config(key, image="registry.example.com/operator:v0.0.1")
    assert any("its tag is of version 0.0.1" in text for text in warnings(parse(stack, FILE)))


@pytest.mark.parametrize("key", sections_with("resources", "version"))
def test_memory_without_a_unit_is_refused(key: str) -> None:
    stack = config(
        key, resources={"requests": {"cpu": "1", "memory": 64}, "limits": {"cpu": "1", "memory": "1Gi"}}
    )
    with pytest.raises(SettingsError, match="64 is 64 bytes"):
        parse(stack, FILE)
