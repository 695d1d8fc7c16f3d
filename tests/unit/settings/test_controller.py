"""Settings of Muster's controller: an existing image, or a build."""

from typing import Any

import pytest

from settings.load import SettingsError, parse
from tests.unit.settings.builders import EXISTING, FILE, GOOD, Case, put

IMAGE = "registry.example/muster/controller:0.1.0"
CASES = [
    Case(
        "neither an image nor a build",
        put("muster:controller", {"replicas": 2}),
        "muster:controller",
        '{"replicas": 2}',
        "either image or build",
        "set `image`, or write `build: {}` to build it from this checkout",
    ),
    Case(
        "an image and a build",
        put("muster:controller", {"image": IMAGE, "build": {}}),
        "muster:controller",
        f'{{"image": "{IMAGE}", "build": {{}}}}',
        "either image or build",
        "set `image`, or write `build: {}` to build it from this checkout",
    ),
    Case(
        "no replicas",
        put("muster:controller", {"image": IMAGE, "replicas": 0}),
        "muster:controller.replicas",
        "0",
        "1 or more",
        "raise it",
    ),
    Case(
        "no image kept",
        put("muster:controller", {"build": {"keepImages": 0}}),
        "muster:controller.build.keepImages",
        "0",
        "1 or more",
        "raise it",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_controller_is_refused(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)
    assert str(refused.value) == case.message


def test_image_is_not_built_for_an_existing_cluster() -> None:
    config: dict[str, Any] = {**GOOD, "muster:cluster": EXISTING, "muster:controller": {"build": {}}}
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    assert (
        str(refused.value)
        == Case(
            "a build for an existing cluster",
            config,
            "muster:controller.build",
            "{}",
            "a GKE cluster: the stack creates the image's registry in its project and region",
            "build and push the image yourself, and write `image: repository@sha256:…`",
        ).message
    )


@pytest.mark.parametrize("controller", [{"image": IMAGE}, {"build": {}}])
def test_valid_controller_has_two_replicas(controller: dict[str, Any]) -> None:
    settings = parse(put("muster:controller", controller), FILE)
    assert settings.controller is not None
    assert settings.controller.replicas == 2
