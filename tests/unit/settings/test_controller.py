"""Muster's controller in the settings: one image, named or built."""

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
        "name the image to run, or write `build: {}` to have it built",
    ),
    Case(
        "an image and a build",
        put("muster:controller", {"image": IMAGE, "build": {}}),
        "muster:controller",
        f'{{"image": "{IMAGE}", "build": {{}}}}',
        "either image or build",
        "name the image to run, or write `build: {}` to have it built",
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
def test_a_broken_controller_is_refused(case: Case) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(case.config, FILE)
    assert str(refused.value) == case.message


def test_a_cluster_that_is_not_the_stacks_has_no_registry_of_its_own() -> None:
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
            "a GKE cluster to build for: the stack makes the image's registry in its project and region",
            "build and push the image yourself, and write `image: repository@sha256:…`",
        ).message
    )


@pytest.mark.parametrize("controller", [{"image": IMAGE}, {"build": {}}])
def test_a_good_controller(controller: dict[str, Any]) -> None:
    settings = parse(put("muster:controller", controller), FILE)
    assert settings.controller is not None
    assert settings.controller.replicas == 2
