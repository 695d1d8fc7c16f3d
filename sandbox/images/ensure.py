"""Builds the images of real nodes that are not in the cache."""

import time
from collections.abc import Sequence

from sandbox.images.image import Image, Recipe, ensure_archive, images_directory
from sandbox.images.kuberay import operator
from sandbox.images.pause import pause
from sandbox.images.ray import ray
from sandbox.images.root_filesystem import base
from tools.bootstrap import exclusive
from tools.toolchain.ensure import ensure_tools
from tools.toolchain.steps import Screen


def ensure_images(screen: Screen) -> list[Image]:
    """Returns all images; builds those whose inputs have changed. Raises StepError with what is missing."""
    recipes = image_recipes(screen)
    images_directory().mkdir(parents=True, exist_ok=True)
    with exclusive(images_directory() / "lock", "the images"):
        for recipe in recipes:
            _ensure(recipe, screen)
    return [image for recipe in recipes for image in recipe.images]


def image_recipes(screen: Screen) -> Sequence[Recipe]:
    """Returns the recipes of all images; downloads Debian's packages and builds the tools in them."""
    tools = ensure_tools(["pause", "ray-operator"], screen)
    root = base()
    holder, manager = tools["pause"].path, tools["ray-operator"].path
    return [
        pause(holder, holder.parent.name),
        operator(manager, manager.parent.name, root),
        ray(root),
    ]


def _ensure(recipe: Recipe, screen: Screen) -> None:
    began = time.monotonic()
    place = f"  image {recipe.title}"
    with screen.activity(lambda elapsed: f"{place}: building for {elapsed:.0f} s"):
        built = ensure_archive(recipe)
    if built:
        size = recipe.archive.stat().st_size
        screen.line(f"{place}: built in {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB")
